package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
)

// Recount reads a manifest and returns what a manifest list should say of it: length, counts, the smallest data sequence
// number of a live entry and partition summaries are those of its entries, everything else is as m says.
func Recount(ctx context.Context, fs iceio.IO, m iceberg.ManifestFile) (iceberg.ManifestFile, error) {
	least := int64(math.MaxInt64)
	stored, err := ReadStored(ctx, fs, m, func(e iceberg.ManifestEntry) error {
		if e.Status() == iceberg.EntryStatusDELETED {
			return nil
		}
		seq := e.SequenceNum()
		if seq < 0 {
			seq = m.SequenceNum() // inherited
		}
		least = min(least, seq)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("manifest %s: %w", m.FilePath(), err)
	}
	r := stored.Recounted
	if least == math.MaxInt64 {
		least = m.SequenceNum() // nothing in it is live
	}
	right := iceberg.NewManifestFile(m.Version(), m.FilePath(), r.Length(), m.PartitionSpecID(), m.SnapshotID()).
		SequenceNum(m.SequenceNum(), least).Content(m.ManifestContent()).
		AddedFiles(r.AddedDataFiles()).ExistingFiles(r.ExistingDataFiles()).DeletedFiles(r.DeletedDataFiles()).
		AddedRows(r.AddedRows()).ExistingRows(r.ExistingRows()).DeletedRows(r.DeletedRows()).
		Partitions(r.Partitions()).KeyMetadata(m.KeyMetadata())
	return withFirstRowID(right.Build(), m.FirstRowID())
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
