package storage

import (
	"context"

	icebergio "github.com/apache/iceberg-go/io"
)

// FileIO is a [Store] in the shape that iceberg-go reads and writes through. It is safe for concurrent use.
type FileIO struct {
	ctx   context.Context
	store *Store
}

var (
	_ icebergio.ReadFileIO  = (*FileIO)(nil)
	_ icebergio.WriteFileIO = (*FileIO)(nil)
)

// FileIO returns the store for iceberg-go. Its interfaces take no context, so ctx governs everything done with the
// result and with the files it opens.
func (s *Store) FileIO(ctx context.Context) *FileIO { return &FileIO{ctx: ctx, store: s} }

// Open implements icebergio.IO with exactly one GET, whose body is the file's content when it is read from the start.
func (f *FileIO) Open(name string) (icebergio.File, error) {
	file, err := f.store.openFile(f.ctx, name)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// ReadFile implements icebergio.ReadFileIO with one GET.
func (f *FileIO) ReadFile(name string) ([]byte, error) { return f.store.ReadFile(f.ctx, name) }

// Create implements icebergio.WriteFileIO. The file is there when Close has returned nil. Files that turn out to be
// unwanted are given up with the Abort method of the result, which is a [*Writer].
func (f *FileIO) Create(name string) (icebergio.FileWriter, error) {
	w, err := f.store.Create(f.ctx, name)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// WriteFile implements icebergio.WriteFileIO with one PUT.
func (f *FileIO) WriteFile(name string, data []byte) error {
	return f.store.WriteFile(f.ctx, name, data)
}

// Remove implements icebergio.IO with one DELETE. A missing file is not an error.
func (f *FileIO) Remove(name string) error { return f.store.Remove(f.ctx, name) }
