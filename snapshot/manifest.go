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
	return entries(ctx, fs, m, withoutStatistics, nil)
}

// wholeEntries streams the live entries of a manifest with everything they hold.
func wholeEntries(ctx context.Context, fs iceio.IO, m iceberg.ManifestFile) func(yield func(iceberg.ManifestEntry, error) bool) {
	return entries(ctx, fs, m, iceberg.NewManifestReader, nil)
}

// entries streams live entries; stored is told what the header says, as decode does it.
func entries(ctx context.Context, fs iceio.IO, m iceberg.ManifestFile, read readManifest, stored func(map[string][]byte)) func(yield func(iceberg.ManifestEntry, error) bool) {
	return func(yield func(iceberg.ManifestEntry, error) bool) {
		live := int64(0)
		err := decode(ctx, fs, m, read, stored, func(e iceberg.ManifestEntry) error {
			if err := checked(e); err != nil || e.Status() == iceberg.EntryStatusDELETED {
				return err
			}
			live++
			if !yield(e, nil) {
				return errStopped
			}
			return nil
		})
		if err == nil {
			err = checkCounts(m, live)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// errStopped says that the consumer of a stream wants no more.
var errStopped = errors.New("stopped")

// readManifest starts the decoding of a manifest.
type readManifest func(iceberg.ManifestFile, io.Reader) (*iceberg.ManifestReader, error)

func withoutStatistics(m iceberg.ManifestFile, r io.Reader) (*iceberg.ManifestReader, error) {
	return iceberg.NewManifestReaderWithProjection(m, r, iceberg.ManifestEntryProjection{})
}

// open is read, safely.
func (read readManifest) open(m iceberg.ManifestFile, r io.Reader) (mr *iceberg.ManifestReader, err error) {
	err = safely(func() (err error) {
		mr, err = read(m, r)
		return err
	})
	return mr, err
}

// decode reads the entries of a manifest, DELETED ones too, until each returns an error. stored, if not nil, is told what
// the header says before it is corrected.
func decode(ctx context.Context, fs iceio.IO, m iceberg.ManifestFile, read readManifest, stored func(map[string][]byte), each func(iceberg.ManifestEntry) error) error {
	return withHeader(fs, m, stored, func(r io.Reader) error {
		mr, err := read.open(m, r)
		if err != nil {
			return err
		}
		defer mr.Close()
		return eachEntry(ctx, mr, each)
	})
}

// eachEntry decodes entry after entry.
func eachEntry(ctx context.Context, mr *iceberg.ManifestReader, each func(iceberg.ManifestEntry) error) error {
	for {
		var e iceberg.ManifestEntry
		err := safely(func() (err error) {
			e, err = mr.ReadEntry()
			return err
		})
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = each(e)
		}
		if err != nil {
			return err
		}
	}
}

// checked is checkEntry, safely.
func checked(e iceberg.ManifestEntry) error {
	return safely(func() error { return checkEntry(e.DataFile()) })
}

// withManifest opens a manifest for the time of a function. Some writers leave "data" in the header of delete
// manifests; the manifest list decides what a manifest holds, so the header is corrected on the way.
func withManifest(fs iceio.IO, m iceberg.ManifestFile, f func(io.Reader) error) (err error) {
	return withHeader(fs, m, nil, f)
}

// withHeader is withManifest that tells stored, if it is not nil, what the header says before it is corrected.
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
	if stored != nil {
		stored(maps.Clone(header.Meta))
	}
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
