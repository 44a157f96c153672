package positiondelete_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// object is a source in memory that counts requests.
type object struct {
	data   []byte
	ranges atomic.Int32
	heads  atomic.Int32
	fail   error
}

func (o *object) ReadRange(_ context.Context, offset, length int64) ([]byte, error) {
	o.ranges.Add(1)
	if o.fail != nil {
		return nil, o.fail
	}
	if offset < 0 || offset+length > int64(len(o.data)) {
		return nil, io.ErrUnexpectedEOF
	}
	return slices.Clone(o.data[offset : offset+length]), nil
}

func (o *object) Size(context.Context) (int64, error) {
	o.heads.Add(1)
	return int64(len(o.data)), o.fail
}

// column describes one column of a file to write.
type column struct {
	name string
	id   string // "" for none
	kind arrow.DataType
}

var (
	pathColumn = column{"file_path", "2147483546", arrow.BinaryTypes.String}
	posColumn  = column{"pos", "2147483545", arrow.PrimitiveTypes.Int64}
)

// record is a (file_path, pos) record; a nil pointer is a null.
type record struct {
	path *string
	pos  *int64
}

func rec(path string, pos int64) record { return record{&path, &pos} }

// encode writes records to Parquet.
func encode(t testing.TB, columns []column, records []record, rowGroup int, props ...parquet.WriterProperty) []byte {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.name, Type: c.kind, Nullable: true}
		if c.id != "" {
			fields[i].Metadata = arrow.NewMetadata([]string{"PARQUET:field_id"}, []string{c.id})
		}
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for _, r := range records {
		for i, c := range columns {
			appendValue(b.Field(i), c, r)
		}
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	var buf bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &buf, parquet.NewWriterProperties(props...), pqarrow.DefaultWriterProps())
	require.NoError(t, err)
	for from := 0; from < len(records); from += rowGroup {
		part := batch.NewSlice(int64(from), int64(min(from+rowGroup, len(records))))
		require.NoError(t, w.Write(part))
		part.Release()
	}
	require.NoError(t, w.Close())
	return buf.Bytes()
}

func appendValue(b array.Builder, c column, r record) {
	switch b := b.(type) {
	case *array.StringBuilder:
		if r.path == nil {
			b.AppendNull()
		} else {
			b.Append(*r.path)
		}
	case *array.BinaryBuilder:
		b.Append([]byte(*r.path))
	case *array.Int64Builder:
		switch {
		case r.pos == nil:
			b.AppendNull()
		case c.id == "1": // a column of the table itself
			b.Append(-1)
		default:
			b.Append(*r.pos)
		}
	case *array.Int32Builder:
		b.Append(int32(*r.pos))
	case *array.StructBuilder:
		b.Append(true)
		b.FieldBuilder(0).(*array.Int64Builder).Append(7)
	default:
		panic(fmt.Sprintf("%T", b))
	}
}

// readAll collects what Read visits.
func readAll(t testing.TB, o *object, size int64) (map[string][]int64, error) {
	got := map[string][]int64{}
	err := positiondelete.Read(t.Context(), positiondelete.File{Location: "s3://b/d.parquet", Source: o, Size: size}, func(path []byte, positions []int64) error {
		got[string(path)] = append(got[string(path)], positions...)
		return nil
	})
	return got, err
}

// many are records of several data files, with long and short runs of a path.
func many(n int) ([]record, map[string][]int64) {
	var out []record
	want := map[string][]int64{}
	for i := range n {
		path := fmt.Sprintf("s3://bucket/t/data/file-%d.parquet", i*7/n)
		out = append(out, rec(path, int64(i*3)))
		want[path] = append(want[path], int64(i*3))
	}
	return out, want
}

