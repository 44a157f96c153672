package snapshot

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/dvcompactor/dvcompactor/internal/avroheader"
)

// Entries streams the live entries of a manifest without column statistics. The entries are for planning: a manifest
// writer refuses them. The first error ends the stream.
func Entries(ctx context.Context, fs iceio.IO, m iceberg.ManifestFile) func(yield func(iceberg.ManifestEntry, error) bool) {
	return entries(ctx, fs, m, func(r io.Reader) (*iceberg.ManifestReader, error) {
		return iceberg.NewManifestReaderWithProjection(m, r, iceberg.ManifestEntryProjection{})
	})
}

// wholeEntries streams the live entries of a manifest with everything they hold.
func wholeEntries(ctx context.Context, fs iceio.IO, m iceberg.ManifestFile) func(yield func(iceberg.ManifestEntry, error) bool) {
	return entries(ctx, fs, m, func(r io.Reader) (*iceberg.ManifestReader, error) { return iceberg.NewManifestReader(m, r) })
}

func entries(ctx context.Context, fs iceio.IO, m iceberg.ManifestFile, read func(io.Reader) (*iceberg.ManifestReader, error)) func(yield func(iceberg.ManifestEntry, error) bool) {
	return func(yield func(iceberg.ManifestEntry, error) bool) {
		err := withManifest(fs, m, func(r io.Reader) error {
			mr, err := opened(r, read)
			if err != nil {
				return err
			}
			defer mr.Close()
			live, err := eachLive(ctx, mr, yield)
			if err != nil {
				return err
			}
			return checkCounts(m, live)
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// errStopped says that the consumer of a stream wants no more.
var errStopped = errors.New("stopped")

// eachLive passes on the live entries and returns how many there are.
func eachLive(ctx context.Context, r *iceberg.ManifestReader, yield func(iceberg.ManifestEntry, error) bool) (live int64, err error) {
	for {
		e, err := nextEntry(r)
		if errors.Is(err, io.EOF) {
			return live, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return live, err
		}
		if e.Status() == iceberg.EntryStatusDELETED {
			continue
		}
		live++
		if !yield(e, nil) {
			return live, errStopped
		}
	}
}

// opened starts the decoding of a manifest.
func opened(r io.Reader, read func(io.Reader) (*iceberg.ManifestReader, error)) (mr *iceberg.ManifestReader, err error) {
	err = safely(func() (err error) {
		mr, err = read(r)
		return err
	})
	return mr, err
}

// nextEntry decodes one entry.
func nextEntry(r *iceberg.ManifestReader) (e iceberg.ManifestEntry, err error) {
	err = safely(func() (err error) {
		if e, err = r.ReadEntry(); err != nil {
			return err
		}
		return checkEntry(e.DataFile())
	})
	return e, err
}

// withManifest opens a manifest for the time of a function. Some writers leave "data" in the header of delete
// manifests; the manifest list decides what a manifest holds, so the header is corrected on the way.
func withManifest(fs iceio.IO, m iceberg.ManifestFile, f func(io.Reader) error) (err error) {
	return withHeader(fs, m, func(map[string][]byte) {}, f)
}

// withHeader is withManifest that tells what the header says before it is corrected.
func withHeader(fs iceio.IO, m iceberg.ManifestFile, stored func(map[string][]byte), f func(io.Reader) error) (err error) {
	if len(m.KeyMetadata()) > 0 {
		return fmt.Errorf("encrypted manifest: %w", ErrFormat)
	}
	file, err := fs.Open(m.FilePath())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	r := bufio.NewReaderSize(file, 64<<10)
	header, err := avroheader.Read(r)
	if err != nil {
		return err
	}
	stored(maps.Clone(header.Meta))
	if err := checkSchema(header.Meta["avro.schema"]); err != nil {
		return err
	}
	if schema, renamed := plainNames(header.Meta["avro.schema"]); renamed {
		header.Meta["avro.schema"] = schema
		header.Raw = header.Encode()
	}
	if want := m.ManifestContent().String(); string(header.Meta["content"]) != want && (len(header.Meta["content"]) > 0 || want == "deletes") {
		header.Meta["content"] = []byte(want)
		header.Raw = header.Encode()
	}
	return f(io.MultiReader(bytes.NewReader(header.Raw), r))
}
