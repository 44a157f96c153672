package rowcount_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/dvcompactor/dvcompactor/internal/rowcount"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// object is a data file in memory that counts what is read of it.
type object struct {
	data        []byte
	reads, read int64
	fail        error
}

func (o *object) ReadRange(_ context.Context, offset, length int64) ([]byte, error) {
	o.reads, o.read = o.reads+1, o.read+length
	if o.fail != nil {
		return nil, o.fail
	}
	if offset < 0 || offset+length > int64(len(o.data)) {
		return nil, io.ErrUnexpectedEOF
	}
	return o.data[offset : offset+length], nil
}

func (o *object) Size(context.Context) (int64, error) { return int64(len(o.data)), o.fail }

func of(t testing.TB, data []byte) (int64, error) {
	return rowcount.Of(t.Context(), &object{data: data}, rowcount.Options{Size: int64(len(data))})
}

// decode returns how many rows a file has by reading all of them.
func decode(t testing.TB, data []byte) int64 {
	tbl, err := pqarrow.ReadTable(t.Context(), bytes.NewReader(data), parquet.NewReaderProperties(memory.DefaultAllocator),
		pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	require.NoError(t, err)
	defer tbl.Release()
	return tbl.NumRows()
}

func TestEveryFileOfTheTestLakesHasTheRowsThatItHolds(t *testing.T) {
	t.Parallel()
	files := 0
	require.NoError(t, filepath.WalkDir(filepath.Join(testlake.Root(t), "testdata"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".parquet") {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		got, err := of(t, data)
		require.NoError(t, err, path)
		require.Equal(t, decode(t, data), got, path)
		return nil
	}))
	require.Greater(t, files, 100)
}

// encode makes a data file of n rows in row groups of up to group rows, with an id and a list of no, one or two numbers.
func encode(t testing.TB, n, group int, props ...parquet.WriterProperty) []byte {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "list", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	list := b.Field(1).(*array.ListBuilder)
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		list.Append(true)
		for range i % 3 {
			list.ValueBuilder().(*array.Int64Builder).Append(7)
		}
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	var buf bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &buf, parquet.NewWriterProperties(props...), pqarrow.DefaultWriterProps())
	require.NoError(t, err)
	for from := 0; from < n; from += group {
		part := batch.NewSlice(int64(from), int64(min(from+group, n)))
		require.NoError(t, w.Write(part))
		part.Release()
	}
	require.NoError(t, w.Close())
	return buf.Bytes()
}

func TestRowsAreCountedAcrossRowGroupsAndLists(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rows, group int }{{0, 1}, {1, 1}, {1000, 1000}, {1000, 7}} {
		got, err := of(t, encode(t, c.rows, c.group))
		require.NoError(t, err)
		assert.EqualValues(t, c.rows, got)
	}
}

func TestOnlyTheTailIsRead(t *testing.T) {
	t.Parallel()
	o := &object{data: encode(t, 200_000, 100_000)}
	require.Greater(t, len(o.data), 1<<20)
	got, err := rowcount.Of(t.Context(), o, rowcount.Options{Size: int64(len(o.data))})
	require.NoError(t, err)
	assert.EqualValues(t, 200_000, got)
	assert.EqualValues(t, 1, o.reads)
	assert.EqualValues(t, 64<<10, o.read)
}

func TestALargeFooterIsReadWithASecondRequest(t *testing.T) {
	t.Parallel()
	o := &object{data: encode(t, 3000, 5)}
	footer := int64(binary.LittleEndian.Uint32(o.data[len(o.data)-8:]))
	require.Greater(t, footer, int64(64<<10))
	got, err := rowcount.Of(t.Context(), o, rowcount.Options{})
	require.NoError(t, err)
	assert.EqualValues(t, 3000, got)
	assert.EqualValues(t, 2, o.reads)
	assert.EqualValues(t, 64<<10+footer, o.read)
}

