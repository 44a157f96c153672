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

// entry begins an entry under a spec of the table.
func (l *Lake) entry(spec int, tuple Tuple, content iceberg.ManifestEntryContent, location string, format iceberg.FileFormat, records, size int64) *iceberg.DataFileBuilder {
	s := l.Load().Metadata.PartitionSpecByID(spec)
	require.NotNil(l.t, s, "spec %d", spec)
	b, err := iceberg.NewDataFileBuilder(*s, content, location, format, tuple, nil, nil, records, size)
	require.NoError(l.t, err)
	return b
}

// DataFile describes a data file, which nobody needs to open. An empty name gets a number.
func (l *Lake) DataFile(name string, spec int, tuple Tuple, records int64) iceberg.DataFile {
	if name == "" {
		name = fmt.Sprintf("f%03d.parquet", l.next())
	}
	return l.entry(spec, tuple, iceberg.EntryContentData, Location+"/data/"+name, iceberg.ParquetFile, records, 100*records).Build()
}

// EqualityDeletes describes an equality delete file on field 1, which nobody needs to open.
func (l *Lake) EqualityDeletes(spec int, tuple Tuple, records int64) iceberg.DataFile {
	location := fmt.Sprintf("%s/data/eq%03d.parquet", Location, l.next())
	return l.entry(spec, tuple, iceberg.EntryContentEqDeletes, location, iceberg.ParquetFile, records, 100).EqualityFieldIDs([]int{1}).Build()
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
	location := fmt.Sprintf("%s/data/d%03d.parquet", Location, l.next())
	data, err := lakewriter.EncodePositionDeletes(records)
	require.NoError(l.t, err)
	l.Put(location, data)
	return l.entry(spec, tuple, iceberg.EntryContentPosDeletes, location, iceberg.ParquetFile, int64(len(records)), int64(len(data)))
}

// Bounds sets the bounds of file_path in an entry.
func Bounds(b *iceberg.DataFileBuilder, lower, upper string) *iceberg.DataFileBuilder {
	return b.LowerBoundValues(map[int][]byte{pathID: []byte(lower)}).UpperBoundValues(map[int][]byte{pathID: []byte(upper)})
}

// pathID is the reserved field id of file_path (table spec, "Reserved Field IDs").
const pathID = 2147483546

// Vector is a deletion vector to write.
type Vector struct {
	Data      iceberg.DataFile
	Positions []int64
}

// DeletionVectors writes one Puffin file with iceberg-go's writer, blobs in the order of the vectors, and returns their
// entries.
func (l *Lake) DeletionVectors(vectors ...Vector) []iceberg.DataFile {
	meta := l.Load().Metadata
	w := dv.NewDVWriter(putter{l}, func(id int32) *iceberg.PartitionSpec { return meta.PartitionSpecByID(int(id)) })
	for _, v := range vectors {
		require.NoError(l.t, w.Add(v.Data.FilePath(), v.Positions, v.Data.SpecID(), v.Data.Partition()))
	}
	files, err := w.Flush(context.Background(), fmt.Sprintf("%s/data/v%03d.puffin", Location, l.next()))
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
