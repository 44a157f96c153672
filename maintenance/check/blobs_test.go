package check_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// with is a table whose data file 0 has a deletion vector of the positions 1, 2 and 4294967300, whose bytes are changed.
func with(edit func([]byte) []byte) func(*testing.T) *lab {
	return v3wide(func(l *lab) []iceberg.DataFile {
		p := l.vector(0, 1, 2, 4294967300)
		p.blob = edit(p.blob)
		return l.put(container{parts: []part{p}})
	})
}

// v3wide is v3 with data files of many rows.
func v3wide(add func(l *lab) []iceberg.DataFile) func(*testing.T) *lab {
	return func(t *testing.T) *lab {
		l := &lab{t: t, Lake: forge.New(t, forge.Options{Version: 3})}
		l.data = []iceberg.DataFile{l.DataFile("", 0, nil, 1<<40), l.DataFile("", 0, nil, 1<<40)}
		l.add(l.data...)
		l.add(add(l)...)
		return l
	}
}

// flipped changes a byte, counted from the end where negative.
func flipped(at int) func([]byte) []byte {
	return func(b []byte) []byte {
		if at < 0 {
			at += len(b)
		}
		b[at] ^= 1
		return b
	}
}

// body changes the vector of a blob, which then gets the right length and checksum.
func body(edit func(vector []byte) []byte) func([]byte) []byte {
	return func(b []byte) []byte {
		vector := edit(append([]byte{}, b[8:len(b)-4]...))
		return resign(append(append(append([]byte{}, b[:8]...), vector...), 0, 0, 0, 0))
	}
}

// swapped puts the two keys of the vector into the wrong order. Both bitmaps are found by where the second key is.
func swapped(v []byte) []byte {
	second := 8
	for at := 12; at < len(v)-4; at++ {
		if binary.LittleEndian.Uint32(v[at:]) == 1 && binary.LittleEndian.Uint32(v[at+4:])&0xffff>>1 == 12346>>1 {
			second = at
			break
		}
	}
	out := append(append([]byte{}, v[:8]...), v[second:]...)
	return append(out, v[8:second]...)
}

func TestFaultsOfTheBytesOfDeletionVectors(t *testing.T) {
	t.Parallel()
	complement := func(b []byte) []byte {
		for i := len(b) - 4; i < len(b); i++ {
			b[i] = ^b[i]
		}
		return b
	}
	treat(t, everything(), []wound{
		{"healthy", nil, with(func(b []byte) []byte { return b })},
		{"the length is wrong", []string{"dv-corrupt"}, with(flipped(3))},
		{"the magic is wrong", []string{"dv-corrupt"}, with(flipped(4))},
		{"a position is changed", []string{"dv-corrupt"}, with(flipped(-6))},
		{"the checksum is wrong", []string{"dv-corrupt"}, with(flipped(-1))},
		{"the checksum is the complement", []string{"dv-crc-complement"}, with(complement)},
		{"the checksum is nearly the complement", []string{"dv-corrupt"}, with(func(b []byte) []byte { return flipped(-2)(complement(b)) })},
		{"the complement of a vector that was cut", []string{"dv-corrupt"}, with(func(b []byte) []byte {
			return complement(body(func(v []byte) []byte { return v[:len(v)-1] })(b))
		})},
		{"cut, with a new checksum", []string{"dv-corrupt"}, with(body(func(v []byte) []byte { return v[:len(v)-1] }))},
		{"bytes follow, with a new checksum", []string{"dv-trailing-bytes"}, with(body(func(v []byte) []byte { return append(v, 0, 0) }))},
		{"keys do not ascend", []string{"dv-key-order"}, with(body(swapped))},
		{"a key too few is counted", []string{"dv-key-order"}, with(body(func(v []byte) []byte { v[0]--; return v }))},
		{"a key too many is counted", []string{"dv-corrupt"}, with(body(func(v []byte) []byte { v[0]++; return v }))},
		{"a key beyond the format", []string{"position-out-of-range"}, with(body(func(v []byte) []byte {
			at := len(swapped(v)) // the second key comes last
			for i := 12; i < at-4; i++ {
				if binary.LittleEndian.Uint32(v[i:]) == 1 && binary.LittleEndian.Uint32(v[i+4:])&0xffff>>1 == 12346>>1 {
					binary.LittleEndian.PutUint32(v[i:], 0x7fffffff)
					break
				}
			}
			return v
		}))},
		{"the object ends before it", []string{"dv-corrupt"}, v3wide(func(l *lab) []iceberg.DataFile {
			p := l.vector(0, 1)
			l.Put(l.At+"/data/short", p.blob[:20])
			return []iceberg.DataFile{l.entry(0, l.At+"/data/short", 20, 0, p).Build()}
		})},
		{"the damaged one of two", []string{"dv-corrupt"}, v3wide(func(l *lab) []iceberg.DataFile {
			p := []part{l.vector(0, 1), l.vector(1, 2)}
			p[1].blob = flipped(-6)(p[1].blob)
			return l.put(container{parts: p})
		})},
		{"the record count is another", []string{"dv-cardinality"}, v3wide(func(l *lab) []iceberg.DataFile {
			p := l.vector(0, 1)
			p.n = 2
			return l.put(container{parts: []part{p}})
		})},
		{"the last row", nil, v3(func(l *lab) []iceberg.DataFile { return one(l, rows-1) })},
		{"the row after the last", []string{"position-out-of-range"}, v3(func(l *lab) []iceberg.DataFile { return one(l, 1, rows) })},
	})
}

