package storage

import (
	"bytes"
	"io/fs"
	"path"

	iceio "github.com/apache/iceberg-go/io"
)

// MemoryFile returns an open file of bytes that are in memory, as [Store.FileIO] would open it.
func MemoryFile(location string, data []byte) iceio.File {
	return &memoryFile{Reader: bytes.NewReader(data), location: location}
}

type memoryFile struct {
	*bytes.Reader
	location string
}

// Close implements io.Closer.
func (*memoryFile) Close() error { return nil }

// Stat implements fs.File.
func (f *memoryFile) Stat() (fs.FileInfo, error) {
	return fileInfo{name: path.Base(f.location), size: f.Size()}, nil
}
