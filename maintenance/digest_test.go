package maintenance

import (
	"testing"

	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func bitmap(t testing.TB, runs ...[2]int64) *puffin.Bitmap {
	b := puffin.NewBitmap()
	for _, r := range runs {
		require.NoError(t, b.AddRange(r[0], r[1]))
	}
	return b
}

func TestDigestDependsOnPositionsOnly(t *testing.T) {
	t.Parallel()
	a := bitmap(t, [2]int64{5, 70000}, [2]int64{1 << 33, 1<<33 + 9})
	b := puffin.NewBitmap()
	for p := range a.Positions() {
		require.NoError(t, b.Add(p))
	}
	before := digest(b)
	b.RunOptimize()
	assert.Equal(t, before, digest(b))
	assert.Equal(t, before, digest(a))
}

func TestDigestEncoding(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		runs [][2]int64
		want string
	}{
		// sha256 of the bytes in the comment, computed with another program
		"nothing":              {nil, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},                              // (empty)
		"position 0":           {[][2]int64{{0, 0}}, "06b33b225f9867a9f16c972edabdc04a8b7276131357842ee7ff74e5ab98658e"},               // 00000000 01 01 00
		"a run and a far one":  {[][2]int64{{3, 4}, {300, 300}}, "3441393fdb5840407734a3d706eaa57a9c513d12432db94adf84d15bbccb90a7"},   // 00000000 04 02 a802 01 00
		"a run across the key": {[][2]int64{{1<<32 - 1, 1 << 32}}, "699aedc161dbd6971654424ac5964e7f648050d428ae97c77530a1400d0e78bc"}, // 00000000 8080808010 01 00 01000000 01 01 00
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, digest(bitmap(t, c.runs...)).String())
		})
	}
}

func TestDigestTellsSetsApart(t *testing.T) {
	t.Parallel()
	seen := map[Digest]string{}
	for name, b := range map[string]*puffin.Bitmap{
		"empty": bitmap(t), "0": bitmap(t, [2]int64{0, 0}), "1": bitmap(t, [2]int64{1, 1}), "0-1": bitmap(t, [2]int64{0, 1}),
		"0 in key 1": bitmap(t, [2]int64{1 << 32, 1 << 32}), "0 in both": bitmap(t, [2]int64{0, 0}, [2]int64{1 << 32, 1 << 32}),
		"end of key 0": bitmap(t, [2]int64{1<<32 - 1, 1<<32 - 1}), "across": bitmap(t, [2]int64{1<<32 - 1, 1 << 32}),
	} {
		d := digest(b)
		assert.Empty(t, seen[d], "%s", name)
		seen[d] = name
	}
}

func BenchmarkDigest(b *testing.B) {
	bm := puffin.NewBitmap()
	positions := make([]int64, 0, 100_000)
	for i := int64(0); i < 100_000; i++ {
		positions = append(positions, i*97+i%13)
	}
	require.NoError(b, bm.AddMany(positions))
	for b.Loop() {
		digest(bm)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e5, "ns/position")
}
