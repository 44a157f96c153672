package reports

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBoundsOfADeleteFileDecideNothing(t *testing.T) {
	t.Parallel()
	for name, bounds := range map[string]func(b *iceberg.DataFileBuilder, first, last string) *iceberg.DataFileBuilder{
		"absent": func(b *iceberg.DataFileBuilder, _, _ string) *iceberg.DataFileBuilder { return b },
		"right": func(b *iceberg.DataFileBuilder, first, last string) *iceberg.DataFileBuilder {
			return forge.Bounds(b, first, last)
		},
		"truncated to 16 characters": func(b *iceberg.DataFileBuilder, first, _ string) *iceberg.DataFileBuilder {
			return forge.Bounds(b, first[:16], first[:15]+"z")
		},
		"inverted": func(b *iceberg.DataFileBuilder, first, last string) *iceberg.DataFileBuilder {
			return forge.Bounds(b, last, first)
		},
		"equal, a prefix of both": func(b *iceberg.DataFileBuilder, first, _ string) *iceberg.DataFileBuilder {
			return forge.Bounds(b, first[:16], first[:16])
		},
		"equal, only the first": func(b *iceberg.DataFileBuilder, first, _ string) *iceberg.DataFileBuilder {
			return forge.Bounds(b, first, first)
		},
		"empty": func(b *iceberg.DataFileBuilder, _, _ string) *iceberg.DataFileBuilder { return forge.Bounds(b, "", "") },
		"equal, of no data file": func(b *iceberg.DataFileBuilder, _, _ string) *iceberg.DataFileBuilder {
			return forge.Bounds(b, "x", "x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, v2())
			f := l.files(2)
			a, b := f[0].FilePath(), f[1].FilePath()
			d := l.PositionDeletes(0, nil, forge.Records(map[string][]int64{a: {1}, b: {2}})...)
			l.delete(bounds(d, a, b).Build())
			l.migrate()
			got := l.read("main")
			assert.Equal(t, map[string][][2]int64{a: one(1), b: one(2)}, got.Positions)
			assert.Zero(t, got.PositionDeleteFiles)
		})
	}
}

// maxPosition is the last position that a deletion vector can hold.
const maxPosition = 9223372030412324864

func TestHugeAndSparsePositionsAreKept(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.DataFile("", 0, nil, math.MaxInt64)
	l.append(f)
	positions := []int64{0, math.MaxUint32, math.MaxUint32 + 1, 5<<32 | 1}
	l.deletePositions(f, map[string][]int64{f.FilePath(): positions})
	l.migrate()
	assert.Equal(t, at(positions...), l.read("main").Positions[f.FilePath()])
}

func TestPositionsThatNoDeletionVectorCanHoldStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		position int64
		rows     int64
		reason   string
		other    bool // the other data file of the partition gets its deletion vector
	}{
		"one too large":     {maxPosition + 1, 1 << 62, "delete-unreadable", false}, // the file may be about it too
		"the largest int64": {math.MaxInt64, 1 << 62, "delete-unreadable", false},
		"below 0":           {-1, 1 << 62, "delete-unreadable", false},
		"the row count":     {10, 10, "position-out-of-range", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, v2())
			f, g := l.DataFile("", 0, nil, c.rows), l.DataFile("", 0, nil, 10)
			l.append(f, g)
			d := l.deletePositions(f, map[string][]int64{f.FilePath(): {3, c.position}})
			l.deletePositions(g, map[string][]int64{g.FilePath(): {4}})
			r := l.migrate()
			assert.NotZero(t, reasons(r)[c.reason])
			assert.Equal(t, c.other, r.Committed, "the other data file")
			assert.Contains(t, l.livePaths(), d.FilePath())
		})
	}
}

func TestRecordsInNoOrderAndTwiceAreReadAsASet(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.files(2)
	a, b := f[0].FilePath(), f[1].FilePath()
	l.delete(l.PositionDeletes(0, nil, forge.Record{Path: b, Pos: 5}, forge.Record{Path: a, Pos: 3}, forge.Record{Path: a, Pos: 9}, forge.Record{Path: a, Pos: 3},
		forge.Record{Path: b, Pos: 5}, forge.Record{Path: a, Pos: 1}).Build())
	r := l.migrate()
	assert.Equal(t, map[string][][2]int64{a: at(1, 3, 9), b: one(5)}, l.read("main").Positions)
	assert.EqualValues(t, 4, r.After.DeletedRows)
}

