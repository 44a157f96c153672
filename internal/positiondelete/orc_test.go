package positiondelete_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
)

func javaFile(t testing.TB, name string) []byte {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return data
}

func orcFile(o *object, size int64) positiondelete.File {
	return positiondelete.File{Location: "s3://b/d.orc", Source: o, Format: iceberg.OrcFile, Size: size}
}

func nothing([]byte, []int64) error { return nil }

func TestASmallORCFileIsOneRequest(t *testing.T) {
	t.Parallel()
	o := &object{data: javaFile(t, "java/noise-30000-5-stripes.orc")}
	require.NoError(t, positiondelete.Read(t.Context(), orcFile(o, int64(len(o.data))), nothing))
	assert.EqualValues(t, 1, o.ranges.Load())
	assert.EqualValues(t, 0, o.heads.Load())
}

func TestAWrongSizeOfAnORCFileInTheManifestIsNoticed(t *testing.T) {
	t.Parallel()
	o := &object{data: javaFile(t, "java/run-100-2-row.orc")}
	for _, size := range []int64{0, 10, int64(len(o.data)) - 1, int64(len(o.data)) + 1000} {
		n := 0
		require.NoError(t, positiondelete.Read(t.Context(), orcFile(o, size), func(_ []byte, positions []int64) error {
			n += len(positions)
			return nil
		}), "size %d", size)
		assert.Equal(t, 100, n)
	}
}

func TestAnORCFileThatCannotBeReadExactlyHasANamedError(t *testing.T) {
	t.Parallel()
	good := javaFile(t, "java/noise-1000-3-none.orc")
	renamed := func(from, to string) []byte {
		require.Equal(t, len(from), len(to))
		require.Contains(t, string(good), from)
		return bytes.ReplaceAll(good, []byte(from), []byte(to))
	}
	// The attribute of a column that says its id, and the name of the column elsewhere in the footer.
	withoutID := func(name, id, to string) []byte {
		return bytes.ReplaceAll(renamed(name, to), []byte(id), []byte("2147480000"))
	}
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"nothing":        {nil, positiondelete.ErrFormat},
		"not ORC":        {bytes.Repeat([]byte("<xml/>"), 50), positiondelete.ErrFormat},
		"a Parquet file": {encode(t, []column{pathColumn, posColumn}, []record{rec("f", 1)}, 1), positiondelete.ErrFormat},
		"cut":            {good[:len(good)-1], positiondelete.ErrFormat},
		"without start":  {good[100:], positiondelete.ErrFormat},
		"LZO":            {javaFile(t, "refused/noise-1000-3-lzo.orc"), positiondelete.ErrFormat},
		"nulls":          {javaFile(t, "java/run-2000-3-nulls.orc"), positiondelete.ErrNull},
		"no file_path":   {withoutID("file_path", "2147483546", "file_pfad"), positiondelete.ErrColumn},
		"no pos":         {withoutID("pos", "2147483545", "row"), positiondelete.ErrColumn},
		"a time":         {renamed("\x04LONG", "\x04TIME"), positiondelete.ErrColumn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := positiondelete.Read(t.Context(), orcFile(&object{data: c.data}, int64(len(c.data))), nothing)
			require.ErrorIs(t, err, c.want)
			var e *positiondelete.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, "s3://b/d.orc", e.Location)
		})
	}
}

func TestColumnsOfORCFilesWithoutTheirFieldIDsAreToldOf(t *testing.T) {
	t.Parallel()
	good := javaFile(t, "java/noise-1000-3-none.orc")
	for id, want := range map[string]bool{"2147483546": false, "2147480000": true} {
		told := false
		f := orcFile(&object{data: bytes.ReplaceAll(good, []byte("2147483546"), []byte(id))}, 0)
		f.ByName = func() { told = true }
		require.NoError(t, positiondelete.Read(t.Context(), f, nothing))
		assert.Equal(t, want, told)
	}
}

func TestAFailingStoreIsNotADamagedORCFile(t *testing.T) {
	t.Parallel()
	down := errors.New("store is down")
	err := positiondelete.Read(t.Context(), orcFile(&object{data: javaFile(t, "java/run-100-2-row.orc"), fail: down}, 9), nothing)
	require.ErrorIs(t, err, down)
	assert.False(t, positiondelete.Unreadable(err))
}

func TestAFormatThatNobodyReadsIsRefusedWithoutARequest(t *testing.T) {
	t.Parallel()
	o := &object{data: []byte("LANCE")}
	err := positiondelete.Read(t.Context(), positiondelete.File{Location: "d", Source: o, Format: "LANCE"}, nothing)
	require.ErrorIs(t, err, positiondelete.ErrFormat)
	assert.True(t, positiondelete.Unreadable(err))
	assert.False(t, positiondelete.Readable("LANCE"))
	assert.Zero(t, o.ranges.Load()+o.heads.Load())
}

func FuzzReadORC(f *testing.F) {
	locations, err := filepath.Glob("testdata/*/*.orc")
	require.NoError(f, err)
	for _, location := range locations {
		data, err := os.ReadFile(location)
		require.NoError(f, err)
		if len(data) < 8<<10 && !strings.Contains(location, "chunks") {
			f.Add(data)
			f.Add(slices.Concat(data[:len(data)/2], data[len(data)/2+1:]))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := positiondelete.Read(t.Context(), orcFile(&object{data: data}, int64(len(data))), nothing)
		if err != nil && !errors.As(err, new(*positiondelete.Error)) {
			t.Fatalf("an error without a name: %v", err)
		}
	})
}