func TestEveryWayToStoreRecordsIsRead(t *testing.T) {
	t.Parallel()
	records, want := many(5000)
	standard := []column{pathColumn, posColumn}
	rowColumn := column{"row", "2147483544", arrow.StructOf(arrow.Field{Name: "pos", Type: arrow.PrimitiveTypes.Int64, Nullable: true})}
	cases := map[string]struct {
		columns  []column
		rowGroup int
		props    []parquet.WriterProperty
	}{
		"columns swapped":                        {columns: []column{posColumn, pathColumn}},
		"no field ids":                           {columns: []column{{"file_path", "", pathColumn.kind}, {"pos", "", posColumn.kind}}},
		"wrong field ids, right names":           {columns: []column{{"file_path", "2147483646", pathColumn.kind}, {"pos", "2147483645", posColumn.kind}}},
		"right field ids, other names":           {columns: []column{{"p", pathColumn.id, pathColumn.kind}, {"q", posColumn.id, posColumn.kind}}},
		"a table column named pos before pos":    {columns: []column{{"pos", "1", posColumn.kind}, pathColumn, {"position", posColumn.id, posColumn.kind}}},
		"with row":                               {columns: []column{pathColumn, posColumn, rowColumn}},
		"row first":                              {columns: []column{rowColumn, pathColumn, posColumn}},
		"file_path as plain binary":              {columns: []column{{"file_path", pathColumn.id, arrow.BinaryTypes.Binary}, posColumn}},
		"many row groups":                        {rowGroup: 37},
		"many pages":                             {props: []parquet.WriterProperty{parquet.WithDataPageSize(64), parquet.WithBatchSize(16)}},
		"data page version 2":                    {props: []parquet.WriterProperty{parquet.WithDataPageVersion(parquet.DataPageV2)}},
		"no dictionary":                          {props: []parquet.WriterProperty{parquet.WithDictionaryDefault(false)}},
		"dictionary that falls back to plain":    {props: []parquet.WriterProperty{parquet.WithDictionaryPageSizeLimit(128), parquet.WithDataPageSize(256), parquet.WithBatchSize(16)}},
		"pos with delta encoding":                {props: []parquet.WriterProperty{parquet.WithDictionaryFor("pos", false), parquet.WithEncodingFor("pos", parquet.Encodings.DeltaBinaryPacked)}},
		"file_path with delta byte array":        {props: []parquet.WriterProperty{parquet.WithDictionaryFor("file_path", false), parquet.WithEncodingFor("file_path", parquet.Encodings.DeltaByteArray)}},
		"file_path with delta length byte array": {props: []parquet.WriterProperty{parquet.WithDictionaryFor("file_path", false), parquet.WithEncodingFor("file_path", parquet.Encodings.DeltaLengthByteArray)}},
		"no statistics":                          {props: []parquet.WriterProperty{parquet.WithStats(false)}},
	}
	for codec, name := range map[compress.Compression]string{
		compress.Codecs.Uncompressed: "uncompressed", compress.Codecs.Snappy: "snappy", compress.Codecs.Gzip: "gzip",
		compress.Codecs.Brotli: "brotli", compress.Codecs.Zstd: "zstd", compress.Codecs.Lz4Raw: "lz4 raw",
	} {
		c := cases["no statistics"]
		c.props = []parquet.WriterProperty{parquet.WithCompression(codec)}
		cases[name] = c
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.columns == nil {
				c.columns = standard
			}
			if c.rowGroup == 0 {
				c.rowGroup = len(records)
			}
			o := &object{data: encode(t, c.columns, records, c.rowGroup, c.props...)}
			got, err := readAll(t, o, int64(len(o.data)))
			require.NoError(t, err)
			assert.Equal(t, want, got)
			assert.EqualValues(t, 1, o.ranges.Load(), "a small file is one request")
			assert.EqualValues(t, 0, o.heads.Load())
		})
	}
}

func TestColumnsWithoutTheirFieldIDsAreToldOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		columns []column
		told    bool
	}{
		"both ids":     {[]column{pathColumn, posColumn}, false},
		"swapped":      {[]column{posColumn, pathColumn}, false},
		"no ids":       {[]column{{"file_path", "", pathColumn.kind}, {"pos", "", posColumn.kind}}, true},
		"only of pos":  {[]column{{"file_path", "", pathColumn.kind}, posColumn}, true},
		"only of path": {[]column{pathColumn, {"pos", "", posColumn.kind}}, true},
	} {
		o := &object{data: encode(t, c.columns, []record{rec("f", 1)}, 1)}
		told := false
		f := positiondelete.File{Location: "d", Source: o, Size: int64(len(o.data)), ByName: func() { told = true }}
		require.NoError(t, positiondelete.Read(t.Context(), f, func([]byte, []int64) error { return nil }))
		assert.Equal(t, c.told, told, name)
	}
}

func TestUnsortedAndRepeatedRecordsAreAllVisited(t *testing.T) {
	t.Parallel()
	o := &object{data: encode(t, []column{pathColumn, posColumn}, []record{rec("b", 5), rec("a", 3), rec("a", 9), rec("b", 5), rec("a", 3)}, 100)}
	got, err := readAll(t, o, int64(len(o.data)))
	require.NoError(t, err)
	assert.Equal(t, map[string][]int64{"a": {3, 9, 3}, "b": {5, 5}}, got)
}

func TestAnEmptyFileHasNoRecords(t *testing.T) {
	t.Parallel()
	o := &object{data: encode(t, []column{pathColumn, posColumn}, nil, 1)}
	got, err := readAll(t, o, int64(len(o.data)))
	require.NoError(t, err)
	assert.Empty(t, got)
}

