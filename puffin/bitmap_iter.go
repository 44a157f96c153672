package puffin

import (
	"encoding/binary"
	"iter"
	"math/bits"
)

// Positions yields every position in ascending order.
func (b *Bitmap) Positions() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		var buf [512]uint32
		for i, m := range b.maps {
			it := m.ManyIterator()
			for n := it.NextMany(buf[:]); n > 0; n = it.NextMany(buf[:]) {
				for _, low := range buf[:n] {
					if !yield(join(b.keys[i], low)) {
						return
					}
				}
			}
		}
	}
}

// ToSlice gives every position in ascending order: 8 bytes each, whatever the set takes itself.
func (b *Bitmap) ToSlice() []int64 {
	positions := make([]int64, 0, b.Cardinality())
	var buf [512]uint32
	for i, m := range b.maps {
		it := m.ManyIterator()
		for n := it.NextMany(buf[:]); n > 0; n = it.NextMany(buf[:]) {
			for _, low := range buf[:n] {
				positions = append(positions, join(b.keys[i], low))
			}
		}
	}
	return positions
}

// Ranges yields the runs of adjacent positions in ascending order, as first and last position, both included.
// No two runs touch, and they do not depend on how the set is stored. A run costs the same however long it is. It
// takes a serialised copy of one key's bitmap at a time; the set must not change meanwhile.
func (b *Bitmap) Ranges() iter.Seq2[int64, int64] {
	return func(yield func(int64, int64) bool) {
		r := runs{last: -2, yield: yield}
		var buf []byte
		for i, m := range b.maps {
			w := sliceWriter{grow(buf[:0], int(m.GetSerializedSizeInBytes()))}
			if _, err := m.WriteTo(&w); err != nil {
				return // a sliceWriter has no errors
			}
			buf = w.buf
			if !r.bitmap(buf, int64(b.keys[i])<<32) {
				return
			}
		}
		if r.last >= 0 {
			yield(r.first, r.last)
		}
	}
}

// runs joins runs that touch and yields them. Walking over the serialised form costs a fraction of what
// the library's own iterators do, because nothing but yield is called through a pointer.
type runs struct {
	first, last int64
	yield       func(int64, int64) bool
}

// add takes the next run, which begins above last.
func (r *runs) add(from, to int64) bool {
	if from == r.last+1 {
		r.last = to
		return true
	}
	ok := r.last < 0 || r.yield(r.first, r.last)
	r.first, r.last = from, to
	return ok
}

// bitmap takes a bitmap that the library serialised. base is its key, shifted.
func (r *runs) bitmap(data []byte, base int64) bool {
	var s scan
	h, ok := s.header(data)
	if !ok {
		return false
	}
	at := h.end
	for i := range h.count {
		high := base | int64(binary.LittleEndian.Uint16(data[h.keys+4*i:]))<<16
		card := int(binary.LittleEndian.Uint16(data[h.keys+4*i+2:])) + 1
		switch {
		case h.isRun(data, i):
			n := 4 * int(binary.LittleEndian.Uint16(data[at:]))
			ok = r.intervals(data[at+2:at+2+n], high)
			at += 2 + n
		case card > maxArray:
			ok = r.bitset(data[at:at+bitsetSize], high)
			at += bitsetSize
		default:
			ok = r.array(data[at:at+2*card], high)
			at += 2 * card
		}
		if !ok {
			return false
		}
	}
	return true
}

func (r *runs) intervals(data []byte, high int64) bool {
	for ; len(data) >= 4; data = data[4:] {
		from := high | int64(binary.LittleEndian.Uint16(data))
		if !r.add(from, from+int64(binary.LittleEndian.Uint16(data[2:]))) {
			return false
		}
	}
	return true
}

func (r *runs) array(data []byte, high int64) bool {
	for ; len(data) >= 2; data = data[2:] {
		p := high | int64(binary.LittleEndian.Uint16(data))
		if p == r.last+1 {
			r.last = p
			continue
		}
		if r.last >= 0 && !r.yield(r.first, r.last) {
			r.last = p
			return false
		}
		r.first, r.last = p, p
	}
	return true
}

// bitset takes the ones of each word run by run.
func (r *runs) bitset(data []byte, high int64) bool {
	for base := high; len(data) >= 8; data, base = data[8:], base+64 {
		w := binary.LittleEndian.Uint64(data)
		for w != 0 {
			start := bits.TrailingZeros64(w)
			n := bits.TrailingZeros64(^(w >> start))
			from := base + int64(start)
			if !r.add(from, from+int64(n)-1) {
				return false
			}
			if start+n >= 64 {
				break
			}
			w &= ^uint64(0) << (start + n)
		}
	}
	return true
}
