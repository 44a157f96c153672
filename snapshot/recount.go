package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
)

// Recount reads a manifest and returns what a manifest list should say of it: length, counts, the smallest data sequence
// number of a live entry and partition summaries are those of its entries, everything else is as m says.
func Recount(ctx context.Context, fs iceio.IO, m iceberg.ManifestFile) (iceberg.ManifestFile, error) {
	var r iceberg.ManifestFile
	least := int64(math.MaxInt64)
	size, err := sizeOf(fs, m.FilePath())
	if err == nil {
		err = withManifest(fs, m, func(in io.Reader) (err error) {
			r, least, err = recount(ctx, m, in)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("manifest %s: %w", m.FilePath(), err)
	}
	if least == math.MaxInt64 {
		least = m.SequenceNum() // nothing in it is live
	}
	right := iceberg.NewManifestFile(m.Version(), m.FilePath(), size, m.PartitionSpecID(), m.SnapshotID()).
		SequenceNum(m.SequenceNum(), least).Content(m.ManifestContent()).
		AddedFiles(r.AddedDataFiles()).ExistingFiles(r.ExistingDataFiles()).DeletedFiles(r.DeletedDataFiles()).
		AddedRows(r.AddedRows()).ExistingRows(r.ExistingRows()).DeletedRows(r.DeletedRows()).
		Partitions(r.Partitions()).KeyMetadata(m.KeyMetadata())
	return withFirstRowID(right.Build(), m.FirstRowID())
}

// recount goes over the entries of a manifest, which inherit what they leave out, and returns what they make of its record
// and the smallest data sequence number of a live one.
func recount(ctx context.Context, m iceberg.ManifestFile, in io.Reader) (r iceberg.ManifestFile, least int64, err error) {
	least = math.MaxInt64
	mr, err := readManifest(iceberg.NewManifestReader).open(m, in)
	if err != nil {
		return nil, least, err
	}
	defer mr.Close()
	w, err := recounter(mr, m)
	if err != nil {
		return nil, least, err
	}
	err = eachStored(ctx, mr, w, func(e iceberg.ManifestEntry) error {
		if e.Status() != iceberg.EntryStatusDELETED {
			least = min(least, e.SequenceNum())
		}
		return nil
	})
	if err == nil {
		r, err = w.ToManifestFile(m.FilePath(), 0)
	}
	if err != nil {
		return nil, least, err
	}
	return recordOf(r, r.Version()), least, nil
}

// sizeOf returns the number of bytes of a file.
func sizeOf(fs iceio.IO, location string) (size int64, err error) {
	f, err := fs.Open(location)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// withFirstRowID returns the record of a data manifest with a first row id. iceberg-go gives one only to what it writes
// into a manifest list, so the record goes through one.
func withFirstRowID(m iceberg.ManifestFile, id *int64) (iceberg.ManifestFile, error) {
	if id == nil || m.ManifestContent() != iceberg.ManifestContentData {
		return m, nil
	}
	var list bytes.Buffer
	w, err := iceberg.NewManifestListWriterV3(&list, m.SnapshotID(), m.SequenceNum(), *id, nil)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(w.AddManifests([]iceberg.ManifestFile{m}), w.Close()); err != nil {
		return nil, err
	}
	read, err := iceberg.ReadManifestList(&list)
	if err != nil {
		return nil, err
	}
	return read[0], nil
}
