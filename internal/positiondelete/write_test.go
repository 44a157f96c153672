package positiondelete_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// deleted are the deleted positions of one data file, as inclusive ranges.
type deleted struct {
	path   string
	ranges [][2]int64
}

func sets(t testing.TB, files ...deleted) iter.Seq2[string, *puffin.Bitmap] {
	return func(yield func(string, *puffin.Bitmap) bool) {
		for _, f := range files {
			b := puffin.NewBitmap()
			for _, r := range f.ranges {
				require.NoError(t, b.AddRange(r[0], r[1]))
			}
			if !yield(f.path, b) {
				return
			}
		}
	}
}

// write writes one file, as far as it gets.
func write(w io.Writer, files iter.Seq2[string, *puffin.Bitmap]) (positiondelete.Written, error) {
	out, err := positiondelete.NewWriter(w, positiondelete.WriterOptions{})
	if err != nil {
		return positiondelete.Written{}, err
	}
	for path, positions := range files {
		if err := out.Add(path, positions); err != nil {
			return positiondelete.Written{}, err
		}
	}
	return out.Close()
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	t.Parallel()
	long := "s3://lake/" + strings.Repeat("x", 4000)
	var buf bytes.Buffer
	got, err := write(&buf, sets(t,
		deleted{"s3://lake/a b%20ü.parquet", [][2]int64{{7, 9}, {0, 0}, {1 << 40, 1<<40 + 1}}},
		deleted{"s3://lake/none.parquet", nil},
		deleted{long, [][2]int64{{puffin.MaxPosition, puffin.MaxPosition}}},
	))
	require.NoError(t, err)
	got.ColumnSizes, got.SplitOffsets = nil, nil // another test is about them
	assert.Equal(t, positiondelete.Written{
		Records: 7, LowerPath: "s3://lake/a b%20ü.parquet", UpperPath: long, LowerPos: 0, UpperPos: puffin.MaxPosition,
	}, got)
	read, err := readAll(t, &object{data: buf.Bytes()}, int64(buf.Len()))
	require.NoError(t, err)
	assert.Equal(t, map[string][]int64{
		"s3://lake/a b%20ü.parquet": {0, 7, 8, 9, 1 << 40, 1<<40 + 1}, long: {puffin.MaxPosition},
	}, read)
}

func TestAWrittenFileHasTheColumnsOfTheSpec(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	_, err := write(&buf, sets(t, deleted{"a", [][2]int64{{0, 2}}}))
	require.NoError(t, err)
	pf, err := file.NewParquetReader(bytes.NewReader(buf.Bytes()))
	require.NoError(t, err)
	s := pf.MetaData().Schema
	require.Equal(t, 2, s.NumColumns())
	for i, want := range []struct {
		name, logical string
		id            int32
		kind          parquet.Type
	}{{"file_path", "String", 2147483546, parquet.Types.ByteArray}, {"pos", "None", 2147483545, parquet.Types.Int64}} {
		c := s.Column(i)
		assert.Equal(t, want.name, c.Name())
		assert.Equal(t, want.id, c.SchemaNode().FieldID())
		assert.Equal(t, want.kind, c.PhysicalType())
		assert.Equal(t, want.logical, c.LogicalType().String())
		assert.Equal(t, parquet.Repetitions.Required, c.SchemaNode().RepetitionType())
	}
}

func TestALargeFileIsWrittenInRowGroupsOfBoundedSize(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	var buf bytes.Buffer
	got, err := write(&buf, sets(t,
		deleted{"a", [][2]int64{{5, 5}}}, deleted{"b", [][2]int64{{0, most - 2}}}, deleted{"c", [][2]int64{{3, 3}}}))
	require.NoError(t, err)
	require.EqualValues(t, most+1, got.Records)
	pf, err := file.NewParquetReader(bytes.NewReader(buf.Bytes()))
	require.NoError(t, err)
	var rows []int64
	for i := range pf.NumRowGroups() {
		rows = append(rows, pf.RowGroup(i).NumRows())
	}
	assert.Equal(t, []int64{most, 1}, rows)
	read, err := readAll(t, &object{data: buf.Bytes()}, int64(buf.Len()))
	require.NoError(t, err)
	var want []int64
	for pos := range int64(most - 1) {
		want = append(want, pos)
	}
	require.True(t, slices.Equal(want, read["b"]))
	assert.Equal(t, [][]int64{{5}, {3}}, [][]int64{read["a"], read["c"]})
}

func TestWhatCannotBeWrittenHasANamedError(t *testing.T) {
	t.Parallel()
	one := [][2]int64{{1, 1}}
	for name, c := range map[string]struct {
		files []deleted
		want  error
	}{
		"a path twice":               {[]deleted{{"a", one}, {"a", one}}, positiondelete.ErrPaths},
		"descending paths":           {[]deleted{{"b", one}, {"a", one}}, positiondelete.ErrPaths},
		"descending, without rows":   {[]deleted{{"b", nil}, {"a", one}}, positiondelete.ErrPaths},
		"ascending by letter only":   {[]deleted{{"a", one}, {"B", one}}, positiondelete.ErrPaths},
		"an empty path":              {[]deleted{{"", one}}, positiondelete.ErrPaths},
		"a path that is not text":    {[]deleted{{"a\xff", one}}, positiondelete.ErrPaths},
		"no data files":              {nil, positiondelete.ErrNoRecords},
		"data files without deletes": {[]deleted{{"a", nil}, {"b", nil}}, positiondelete.ErrNoRecords},
	} {
		_, err := write(io.Discard, sets(t, c.files...))
		require.ErrorIs(t, err, c.want, name)
	}
}

// full fails when more than room bytes were written.
type full struct{ room int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.room {
		return 0, errFull
	}
	f.room -= len(p)
	return len(p), nil
}