func TestAMiscountOfTheSmallestBitmapIsForAnOperator(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		record, footer int64
		repair         check.Repair
	}{
		"fewer positions than both say":        {3, 3, check.Ask},
		"more positions than the record count": {1, 2, check.Fix},
		"as many as the footer says":           {3, 2, check.Fix},
		"only the footer is wrong":             {2, 3, check.Fix},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 3)
			p := l.vector(0, 1, 2)
			p.n = c.footer
			location, size, at := l.puffin(container{parts: []part{p}})
			p.n = c.record
			l.add(l.entry(0, location, size, at[0], p).Build())
			r := l.check(everything())
			require.Equal(t, []string{"dv-cardinality"}, issues(r), "%+v", r.Findings)
			assert.Equal(t, c.repair, r.Findings[0].Repair)
			assert.Equal(t, c.record != 2, slices.Contains(r.Findings[0].Engines.Fail, "Java"), "Java never reads the footer")
		})
	}
}

func TestDuplicatesAreSafeToUniteWhenOneHoldsAllOrOneJobWroteThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b     []int64
		together bool
		repair   check.Repair
	}{
		"disjoint":                 {[]int64{1}, []int64{2}, false, check.Fix},
		"overlapping":              {[]int64{1, 2}, []int64{2, 3}, false, check.Fix},
		"one holds the other":      {[]int64{1}, []int64{1, 2}, false, check.Safe},
		"disjoint, of one job":     {[]int64{1}, []int64{2}, true, check.Safe},
		"equal in different files": {[]int64{1}, []int64{1}, false, check.Safe},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 3)
			a, b := one(l, c.a...), one(l, c.b...)
			if c.together {
				l.add(a[0], b[0])
			} else {
				l.add(a...)
				l.add(b...)
			}
			r := l.check(everything())
			require.Equal(t, []string{"dv-duplicate"}, issues(r), "%+v", r.Findings)
			assert.Equal(t, c.repair, r.Findings[0].Repair)
		})
	}
}

func TestOnePartOfTheDataFilesIsReadAndAllPartsCoverAll(t *testing.T) {
	t.Parallel()
	l := &lab{t: t, Lake: forge.New(t, forge.Options{Version: 3})}
	var parts []part
	const n = 40
	for i := range n {
		l.data = append(l.data, l.DataFile("", 0, nil, rows))
		p := l.vector(i, int64(i))
		p.blob = flipped(-6)(p.blob)
		parts = append(parts, p)
	}
	l.add(l.data...)
	l.add(l.put(container{parts: parts})...)
	seen := map[string]int{}
	for i := range uint64(3) {
		o := everything()
		o.Subset = check.Subset{Index: i + 1, Of: 3}
		r := l.check(o)
		assert.Positive(t, r.Checked.DeletionVectors)
		assert.Less(t, r.Checked.DeletionVectors, int64(n))
		for _, f := range r.Findings {
			seen[f.DataFile]++
		}
	}
	assert.Len(t, seen, n)
	for path, times := range seen {
		assert.Equal(t, 1, times, path)
	}
}

func TestParseSubset(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]check.Subset{"1/7": {Index: 1, Of: 7}, "7/7": {Index: 7, Of: 7}, "100%": {Of: 1}, "10%": {Of: 10}, "2.5%": {Of: 40}, "30%": {Of: 3}} {
		got, err := check.ParseSubset(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "0/7", "8/7", "1/0", "7", "-1/7", "1/7/7", "0%", "101%", "x%", "%", "NaN%", "1.5/2"} {
		_, err := check.ParseSubset(text)
		assert.ErrorIs(t, err, check.ErrOptions, text)
	}
}

func TestDamagedVectorsKeepWhatTheyWereFoundBy(t *testing.T) {
	t.Parallel()
	l := with(flipped(-1))(t)
	f := l.check(everything()).Findings[0]
	assert.Equal(t, l.path(0), f.DataFile)
	assert.EqualValues(t, len(puffin.Magic), *f.Offset)
	assert.EqualValues(t, 3, *f.Rows)
	assert.Regexp(t, "^0x[0-9a-f]{8}$", f.Expected)
	assert.Equal(t, "a writer 1.0", f.Writer)
	assert.Contains(t, f.Engines.Fail, "Java")
	assert.Contains(t, f.Engines.Wrong, "PyIceberg")
	assert.Contains(t, f.Hint, fmt.Sprintf("dvcompactor inspect -c FILE --offset 4 --length %d s3://lake/t/data/p001.puffin", *f.Length))
}
