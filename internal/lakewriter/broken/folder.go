package main

import (
	"os"
	"path/filepath"
	"strings"

	iceio "github.com/apache/iceberg-go/io"
)

// folder serves the locations below prefix from a folder.
type folder struct {
	iceio.LocalFS
	dir string
}

func (f folder) path(location string) string {
	return filepath.Join(f.dir, strings.TrimPrefix(location, prefix))
}

// Open implements iceio.IO.
func (f folder) Open(location string) (iceio.File, error) { return f.LocalFS.Open(f.path(location)) }

// ReadFile implements iceio.ReadFileIO.
func (f folder) ReadFile(location string) ([]byte, error) { return os.ReadFile(f.path(location)) }

// Remove implements iceio.IO.
func (f folder) Remove(location string) error { return os.Remove(f.path(location)) }

// Create implements iceio.WriteFileIO.
func (f folder) Create(location string) (iceio.FileWriter, error) {
	return f.LocalFS.Create(f.path(location))
}

// WriteFile implements iceio.WriteFileIO.
func (f folder) WriteFile(location string, data []byte) error {
	return f.LocalFS.WriteFile(f.path(location), data)
}
