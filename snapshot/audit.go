package snapshot

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/dvcompactor/dvcompactor/internal/avroheader"
)

// Stored is a manifest as it is stored, for checking one that was written.
type Stored struct {
	Header map[string][]byte // the Avro file's metadata: schema, partition-spec-id, content, ...
	// Recounted is what a manifest list has to say of it: length, counts, min_sequence_number and partition summaries,
	// computed from the entries.
	Recounted iceberg.ManifestFile
}

// ReadStored reads a whole manifest and corrects nothing. Entries, DELETED ones too, are given to each as they are stored
// and inherit nothing: a snapshot id or sequence number that is not there is -1, a file sequence number nil.
func ReadStored(ctx context.Context, fs iceio.IO, m iceberg.ManifestFile, each func(iceberg.ManifestEntry) error) (s *Stored, err error) {
	file, err := fs.Open(m.FilePath())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	counted := &countedReader{r: file}
	r := bufio.NewReader(counted)
	header, err := avroheader.Read(r)
	if err != nil {
		return nil, err
	}
	bare := iceberg.NewManifestFile(m.Version(), m.FilePath(), m.Length(), m.PartitionSpecID(), -1).SequenceNum(-1, -1).Content(m.ManifestContent()).Build()
	mr, err := iceberg.NewManifestReader(bare, io.MultiReader(bytes.NewReader(header.Raw), r))
	if err != nil {
		return nil, err
	}
	defer mr.Close()
	w, err := recounter(mr, m)
	if err != nil {
		return nil, err
	}
	if err := eachStored(ctx, mr, w, each); err != nil {
		return nil, err
	}
	recounted, err := w.ToManifestFile(m.FilePath(), counted.n)
	if err != nil {
		return nil, err
	}
	return &Stored{Header: header.Meta, Recounted: recordOf(recounted, recounted.Version())}, nil
}

// countedReader counts the bytes that were read.
type countedReader struct {
	r io.Reader
	n int64
}

// Read implements io.Reader.
func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// recounter makes a writer, into nothing, that computes what a manifest list says of a manifest.
func recounter(mr *iceberg.ManifestReader, m iceberg.ManifestFile) (*iceberg.ManifestWriter, error) {
	schema, err := mr.Schema()
	if err != nil {
		return nil, err
	}
	spec, err := mr.PartitionSpec()
	if err != nil {
		return nil, err
	}
	return iceberg.NewManifestWriter(mr.Version(), io.Discard, *spec, schema, m.SnapshotID(), iceberg.WithManifestWriterContent(m.ManifestContent()))
}

func eachStored(ctx context.Context, mr *iceberg.ManifestReader, w *iceberg.ManifestWriter, each func(iceberg.ManifestEntry) error) error {
	err := eachEntry(ctx, mr, func(e iceberg.ManifestEntry) error {
		if err := each(e); err != nil {
			return err
		}
		write := w.Existing
		switch e.Status() {
		case iceberg.EntryStatusADDED:
			write = w.Add
		case iceberg.EntryStatusDELETED:
			write = w.Delete
		}
		if err := write(e); err != nil {
			return fmt.Errorf("entry %s: %w", e.DataFile().FilePath(), err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.Close()
}

// WholeEntries streams the live entries of a manifest with everything they hold and inherit.
func WholeEntries(ctx context.Context, fs iceio.IO, m iceberg.ManifestFile) func(yield func(iceberg.ManifestEntry, error) bool) {
	return wholeEntries(ctx, fs, m)
}

// IDOf returns the identity of a delete entry's file.
func IDOf(f iceberg.DataFile) FileID { return fileID(f) }

// PartitionOf returns the group that an entry's file belongs to.
func PartitionOf(f iceberg.DataFile) (GroupKey, error) {
	tuple, err := tupleKey(f.Partition())
	return GroupKey{SpecID: f.SpecID(), Tuple: tuple}, err
}

// FileText writes every field of an entry's data_file, so that equal texts are equal files.
func FileText(f iceberg.DataFile) (string, error) {
	key, err := PartitionOf(f)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %q spec %d partition %x records %d size %d", f.ContentType(), FormatOf(f), f.FilePath(), key.SpecID, key.Tuple, f.Count(), f.FileSizeBytes())
	columns(&b, "sizes", f.ColumnSizes())
	columns(&b, "values", f.ValueCounts())
	columns(&b, "nulls", f.NullValueCounts())
	columns(&b, "nans", f.NaNValueCounts())
	columns(&b, "lower", f.LowerBoundValues())
	columns(&b, "upper", f.UpperBoundValues())
	fmt.Fprintf(&b, " key %x splits %v equality %v sort %s row %s of %s at %s+%s", f.KeyMetadata(), f.SplitOffsets(), f.EqualityFieldIDs(),
		optional(f.SortOrderID()), optional(f.FirstRowID()), optional(f.ReferencedDataFile()), optional(f.ContentOffset()), optional(f.ContentSizeInBytes()))
	return b.String(), nil
}

// columns writes statistics of columns in the order of their ids.
func columns[V any](b *strings.Builder, name string, stats map[int]V) {
	for _, id := range slices.Sorted(maps.Keys(stats)) {
		fmt.Fprintf(b, " %s[%d]=%v", name, id, stats[id])
	}
}

func optional[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return strconv.Quote(fmt.Sprint(*v))
}
