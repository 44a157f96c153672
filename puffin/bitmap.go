package puffin

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// maxRangeKeys bounds how many 32-bit bitmaps one AddRange may touch: 2^40 positions, more rows than a data file has.
const maxRangeKeys = 256

// Bitmap is a set of row positions of one data file, from 0 to [MaxPosition]: the content of a deletion vector
// (Puffin spec, "deletion-vector-v1"). It is a list, sorted by key, of the upper 32 bits of positions and a
// Roaring bitmap of their lower 32 bits. No key has an empty bitmap, so memory follows the positions and not their size.
//
// A Bitmap must not be copied. Reads may run concurrently with each other, but with no write;
// [Bitmap.RunOptimize] and [EncodeDeletionVector] count as writes.
type Bitmap struct {
	keys []uint32
	maps []*roaring.Bitmap
}

// NewBitmap makes an empty set.
func NewBitmap() *Bitmap { return &Bitmap{} }

// find gives the index of key, or where it belongs.
func (b *Bitmap) find(key uint32) (int, bool) {
	// Positions mostly arrive ascending, so the last key is the likely one.
	if n := len(b.keys); n > 0 && b.keys[n-1] <= key {
		if b.keys[n-1] == key {
			return n - 1, true
		}
		return n, false
	}
	return slices.BinarySearch(b.keys, key)
}

// insert puts a bitmap at index i, where find said that key belongs.
func (b *Bitmap) insert(i int, key uint32, m *roaring.Bitmap) {
	b.keys = slices.Insert(b.keys, i, key)
	b.maps = slices.Insert(b.maps, i, m)
}

// unite adds a bitmap, which b may keep, under key.
func (b *Bitmap) unite(key uint32, m *roaring.Bitmap) {
	if i, ok := b.find(key); ok {
		b.maps[i].Or(m)
	} else {
		b.insert(i, key, m)
	}
}

// bitmapOf gives the bitmap of key, made if need be.
func (b *Bitmap) bitmapOf(key uint32) *roaring.Bitmap {
	i, ok := b.find(key)
	if !ok {
		b.insert(i, key, roaring.New())
	}
	return b.maps[i]
}

func checkPosition(pos int64) error {
	if pos < 0 || pos > MaxPosition {
		return fmt.Errorf("position %d is outside 0 to %d", pos, MaxPosition)
	}
	return nil
}

// Contains reports whether pos is in the set; false for a position that cannot be in one.
func (b *Bitmap) Contains(pos int64) bool {
	if checkPosition(pos) != nil {
		return false
	}
	i, ok := b.find(uint32(pos >> 32))
	return ok && b.maps[i].Contains(uint32(pos))
}

// Or adds every position of other to b. other keeps its contents.
func (b *Bitmap) Or(other *Bitmap) {
	if b == other {
		return
	}
	for i, key := range other.keys {
		if at, ok := b.find(key); ok {
			b.maps[at].Or(other.maps[i])
		} else {
			b.insert(at, key, other.maps[i].Clone())
		}
	}
}

// Truncate removes every position from a number of rows on, which a data file with so many rows does not have.
func (b *Bitmap) Truncate(rows int64) {
	const keyRange = 1 << 32
	rows = max(rows, 0)
	end, found := slices.BinarySearchFunc(b.keys, rows/keyRange, func(key uint32, at int64) int { return cmp.Compare(int64(key), at) })
	if found {
		b.maps[end].RemoveRange(uint64(rows%keyRange), keyRange)
		if !b.maps[end].IsEmpty() {
			end++
		}
	}
	clear(b.maps[end:])
	b.keys, b.maps = b.keys[:end], b.maps[:end]
}

// AndNot removes every position of other from b. other keeps its contents.
func (b *Bitmap) AndNot(other *Bitmap) {
	if b == other {
		b.keys, b.maps = nil, nil
		return
	}
	kept := 0
	for i, key := range b.keys {
		if at, ok := other.find(key); ok {
			b.maps[i].AndNot(other.maps[at])
		}
		if !b.maps[i].IsEmpty() {
			b.keys[kept], b.maps[kept] = key, b.maps[i]
			kept++
		}
	}
	clear(b.maps[kept:])
	b.keys, b.maps = b.keys[:kept], b.maps[:kept]
}

// Cardinality is the number of positions.
func (b *Bitmap) Cardinality() int64 {
	var n uint64
	for _, m := range b.maps {
		n += m.GetCardinality()
	}
	return int64(n)
}

// IsEmpty reports whether there is no position.
func (b *Bitmap) IsEmpty() bool { return len(b.keys) == 0 }

// Equal reports whether both hold the same positions, however they are stored.
func (b *Bitmap) Equal(other *Bitmap) bool {
	if !slices.Equal(b.keys, other.keys) {
		return false
	}
	for i, m := range b.maps {
		if !m.Equals(other.maps[i]) {
			return false
		}
	}
	return true
}

// IsSubsetOf reports whether every position of b is in other.
func (b *Bitmap) IsSubsetOf(other *Bitmap) bool {
	for i, key := range b.keys {
		at, ok := other.find(key)
		if !ok || b.maps[i].AndCardinality(other.maps[at]) != b.maps[i].GetCardinality() {
			return false
		}
	}
	return true
}

// Max is the largest position; false when the set is empty.
func (b *Bitmap) Max() (int64, bool) {
	if b.IsEmpty() {
		return 0, false
	}
	last := len(b.keys) - 1
	return join(b.keys[last], b.maps[last].Maximum()), true
}

// RunOptimize stores each 65,536 positions in the smallest of the three container kinds. The set stays the same.
func (b *Bitmap) RunOptimize() {
	for _, m := range b.maps {
		m.RunOptimize()
	}
}

// SizeInBytes is about the memory the set takes, in bytes.
func (b *Bitmap) SizeInBytes() uint64 {
	size := uint64(64)
	for _, m := range b.maps {
		size += 32 + m.GetSizeInBytes()
	}
	return size
}

// Clone makes a set of the same positions that shares nothing with b.
func (b *Bitmap) Clone() *Bitmap {
	c := &Bitmap{keys: slices.Clone(b.keys), maps: make([]*roaring.Bitmap, len(b.maps))}
	for i, m := range b.maps {
		c.maps[i] = m.Clone()
	}
	return c
}

// join makes a position of its upper and lower half.
func join(key, low uint32) int64 { return int64(key)<<32 | int64(low) }