func TestADeleteOfTheSameCommitAsItsDataFileApplies(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.DataFile("", 0, nil, 10)
	d := l.PositionDeletes(0, nil, forge.Record{Path: f.FilePath(), Pos: 6}).Build()
	l.Commit(forge.Change{Add: forge.Files(f, d)})
	l.migrate()
	assert.Equal(t, one(6), l.read("main").Positions[f.FilePath()])
}

// column is a column of a position delete file as some writer makes it.
type column struct {
	name string
	id   string
}

// parquetDeletes encodes records, each row group of some rows, with columns as told; a nil position is null.
func parquetDeletes(t *testing.T, columns []column, records []forge.Record, group int, nullPos int) []byte {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		var kind arrow.DataType = arrow.PrimitiveTypes.Int64
		if c.name == "file_path" || c.name == "row" {
			kind = arrow.BinaryTypes.String
		}
		fields[i] = arrow.Field{Name: c.name, Type: kind, Nullable: true}
		if c.id != "" {
			fields[i].Metadata = arrow.NewMetadata([]string{"PARQUET:field_id"}, []string{c.id})
		}
	}
	schema := arrow.NewSchema(fields, nil)
	var buf bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &buf, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	require.NoError(t, err)
	for chunk := range slices.Chunk(records, group) {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for n, r := range chunk {
			for i, c := range columns {
				switch {
				case c.name == "file_path":
					b.Field(i).(*array.StringBuilder).Append(r.Path)
				case c.name == "row":
					b.Field(i).(*array.StringBuilder).Append("a deleted row")
				case n == nullPos:
					b.Field(i).AppendNull()
				default:
					b.Field(i).(*array.Int64Builder).Append(r.Pos)
				}
			}
		}
		batch := b.NewRecordBatch()
		require.NoError(t, w.Write(batch))
		batch.Release()
		b.Release()
	}
	require.NoError(t, w.Close())
	return buf.Bytes()
}

func TestColumnsOfDeleteFilesAreFoundByTheirIdsOrNames(t *testing.T) {
	t.Parallel()
	path, pos := column{"file_path", "2147483546"}, column{"pos", "2147483545"}
	for name, columns := range map[string][]column{
		"the right ids":                           {path, pos},
		"no ids":                                  {{"file_path", ""}, {"pos", ""}},
		"ids that are 100 off":                    {{"file_path", "2147483646"}, {"pos", "2147483645"}},
		"the other way round":                     {pos, path},
		"the deleted row beside":                  {path, pos, {"row", "2147483544"}},
		"a user's column of the same name before": {{"id", "1"}, path, pos},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, v2())
			f := l.files(1)[0]
			data := parquetDeletes(t, columns, []forge.Record{{Path: f.FilePath(), Pos: 1}, {Path: f.FilePath(), Pos: 7}}, 10, -1)
			l.delete(l.DeleteBytes(0, nil, iceberg.ParquetFile, 2, data).Build())
			l.migrate()
			assert.Equal(t, map[string][][2]int64{f.FilePath(): at(1, 7)}, l.read("main").Positions)
		})
	}
}

