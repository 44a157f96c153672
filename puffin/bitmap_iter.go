package puffin

import "iter"

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
// No two runs touch, and they do not depend on how the set is stored. A run costs about the same however long it is.
func (b *Bitmap) Ranges() iter.Seq2[int64, int64] {
	return func(yield func(int64, int64) bool) {
		first, last := int64(0), int64(-2)
		for i, m := range b.maps {
			base := int64(b.keys[i]) << 32
			for start, end := range m.Ranges() {
				from, to := base|int64(start), base+int64(end)-1
				if from == last+1 {
					last = to
					continue
				}
				if last >= 0 && !yield(first, last) {
					return
				}
				first, last = from, to
			}
		}
		if last >= 0 {
			yield(first, last)
		}
	}
}
