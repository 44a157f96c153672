package check_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/stretchr/testify/require"
)

// rows is how many rows the data files of a lab have.
const rows = 100

// lab is a table in memory whose Puffin files are made byte by byte.
type lab struct {
	*forge.Lake
	t     *testing.T
	data  []iceberg.DataFile
	count int
}

// newLab makes a table with three data files, a snapshot each.
func newLab(t *testing.T, version int) *lab {
	l := &lab{t: t, Lake: forge.New(t, forge.Options{Version: version})}
	for range 3 {
		f := l.DataFile("", 0, nil, rows)
		l.data = append(l.data, f)
		l.Commit(forge.Change{Add: forge.Files(f)})
	}
	return l
}

// partitioned is a spec of one field, the identity of region.
func partitioned() *iceberg.PartitionSpec {
	spec := iceberg.NewPartitionSpecID(0, iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1000, Transform: iceberg.IdentityTransform{}, Name: "region"})
	return &spec
}

// in is the partition of a region.
func in(region int32) forge.Tuple { return forge.Tuple{1000: region} }

// newRegions makes a table of two partitions, 1 and 2, with a data file each.
func newRegions(t *testing.T, version int) *lab {
	l := &lab{t: t, Lake: forge.New(t, forge.Options{Version: version, Spec: partitioned()})}
	for region := range int32(2) {
		f := l.DataFile("", 0, in(region+1), rows)
		l.data = append(l.data, f)
		l.Commit(forge.Change{Add: forge.Files(f)})
	}
	return l
}

func (l *lab) path(i int) string { return l.data[i].FilePath() }

// add commits delete files.
func (l *lab) add(files ...iceberg.DataFile) { l.Commit(forge.Change{Add: forge.Files(files...)}) }

// part is a blob of a Puffin file and what its footer says of it beyond the obvious.
type part struct {
	blob []byte
	of   string
	n    int64
	edit func(map[string]any)
}

// container is a Puffin file. Parts follow each other from offset 4 on.
type container struct {
	parts []part
	flags uint32
	edit  func([]byte) []byte // the whole file, at last
}

// encode returns the file and the offsets of its parts.
func (c container) encode(t *testing.T) (file []byte, offsets []int64) {
	p := forge.Puffin{Flags: c.flags, Edit: c.edit}
	for _, q := range c.parts {
		p.Parts = append(p.Parts, forge.Part{Blob: q.blob, Of: q.of, Count: q.n, Said: q.edit})
	}
	return p.Encode(t)
}

// blob encodes a deletion vector.
func blob(t *testing.T, positions ...int64) []byte {
	b := puffin.NewBitmap()
	require.NoError(t, b.AddMany(positions))
	data, err := puffin.EncodeDeletionVector(b)
	require.NoError(t, err)
	return data
}

// resign gives the changed body of a blob the right length and checksum.
func resign(blob []byte) []byte {
	body := blob[4 : len(blob)-4]
	out := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	out = append(out, body...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
}

// vector is a healthy part for a data file.
func (l *lab) vector(i int, positions ...int64) part {
	return part{blob: blob(l.t, positions...), of: l.path(i), n: int64(len(positions))}
}

// puffin puts a Puffin file and returns its location, size and the offsets of its parts.
func (l *lab) puffin(c container) (location string, size int64, offsets []int64) {
	data, offsets := c.encode(l.t)
	l.count++
	location = fmt.Sprintf("%s/data/p%03d.puffin", l.At, l.count)
	l.Put(location, data)
	return location, int64(len(data)), offsets
}

// entry is a healthy entry for a part of a Puffin file.
func (l *lab) entry(i int, location string, size, offset int64, p part) *iceberg.DataFileBuilder {
	return l.Entry(int(l.data[i].SpecID()), l.data[i].Partition(), iceberg.EntryContentPosDeletes, location, iceberg.PuffinFile, p.n, size).
		ReferencedDataFile(l.path(i)).ContentOffset(offset).ContentSizeInBytes(int64(len(p.blob)))
}

// put puts a Puffin file of vectors for data files 0, 1 and so on, and returns their entries.
func (l *lab) put(c container) []iceberg.DataFile {
	location, size, offsets := l.puffin(c)
	var out []iceberg.DataFile
	for i, p := range c.parts {
		out = append(out, l.entry(i, location, size, offsets[i], p).Build())
	}
	return out
}

// deletes writes a position delete file under the spec and partition of data file 0.
func (l *lab) deletes(records ...forge.Record) *iceberg.DataFileBuilder {
	return l.PositionDeletes(int(l.data[0].SpecID()), l.data[0].Partition(), records...)
}

// at is a record of a data file.
func (l *lab) at(i int, pos int64) forge.Record { return forge.Record{Path: l.path(i), Pos: pos} }

// check checks the table.
func (l *lab) check(o check.Options) *check.Report {
	l.t.Helper()
	r, err := check.Run(l.t.Context(), l.Load(), o)
	require.NoError(l.t, err)
	return r
}
