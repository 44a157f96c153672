package forge

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table/dv"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/stretchr/testify/require"
)

// Tuple is a partition tuple by field id.
type Tuple = map[int]any

// Entry begins an entry of any kind under a spec of the table; what it is about need not exist.
func (l *Lake) Entry(spec int, tuple Tuple, content iceberg.ManifestEntryContent, location string, format iceberg.FileFormat, records, size int64) *iceberg.DataFileBuilder {
	s := l.Load().Metadata.PartitionSpecByID(spec)
	require.NotNil(l.t, s, "spec %d", spec)
	b, err := iceberg.NewDataFileBuilder(*s, content, location, format, tuple, nil, nil, records, size)
	require.NoError(l.t, err)
	return b
}

// DataFile describes a data file, which nobody needs to open. An empty name gets a number, a whole path stays one.
func (l *Lake) DataFile(name string, spec int, tuple Tuple, records int64) iceberg.DataFile {
	return l.dataFile(name, spec, tuple, records).Build()
}

// NumberedDataFile describes a data file whose entry says its first row id.
func (l *Lake) NumberedDataFile(name string, spec int, tuple Tuple, records, firstRowID int64) iceberg.DataFile {
	return l.dataFile(name, spec, tuple, records).FirstRowID(firstRowID).Build()
}

func (l *Lake) dataFile(name string, spec int, tuple Tuple, records int64) *iceberg.DataFileBuilder {
	if name == "" {
		name = fmt.Sprintf("f%03d.parquet", l.next())
	}
	if !strings.HasPrefix(name, "/") && !strings.Contains(name, ":/") {
		name = l.At + "/data/" + name
	}
	return l.Entry(spec, tuple, iceberg.EntryContentData, name, iceberg.ParquetFile, records, 100*min(records, 1<<40))
}

// EqualityDeletes describes an equality delete file on field 1, which nobody needs to open.
func (l *Lake) EqualityDeletes(spec int, tuple Tuple, records int64) iceberg.DataFile {
	location := fmt.Sprintf("%s/data/eq%03d.parquet", l.At, l.next())
	return l.Entry(spec, tuple, iceberg.EntryContentEqDeletes, location, iceberg.ParquetFile, records, 100).EqualityFieldIDs([]int{1}).Build()
}

// Record is a record of a position delete file.
type Record = lakewriter.Record

// Records returns the records of positions by path, sorted as the spec asks for.
func Records(positions map[string][]int64) []Record {
	var out []Record
	for _, path := range slices.Sorted(maps.Keys(positions)) {
		for _, pos := range slices.Sorted(slices.Values(positions[path])) {
			out = append(out, Record{Path: path, Pos: pos})
		}
	}
	return out
}

// PositionDeletes writes a Parquet position delete file with these records in this order; what the entry says beyond
// spec, partition, count and size is up to the caller, through Build of the result.
func (l *Lake) PositionDeletes(spec int, tuple Tuple, records ...Record) *iceberg.DataFileBuilder {
	data, err := lakewriter.EncodePositionDeletes(records)
	require.NoError(l.t, err)
	return l.DeleteBytes(spec, tuple, iceberg.ParquetFile, int64(len(records)), data)
}

// DeleteBytes writes a position delete file with this content, whatever it is.
func (l *Lake) DeleteBytes(spec int, tuple Tuple, format iceberg.FileFormat, records int64, data []byte) *iceberg.DataFileBuilder {
	location := fmt.Sprintf("%s/data/d%03d.%s", l.At, l.next(), strings.ToLower(string(format)))
	l.Put(location, data)
	return l.Entry(spec, tuple, iceberg.EntryContentPosDeletes, location, format, records, int64(len(data)))
}

// Bounds sets the bounds of file_path in an entry.
func Bounds(b *iceberg.DataFileBuilder, lower, upper string) *iceberg.DataFileBuilder {
	return b.LowerBoundValues(map[int][]byte{lakewriter.FilePathID: []byte(lower)}).UpperBoundValues(map[int][]byte{lakewriter.FilePathID: []byte(upper)})
}

// Vector is a deletion vector to write.
type Vector struct {
	Data      iceberg.DataFile
	Positions []int64
}

// VectorEntry begins the entry of a deletion vector with what another one says, true or not: copied are the Puffin file,
// the range and the counts, not the data file that it is about.
func (l *Lake) VectorEntry(like iceberg.DataFile) *iceberg.DataFileBuilder {
	b := l.Entry(int(like.SpecID()), like.Partition(), iceberg.EntryContentPosDeletes, like.FilePath(), iceberg.PuffinFile, like.Count(), like.FileSizeBytes())
	return b.ContentOffset(*like.ContentOffset()).ContentSizeInBytes(*like.ContentSizeInBytes())
}

// DeletionVectors writes one Puffin file with iceberg-go's writer, blobs in the order of the vectors, and returns their
// entries.
func (l *Lake) DeletionVectors(vectors ...Vector) []iceberg.DataFile {
	meta := l.Load().Metadata
	w := dv.NewDVWriter(putter{l}, func(id int32) *iceberg.PartitionSpec { return meta.PartitionSpecByID(int(id)) })
	for _, v := range vectors {
		require.NoError(l.t, w.Add(v.Data.FilePath(), v.Positions, v.Data.SpecID(), v.Data.Partition()))
	}
	files, err := w.Flush(context.Background(), fmt.Sprintf("%s/data/v%03d.puffin", l.At, l.next()))
	require.NoError(l.t, err)
	return files
}

// putter lets iceberg-go write a Puffin file into the lake.
type putter struct{ lake *Lake }

// Open implements iceio.IO.
func (p putter) Open(name string) (iceio.File, error) { return p.lake.IO().Open(name) }

// Remove implements iceio.IO.
func (p putter) Remove(name string) error { return p.lake.Remove(name) }

// Create implements iceio.WriteFileIO.
func (p putter) Create(name string) (iceio.FileWriter, error) {
	return &fileWriter{lake: p.lake, name: name}, nil
}

// WriteFile implements iceio.WriteFileIO.
func (p putter) WriteFile(name string, data []byte) error {
	return p.lake.Bucket.WriteAll(context.Background(), strings.TrimPrefix(name, root), data, nil)
}

// fileWriter puts what was written when it is closed.
type fileWriter struct {
	bytes.Buffer
	lake *Lake
	name string
}

// Close writes the object.
func (w *fileWriter) Close() error { return putter{w.lake}.WriteFile(w.name, w.Bytes()) }