func TestDeleteFilesThatCannotBeReadExactlyStayWithEverythingTheyMayApplyTo(t *testing.T) {
	t.Parallel()
	path, pos := column{"file_path", "2147483546"}, column{"pos", "2147483545"}
	for name, c := range map[string]struct {
		format iceberg.FileFormat
		data   func(f iceberg.DataFile) []byte
		reason string
	}{
		"a null position": {iceberg.ParquetFile, func(f iceberg.DataFile) []byte {
			return parquetDeletes(t, []column{path, pos}, []forge.Record{{Path: f.FilePath()}, {Path: f.FilePath()}}, 10, 1)
		}, "delete-unreadable"},
		"no position column": {iceberg.ParquetFile, func(f iceberg.DataFile) []byte {
			return parquetDeletes(t, []column{path}, []forge.Record{{Path: f.FilePath()}}, 10, -1)
		}, "delete-unreadable"},
		"no path column": {iceberg.ParquetFile, func(f iceberg.DataFile) []byte {
			return parquetDeletes(t, []column{pos}, []forge.Record{{Path: f.FilePath()}}, 10, -1)
		}, "delete-unreadable"},
		"not a Parquet file": {iceberg.ParquetFile, func(iceberg.DataFile) []byte { return []byte("PAR1 and nothing else") }, "delete-unreadable"},
		"cut in half": {iceberg.ParquetFile, func(f iceberg.DataFile) []byte {
			all := parquetDeletes(t, []column{path, pos}, []forge.Record{{Path: f.FilePath(), Pos: 1}}, 10, -1)
			return all[:len(all)/2]
		}, "delete-unreadable"},
		"empty":                        {iceberg.ParquetFile, func(iceberg.DataFile) []byte { return nil }, "delete-unreadable"},
		"an ORC file that ends early":  {iceberg.OrcFile, func(iceberg.DataFile) []byte { return []byte("ORC") }, "delete-unreadable"},
		"an Avro file that ends early": {iceberg.AvroFile, func(iceberg.DataFile) []byte { return []byte("Obj\x01") }, "delete-unreadable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			byRegion := iceberg.NewPartitionSpec(identity(2, 1000, "region"))
			l := newLab(t, forge.Options{Spec: &byRegion})
			here, there := forge.Tuple{1000: int32(1)}, forge.Tuple{1000: int32(2)}
			f, g, later := l.DataFile("", 0, here, 100), l.DataFile("", 0, there, 100), l.DataFile("", 0, here, 100)
			l.append(f, g)
			d := l.DeleteBytes(0, here, c.format, 2, c.data(f)).Build()
			good := l.PositionDeletes(0, here, forge.Record{Path: f.FilePath(), Pos: 9}).Build()
			l.damaged, l.io = true, without{l.io, d.FilePath()}
			l.delete(d, good)
			l.append(later)
			l.deletePositions(g, map[string][]int64{g.FilePath(): {3}})
			l.deletePositions(later, map[string][]int64{later.FilePath(): {4}})
			r := l.migrate()
			assert.True(t, r.Committed)
			assert.Equal(t, c.reason, skip(t, r, c.reason).Reason)
			live := l.livePaths()
			assert.Contains(t, live, d.FilePath())
			assert.Contains(t, live, good.FilePath(), "its data file may have more deleted rows than this file says")
			got := l.read("main")
			assert.Equal(t, 2, got.DVs, "the other partition, and the data file that is too young for the unreadable file")
			assert.Equal(t, one(3), got.Positions[g.FilePath()])
			assert.Equal(t, one(4), got.Positions[later.FilePath()])
		})
	}
}

func TestADeleteFileThatIsGoneStaysWithEverythingItMayApplyTo(t *testing.T) {
	t.Parallel()
	l := newDamagedLab(t, v3())
	f := l.files(2)
	d := l.PositionDeletes(0, nil, forge.Record{Path: f[0].FilePath(), Pos: 1}).ReferencedDataFile(f[0].FilePath()).Build()
	l.delete(d)
	l.deletePositions(f[1], map[string][]int64{f[1].FilePath(): {2}})
	require.NoError(t, l.Remove(d.FilePath()))
	r := l.compact()
	assert.Equal(t, 2, reasons(r)["delete-unreadable"], "the file and the data file that it names")
	assert.Equal(t, one(2), l.read("main").Positions[f[1].FilePath()])
	assert.Contains(t, l.livePaths(), d.FilePath())
}

func TestRowGroupsDoNotShiftPositions(t *testing.T) {
	t.Parallel()
	l := newLab(t, v3())
	f := l.files(3)
	var records []forge.Record
	for _, d := range f {
		for p := range int64(100) {
			records = append(records, forge.Record{Path: d.FilePath(), Pos: 3 * p})
		}
	}
	data := parquetDeletes(t, []column{{"file_path", "2147483546"}, {"pos", "2147483545"}}, records, 100, -1)
	d := l.DeleteBytes(0, nil, iceberg.ParquetFile, 300, data)
	l.delete(d.ReferencedDataFile(f[2].FilePath()).Build()) // whose rows are in the third row group alone
	r := l.compact()
	assert.NotZero(t, reasons(r)["delete-reference-stale"], "its other records name live data files that its entry excludes")
	l.Commit(forge.Change{Operation: table.OpDelete, Remove: named(f[0], f[1])})
	l.compact()
	got := l.read("main").Positions[f[2].FilePath()]
	assert.Len(t, got, 100)
	assert.Equal(t, [2]int64{297, 297}, got[99])
}

// identity is a partition field that is a column as it is.
func identity(source, id int, name string) iceberg.PartitionField {
	return iceberg.PartitionField{SourceIDs: []int{source}, FieldID: id, Name: name, Transform: iceberg.IdentityTransform{}}
}