func TestAWrongSizeInTheManifestDoesNoHarm(t *testing.T) {
	t.Parallel()
	o := &object{data: encode(t, 1000, 100)}
	for _, size := range []int64{-5, 0, 1, 100, int64(len(o.data)) - 1, int64(len(o.data)) + 1, 1 << 60} {
		got, err := rowcount.Of(t.Context(), o, rowcount.Options{Size: size})
		require.NoError(t, err, size)
		assert.EqualValues(t, 1000, got, size)
	}
}

func TestAFailingStoreIsNotADamagedFile(t *testing.T) {
	t.Parallel()
	down := errors.New("store is down")
	for _, size := range []int64{0, 100} {
		_, err := rowcount.Of(t.Context(), &object{data: encode(t, 1, 1), fail: down}, rowcount.Options{Size: size})
		require.ErrorIs(t, err, down)
		require.NotErrorIs(t, err, rowcount.ErrDamaged)
	}
}

func TestWhatIsNoIntactFileIsDamaged(t *testing.T) {
	t.Parallel()
	good := encode(t, 1000, 1000)
	long := slices.Clone(good)
	binary.LittleEndian.PutUint32(long[len(long)-8:], 1<<31)
	key := strings.Repeat("k", 16)
	for name, data := range map[string][]byte{
		"encrypted":                      encode(t, 9, 9, parquet.WithEncryptionProperties(parquet.NewFileEncryptionProperties(key))),
		"encrypted, with a plain footer": encode(t, 9, 9, parquet.WithEncryptionProperties(parquet.NewFileEncryptionProperties(key, parquet.WithPlaintextFooter()))),
		"nothing":                        nil,
		"the end alone":                  []byte("PAR1"),
		"cut":                            good[:len(good)-1],
		"no Parquet":                     bytes.Repeat([]byte("x"), 1000),
		"a footer that is long":          long,
	} {
		_, err := of(t, data)
		require.ErrorIs(t, err, rowcount.ErrDamaged, name)
	}
}

// places returns where a number stands in the footer, as Thrift's compact protocol writes it.
func places(data []byte, number int64) (out []int) {
	old := binary.AppendVarint(nil, number)
	for at := len(data) - 8 - int(binary.LittleEndian.Uint32(data[len(data)-8:])); ; at++ {
		i := bytes.Index(data[at:], old)
		if i < 0 {
			return out
		}
		at += i
		out = append(out, at)
	}
}

func TestANumberOfRowsThatTheColumnsDoNotHaveIsNotBelieved(t *testing.T) {
	t.Parallel()
	const rows = 1237 // a number that stands in the footer only where rows or values are counted
	good := encode(t, rows, rows)
	at := places(good, rows)
	require.Len(t, at, 3, "the rows of the file, the values of id, the rows of the row group")
	for name, changed := range map[string][]int{
		"the file": {at[0]}, "the values of id": {at[1]}, "the row group": {at[2]}, "the file and the row group": {at[0], at[2]},
	} {
		for _, claim := range []int64{rows - 1, rows + 1, 2 * rows, 6000} {
			data := slices.Clone(good)
			for _, i := range changed {
				copy(data[i:], binary.AppendVarint(nil, claim))
			}
			_, err := of(t, data)
			require.ErrorIs(t, err, rowcount.ErrDamaged, "%d rows in %s", claim, name)
		}
	}
}

func FuzzOf(f *testing.F) {
	f.Add(encode(f, 0, 1))
	f.Add(encode(f, 10, 3))
	for _, name := range []string{"run-100-2-row.orc", "steps-500-3-gzip.avro"} {
		f.Add(javaFile(f, name))
	}
	f.Add([]byte("PAR1\x00\x00\x00\x00PAR1"))
	f.Add(bytes.Repeat([]byte{0xff}, 100))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := of(t, data)
		if err != nil {
			require.ErrorIs(t, err, rowcount.ErrDamaged)
		}
		require.GreaterOrEqual(t, rows, int64(0))
	})
}