func TestWhatCannotBeReadExactlyHasANamedError(t *testing.T) {
	t.Parallel()
	path := "s3://b/f.parquet"
	standard := []column{pathColumn, posColumn}
	good := encode(t, standard, []record{rec(path, 1), rec(path, 2)}, 100)
	damaged := slices.Clone(good)
	for i := 4; i < 60; i++ {
		damaged[i] ^= 0xff
	}
	one := int64(1)
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"null path":              {encode(t, standard, []record{rec(path, 1), {nil, &one}}, 100), positiondelete.ErrNull},
		"null position":          {encode(t, standard, []record{rec(path, 1), {&path, nil}}, 100), positiondelete.ErrNull},
		"only nulls":             {encode(t, standard, []record{{nil, nil}}, 100), positiondelete.ErrNull},
		"no pos":                 {encode(t, []column{pathColumn}, []record{rec(path, 1)}, 100), positiondelete.ErrColumn},
		"no file_path":           {encode(t, []column{posColumn}, []record{rec(path, 1)}, 100), positiondelete.ErrColumn},
		"pos as int32":           {encode(t, []column{pathColumn, {"pos", posColumn.id, arrow.PrimitiveTypes.Int32}}, []record{rec(path, 1)}, 100), positiondelete.ErrColumn},
		"file_path as a number":  {encode(t, []column{{"file_path", pathColumn.id, arrow.PrimitiveTypes.Int64}, posColumn}, []record{rec(path, 1)}, 100), positiondelete.ErrColumn},
		"cut in the middle":      {good[:len(good)/2], positiondelete.ErrFormat},
		"nothing":                {nil, positiondelete.ErrFormat},
		"not Parquet":            {bytes.Repeat([]byte("<xml/>"), 50), positiondelete.ErrFormat},
		"an encrypted footer":    {append(slices.Clone(good[:len(good)-4]), "PARE"...), positiondelete.ErrFormat},
		"pages of other bytes":   {damaged, positiondelete.ErrFormat},
		"footer of random bytes": {append(bytes.Repeat([]byte{7}, 200), 100, 0, 0, 0, 'P', 'A', 'R', '1'), positiondelete.ErrFormat},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := readAll(t, &object{data: c.data}, int64(len(c.data)))
			require.ErrorIs(t, err, c.want)
			var e *positiondelete.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, "s3://b/d.parquet", e.Location)
		})
	}
}

func TestAWrongSizeInTheManifestIsNoticed(t *testing.T) {
	t.Parallel()
	records, want := many(100)
	o := &object{data: encode(t, []column{pathColumn, posColumn}, records, 100)}
	for _, size := range []int64{0, 10, int64(len(o.data)) - 1, int64(len(o.data)) + 1000} {
		got, err := readAll(t, o, size)
		require.NoError(t, err, "size %d", size)
		assert.Equal(t, want, got)
	}
}

func TestAFailingStoreIsNotADamagedFile(t *testing.T) {
	t.Parallel()
	down := errors.New("store is down")
	records, _ := many(100)
	data := encode(t, []column{pathColumn, posColumn}, records, 100)
	_, err := readAll(t, &object{data: data, fail: down}, int64(len(data)))
	require.ErrorIs(t, err, down)
	var e *positiondelete.Error
	assert.False(t, errors.As(err, &e))
}

func TestALargeFileIsReadByFooterAndColumns(t *testing.T) {
	t.Parallel()
	var records []record
	for i := range 700_000 { // positions without pattern, so that they do not compress
		records = append(records, rec("s3://bucket/t/data/f.parquet", int64(i)*2654435761%(1<<40)))
	}
	noise := column{"row", "2147483544", arrow.StructOf(arrow.Field{Name: "pos", Type: arrow.PrimitiveTypes.Int64, Nullable: true})}
	o := &object{data: encode(t, []column{pathColumn, posColumn, noise}, records, len(records), parquet.WithDictionaryDefault(false), parquet.WithCompression(compress.Codecs.Uncompressed))}
	require.Greater(t, len(o.data), 4<<20)
	got, err := readAll(t, o, int64(len(o.data)))
	require.NoError(t, err)
	assert.Len(t, got["s3://bucket/t/data/f.parquet"], len(records))
	assert.LessOrEqual(t, o.ranges.Load(), int32(3), "tail, file_path, pos")
}

func FuzzRead(f *testing.F) {
	records, _ := many(50)
	f.Add(encode(f, []column{pathColumn, posColumn}, records, 20))
	f.Add(encode(f, []column{pathColumn, posColumn}, records, 50, parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithCompression(compress.Codecs.Snappy)))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := readAll(t, &object{data: data}, int64(len(data)))
		var e *positiondelete.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("an error without a name: %v", err)
		}
	})
}
