package forge

import (
	"bytes"
	"io/fs"
	"path"
	"time"

	iceio "github.com/apache/iceberg-go/io"
)

// file is an open object, all in memory.
type file struct {
	*bytes.Reader
	name string
	size int64
}

// NewFile opens bytes as a file.
func NewFile(name string, data []byte) iceio.File {
	return &file{Reader: bytes.NewReader(data), name: name, size: int64(len(data))}
}

// Close implements iceio.File.
func (f *file) Close() error { return nil }

// Stat implements iceio.File; the file is its own description.
func (f *file) Stat() (fs.FileInfo, error) { return info{f}, nil }

// info describes a file.
type info struct{ f *file }

func (i info) Name() string       { return path.Base(i.f.name) }
func (i info) Size() int64        { return i.f.size }
func (i info) Mode() fs.FileMode  { return 0o444 }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return false }
func (i info) Sys() any           { return nil }
