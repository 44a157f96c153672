package positiondelete_test

import (
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readWithoutNulls collects what Read visits when nulls are to be left out, and how many it left out.
func readWithoutNulls(t *testing.T, records []record) (got map[string][]int64, nulls int64) {
	o := &object{data: encode(t, []column{pathColumn, posColumn}, records, len(records))}
	got = map[string][]int64{}
	f := positiondelete.File{Location: "d", Source: o, Size: int64(len(o.data)), Nulls: func(n int64) { nulls += n }}
	require.NoError(t, positiondelete.Read(t.Context(), f, func(path []byte, positions []int64) error {
		got[string(path)] = append(got[string(path)], positions...)
		return nil
	}))
	return got, nulls
}

func TestRecordsWithNullsAreLeftOutAndCountedOnRequest(t *testing.T) {
	t.Parallel()
	a, b, three := "a", "b", int64(3)
	for name, c := range map[string]struct {
		records []record
		want    map[string][]int64
		nulls   int64
	}{
		"none":                     {[]record{rec(a, 1), rec(b, 2)}, map[string][]int64{a: {1}, b: {2}}, 0},
		"a null path":              {[]record{rec(a, 1), {nil, &three}, rec(b, 2)}, map[string][]int64{a: {1}, b: {2}}, 1},
		"a null position":          {[]record{rec(a, 1), {&a, nil}, rec(a, 2)}, map[string][]int64{a: {1, 2}}, 1},
		"both null in one record":  {[]record{{nil, nil}, rec(a, 1)}, map[string][]int64{a: {1}}, 1},
		"each null in its own":     {[]record{{&a, nil}, {nil, &three}, rec(a, 1)}, map[string][]int64{a: {1}}, 2},
		"at both ends":             {[]record{{&a, nil}, rec(a, 1), {nil, &three}}, map[string][]int64{a: {1}}, 2},
		"nothing but null paths":   {[]record{{nil, &three}, {nil, &three}}, map[string][]int64{}, 2},
		"a path without positions": {[]record{{&a, nil}, {&a, nil}, rec(b, 0)}, map[string][]int64{b: {0}}, 2},
	} {
		got, nulls := readWithoutNulls(t, c.records)
		assert.Equal(t, c.want, got, name)
		assert.Equal(t, c.nulls, nulls, name)
	}
}

func TestNullsOfALargeFileAreAllCounted(t *testing.T) {
	t.Parallel()
	var records []record
	var want []int64
	for i := range int64(200_000) {
		if i%50_000 == 49_999 {
			path := "a"
			records = append(records, record{&path, nil})
			continue
		}
		records = append(records, rec("a", i))
		want = append(want, i)
	}
	got, nulls := readWithoutNulls(t, records)
	assert.Equal(t, want, got["a"])
	assert.EqualValues(t, 4, nulls)
}
