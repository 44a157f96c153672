package rowcount_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/rowcount"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// javaFolder has ORC and Avro files that the reference wrote, with the number of their rows in their names.
var javaFolder = filepath.Join("..", "positiondelete", "testdata", "java")

func javaFile(t testing.TB, name string) []byte {
	data, err := os.ReadFile(filepath.Join(javaFolder, name))
	require.NoError(t, err)
	return data
}

func TestORCAndAvroFilesOfTheReferenceHaveTheRowsThatItWrote(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(javaFolder)
	require.NoError(t, err)
	require.Greater(t, len(files), 20)
	for _, f := range files {
		want, err := strconv.ParseInt(regexp.MustCompile(`-(\d+)-`).FindStringSubmatch(f.Name())[1], 10, 64)
		require.NoError(t, err)
		got, err := rowcount.Of(t.Context(), &object{data: javaFile(t, f.Name())}, rowcount.Options{Rows: want})
		require.NoError(t, err, f.Name())
		assert.Equal(t, want, got, f.Name())
	}
}

func TestAnAvroFileWithFewerRowsThanItsManifestEntrySaysMayHaveBeenCut(t *testing.T) {
	t.Parallel()
	const rows = 6000
	data := javaFile(t, "wide-6000-40-blocks.avro")
	ends := blockEnds(t, data)
	require.Greater(t, len(ends), 3)
	for _, end := range ends[:len(ends)-1] {
		_, err := rowcount.Of(t.Context(), &object{data: data[:end]}, rowcount.Options{Rows: rows})
		require.ErrorIs(t, err, rowcount.ErrDamaged, "cut at %d", end)
		_, err = rowcount.Of(t.Context(), &object{data: data[:end+1]}, rowcount.Options{})
		require.ErrorIs(t, err, rowcount.ErrDamaged, "cut at %d", end+1)
	}
	got, err := rowcount.Of(t.Context(), &object{data: data}, rowcount.Options{Rows: rows - 1})
	require.NoError(t, err, "more is what the file says")
	assert.EqualValues(t, rows, got)
}

// blockEnds returns where the header and the blocks of an Avro file end: after each copy of the marker that it ends with.
func blockEnds(t *testing.T, data []byte) (ends []int) {
	marker := data[len(data)-16:]
	for at := 0; at < len(data); {
		i := bytes.Index(data[at:], marker)
		require.GreaterOrEqual(t, i, 0)
		at += i + len(marker)
		ends = append(ends, at)
	}
	return ends
}

func TestAnAvroFileThatContradictsItselfIsDamaged(t *testing.T) {
	t.Parallel()
	good := javaFile(t, "run-100-2-row.avro")
	ends := blockEnds(t, good)
	require.Len(t, ends, 2, "the header and a block")
	header, marker := good[:ends[0]], good[len(good)-16:]
	block := func(rows, size int64, bytes int) []byte {
		b := binary.AppendVarint(binary.AppendVarint(nil, rows), size)
		return slices.Concat(b, make([]byte, bytes), marker)
	}
	for name, tail := range map[string][]byte{
		"a negative number of rows":        block(-1, 3, 3),
		"a negative size":                  block(1, -3, 3),
		"more bytes than there are":        block(1, 1<<60, 3),
		"a marker elsewhere":               block(1, 2, 3),
		"no marker":                        block(1, 3, 3)[:5],
		"more rows than there are numbers": slices.Concat(block(1<<62, 1, 1), block(1<<62, 1, 1)),
		"a number without end":             slices.Repeat([]byte{0xff}, 11),
		"a size that is missing":           {2},
	} {
		_, err := rowcount.Of(t.Context(), &object{data: slices.Concat(header, tail)}, rowcount.Options{})
		require.ErrorIs(t, err, rowcount.ErrDamaged, name)
	}
	got, err := rowcount.Of(t.Context(), &object{data: slices.Concat(header, block(3, 1, 1), block(4, 2, 2))}, rowcount.Options{})
	require.NoError(t, err)
	assert.EqualValues(t, 7, got)
}

func TestAnORCFileWhoseStripesHaveOtherRowsThanItsFooterSaysIsDamaged(t *testing.T) {
	t.Parallel()
	data := javaFile(t, "noise-1000-3-none.orc")
	changed := 0
	for at := range len(data) - 1 {
		if n, size := binary.Uvarint(data[at:]); size == 2 && n == 1000 {
			broken := slices.Clone(data)
			binary.PutUvarint(broken[at:], 999)
			got, err := rowcount.Of(t.Context(), &object{data: broken}, rowcount.Options{})
			if err == nil { // a number of the statistics, or of the data
				assert.EqualValues(t, 1000, got)
				continue
			}
			require.ErrorIs(t, err, rowcount.ErrDamaged)
			changed++
		}
	}
	assert.Equal(t, 2, changed, "the rows of the footer and of its stripe")
}
