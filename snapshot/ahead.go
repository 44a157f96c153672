package snapshot

import (
	"context"
	"errors"
	"io"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"golang.org/x/sync/errgroup"
)

// inOrder gives manifests to a function one after the other, each with file access that has its content in memory, while
// the next n are being read.
func inOrder(ctx context.Context, fs iceio.IO, manifests []iceberg.ManifestFile, n int, each func(iceio.IO, iceberg.ManifestFile) error) error {
	g, ctx := errgroup.WithContext(ctx)
	turns := make(chan chan []byte, n)
	g.Go(func() error {
		defer close(turns)
		for _, m := range manifests {
			content := make(chan []byte, 1)
			select {
			case turns <- content:
			case <-ctx.Done():
				return ctx.Err()
			}
			g.Go(func() error {
				data, err := wholeFile(fs, m.FilePath())
				if err == nil {
					content <- data
				}
				return err
			})
		}
		return nil
	})
	g.Go(func() error {
		for _, m := range manifests {
			content, more := <-turns
			if !more {
				return ctx.Err()
			}
			select {
			case data := <-content:
				if err := each(oneFile{fs, data}, m); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return g.Wait()
}

func wholeFile(fs iceio.IO, location string) (data []byte, err error) {
	file, err := fs.Open(location)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return io.ReadAll(file)
}

// oneFile is file access in which every file has the same content.
type oneFile struct {
	iceio.IO
	data []byte
}

// Open implements iceio.IO.
func (f oneFile) Open(name string) (iceio.File, error) { return storage.MemoryFile(name, f.data), nil }
