package positiondelete_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if err := positiondelete.BoundCodecs(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	m.Run()
}

func TestACompressedPageHoldsNoMoreThanItSays(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		codec compress.Compression
		page  []byte
	}{
		"four gigabytes of Snappy in seven bytes": {compress.Codecs.Snappy, append(binary.AppendUvarint(nil, math.MaxUint32), 0, 0)},
		"256 MiB of zstd":                         {compress.Codecs.Zstd, encoder.EncodeAll(make([]byte, 256<<20), nil)},
	} {
		t.Run(name, func(t *testing.T) {
			codec, err := compress.GetCodec(c.codec)
			require.NoError(t, err)
			room := make([]byte, 1<<20)
			used := allocated(func() { _, err = compress.Decode(codec, room, c.page) })
			require.Error(t, err)
			assert.Less(t, used, uint64(16<<20))
		})
	}
}

// allocated returns how many bytes f allocates. It must not run beside other tests.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestASizeOfTheManifestThatCannotBeIsNotBelieved(t *testing.T) {
	t.Parallel()
	records, want := many(100)
	o := &object{data: encode(t, []column{pathColumn, posColumn}, records, 100)}
	for _, size := range []int64{math.MinInt64, -1, 1, 1 << 40, 1 << 62, math.MaxInt64} {
		got, err := readAll(t, o, size)
		require.NoError(t, err, "size %d", size)
		assert.Equal(t, want, got)
	}
}

// varints returns data once for each place where the varint of from stands, with that of to there. Thrift's compact
// protocol writes the numbers of a Parquet file so.
func varints(data []byte, from, to int64) [][]byte {
	old, other := binary.AppendVarint(nil, from), binary.AppendVarint(nil, to)
	var out [][]byte
	for at := 0; ; at++ {
		i := bytes.Index(data[at:], old)
		if i < 0 {
			return out
		}
		at += i
		changed := slices.Concat(data[:at], other, data[at+len(old):])
		if grown := len(other) - len(old); grown != 0 && at > bytes.LastIndex(data, []byte("PAR1"))-1-int(binary.LittleEndian.Uint32(data[len(data)-8:])) {
			binary.LittleEndian.PutUint32(changed[len(changed)-8:], binary.LittleEndian.Uint32(data[len(data)-8:])+uint32(grown))
		}
		out = append(out, changed)
	}
}

// It does not run beside other tests: it measures what is allocated.
func TestFilesThatClaimMoreThanTheyHoldCostNoMemory(t *testing.T) {
	const rows = 1237    // a number that stands in the file only where rows or values are counted
	var records []record // each of a data file of its own, so that the dictionary has as many values
	for i := range int64(rows) {
		records = append(records, rec(fmt.Sprintf("s3://bucket/t/data/%d.parquet", i), i))
	}
	good := encode(t, []column{pathColumn, posColumn}, records, rows, parquet.WithStats(false))
	_, err := readAll(t, &object{data: good}, int64(len(good)))
	require.NoError(t, err)
	pf, err := file.NewParquetReader(bytes.NewReader(good))
	require.NoError(t, err)
	chunk, err := pf.MetaData().RowGroup(0).ColumnChunk(0)
	require.NoError(t, err)
	for _, number := range []int64{rows, chunk.TotalCompressedSize(), chunk.TotalUncompressedSize(), chunk.DataPageOffset()} {
		n := 0
		for _, claim := range []int64{-1, 8000, 1 << 20, math.MaxInt32, 1 << 40, 1 << 60} {
			for _, data := range varints(good, number, claim) {
				n++
				requireCheap(t, data)
			}
		}
		require.NotZero(t, n, "places where %d stands", number)
	}
	footer := slices.Clone(good)
	for _, length := range []uint32{0, 1, uint32(len(good)), math.MaxInt32, math.MaxUint32} {
		binary.LittleEndian.PutUint32(footer[len(footer)-8:], length)
		requireCheap(t, footer)
	}
}

// requireCheap reads a damaged file: an error of it, or what it can be read as, for little memory.
func requireCheap(t *testing.T, data []byte) {
	t.Helper()
	var err error
	used := allocated(func() { _, err = readAll(t, &object{data: data}, int64(len(data))) })
	if err != nil {
		var e *positiondelete.Error
		require.ErrorAs(t, err, &e)
	}
	assert.Less(t, used, uint64(100<<20))
}
