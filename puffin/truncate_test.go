package puffin

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTruncateKeepsThePositionsOfSoManyRows(t *testing.T) {
	t.Parallel()
	all := []int64{0, 5, 99, 100, 1<<32 + 7, MaxPosition}
	for rows, want := range map[int64][]int64{
		-1: nil, 0: nil, 1: {0}, 99: {0, 5}, 100: {0, 5, 99}, 101: {0, 5, 99, 100}, MaxPosition: all[:5], MaxPosition + 1: all,
	} {
		b := NewBitmap()
		require.NoError(t, b.AddMany(all))
		b.Truncate(rows)
		assert.Equal(t, want, append([]int64(nil), b.ToSlice()...), rows)
	}
}