func TestAWriteThatFailsAnywhereIsAnError(t *testing.T) {
	t.Parallel()
	files := sets(t, deleted{"a", [][2]int64{{0, 100}}}, deleted{"b", [][2]int64{{5, 5}}})
	var buf bytes.Buffer
	_, err := write(&buf, files)
	require.NoError(t, err)
	for room := 0; room < buf.Len(); room += 11 {
		_, err := write(&full{room}, files)
		require.ErrorIs(t, err, errFull, "after %d bytes", room)
	}
}

// closing counts how often it is closed.
type closing struct {
	bytes.Buffer
	closed int
}

func (c *closing) Close() error { c.closed++; return nil }

func TestTheWriterIsLeftOpen(t *testing.T) {
	t.Parallel()
	var w closing
	_, err := write(&w, sets(t, deleted{"a", [][2]int64{{1, 1}}}))
	require.NoError(t, err)
	assert.Zero(t, w.closed)
}

func TestAnotherReaderDropsExactlyTheWrittenPositions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tbl := tableOfThree(t, dir)
	data, err := lakewriter.DataFiles(t.Context(), tbl, "main")
	require.NoError(t, err)
	location := filepath.Join(dir, "t", "data", "deletes.parquet")
	var buf bytes.Buffer
	written, err := write(&buf, sets(t,
		deleted{data[0].FilePath(), [][2]int64{{0, 97}}}, deleted{data[2].FilePath(), [][2]int64{{1, 48}, {50, 98}}}))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(location, buf.Bytes(), 0o644))
	entry, err := iceberg.NewDataFileBuilder(tbl.Spec(), iceberg.EntryContentPosDeletes, "file://"+location,
		iceberg.ParquetFile, nil, nil, nil, written.Records, int64(buf.Len()))
	require.NoError(t, err)
	tbl, err = lakewriter.Delta(t.Context(), tbl, "main", []iceberg.DataFile{entry.Build()}, nil)
	require.NoError(t, err)

	first := func(d iceberg.DataFile) int64 { return int64(binary.LittleEndian.Uint64(d.LowerBoundValues()[1])) }
	want := []int64{first(data[0]) + 98, first(data[0]) + 99, first(data[2]), first(data[2]) + 49, first(data[2]) + 99}
	for i := range int64(100) {
		want = append(want, first(data[1])+i)
	}
	assert.ElementsMatch(t, want, ids(t, tbl))
}

// tableOfThree makes a table of version 2 with three data files of 100 rows, whose ids are 0 to 299.
func tableOfThree(t *testing.T, dir string) *table.Table {
	uri, err := lakewriter.CreateLake(t.Context(), dir, "lake")
	require.NoError(t, err)
	require.NoError(t, lakewriter.CreateTable(t.Context(), dir, "lake", "t", 2, nil))
	c, err := catalog.Open(t.Context(), catalog.Options{Name: "lake", Type: "sql", URI: uri})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	tbl, err := lakewriter.Load(t.Context(), c, []string{"db", "t"})
	require.NoError(t, err)
	for i := range int64(3) {
		tbl, err = lakewriter.Append(t.Context(), tbl, 1, i*100, 100)
		require.NoError(t, err)
	}
	return tbl
}

// ids returns the ids of the rows that iceberg-go reads.
func ids(t *testing.T, tbl *table.Table) (out []int64) {
	_, batches, err := tbl.Scan().ToArrowRecords(t.Context())
	require.NoError(t, err)
	for batch, err := range batches {
		require.NoError(t, err)
		out = append(out, batch.Column(0).(*array.Int64).Int64Values()...)
		batch.Release()
	}
	return out
}

// inGroups writes a file whose row groups have 100 rows, the last one 50.
func inGroups(t *testing.T) (positiondelete.Written, []byte, *file.Reader) {
	var buf bytes.Buffer
	w, err := positiondelete.NewWriter(&buf, positiondelete.WriterOptions{GroupRows: 100})
	require.NoError(t, err)
	for path, positions := range sets(t, deleted{"a", [][2]int64{{0, 149}}}, deleted{"b", [][2]int64{{0, 99}}}) {
		require.NoError(t, w.Add(path, positions))
	}
	written, err := w.Close()
	require.NoError(t, err)
	pf, err := file.NewParquetReader(bytes.NewReader(buf.Bytes()))
	require.NoError(t, err)
	return written, buf.Bytes(), pf
}

func TestRowGroupsAreAsLongAsTheOptionsSay(t *testing.T) {
	t.Parallel()
	_, _, pf := inGroups(t)
	require.Equal(t, 3, pf.NumRowGroups())
	assert.Equal(t, int64(50), pf.MetaData().RowGroup(2).NumRows())
}

func TestWhatAnEntrySaysOfTheColumnsIsWhatTheFooterSays(t *testing.T) {
	t.Parallel()
	got, data, pf := inGroups(t)
	sizes, begins := map[int]int64{}, []int64{}
	for i := range pf.NumRowGroups() {
		group := pf.MetaData().RowGroup(i)
		first, err := group.ColumnChunk(0)
		require.NoError(t, err)
		second, err := group.ColumnChunk(1)
		require.NoError(t, err)
		require.True(t, first.HasDictionaryPage())
		begins = append(begins, first.DictionaryPageOffset())
		sizes[2147483546] += first.TotalCompressedSize()
		sizes[2147483545] += second.TotalCompressedSize()
	}
	assert.Equal(t, begins, got.SplitOffsets)
	assert.Equal(t, int64(4), got.SplitOffsets[0], "behind the magic")
	assert.Equal(t, sizes, got.ColumnSizes)
	assert.Less(t, sizes[2147483546]+sizes[2147483545], int64(len(data)))
}
