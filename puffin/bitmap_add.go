package puffin

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// smallBatch is the number of positions below which building containers costs more than adding one by one.
const smallBatch = 192

// Add adds one position. It is for odd jobs; [Bitmap.AddMany] is many times as fast.
func (b *Bitmap) Add(pos int64) error {
	if err := checkPosition(pos); err != nil {
		return err
	}
	b.bitmapOf(uint32(pos >> 32)).Add(uint32(pos))
	return nil
}

// AddRange adds every position from first to last, both included. It refuses a range that is empty, lies outside
// 0 to [MaxPosition] or spans 2^40 positions and more.
func (b *Bitmap) AddRange(first, last int64) error {
	if err := checkPosition(first); err != nil {
		return err
	}
	if err := checkPosition(last); err != nil {
		return err
	}
	if first > last {
		return fmt.Errorf("range %d to %d is empty", first, last)
	}
	if last>>32-first>>32 >= maxRangeKeys {
		return fmt.Errorf("range %d to %d is longer than any data file", first, last)
	}
	for key := first >> 32; key <= last>>32; key++ {
		from := max(first, key<<32) - key<<32
		to := min(last, key<<32|0xffffffff) - key<<32
		b.bitmapOf(uint32(key)).AddRange(uint64(from), uint64(to)+1)
	}
	return nil
}

// AddMany adds positions, in any order and with duplicates; ascending ones are the fast case. positions is only read.
// On an error, which names a position outside 0 to [MaxPosition], nothing was added.
func (b *Bitmap) AddMany(positions []int64) error {
	if len(positions) == 0 {
		return nil
	}
	sorted, unique := order(positions)
	if !sorted {
		positions = slices.Clone(positions)
		slices.Sort(positions)
	}
	if err := checkPosition(positions[0]); err != nil {
		return err
	}
	if err := checkPosition(positions[len(positions)-1]); err != nil {
		return err
	}
	if !unique {
		positions = slices.Compact(slices.Clone(positions))
	}
	for len(positions) > 0 {
		n := countBelow(positions, positions[0]|0xffffffff)
		b.addSorted(positions[:n])
		positions = positions[n:]
	}
	return nil
}

// order reports whether positions ascend, and whether they surely hold no duplicate.
func order(positions []int64) (sorted, unique bool) {
	prev := int64(-1)
	for i, p := range positions {
		if p <= prev {
			return slices.IsSorted(positions[max(i-1, 0):]), false
		}
		prev = p
	}
	return true, true
}

// countBelow is how many leading positions are <= last. It gallops: a container of thousands costs a few steps.
func countBelow(positions []int64, last int64) int {
	if positions[len(positions)-1] <= last {
		return len(positions)
	}
	step := 1
	for step < len(positions) && positions[step] <= last {
		step *= 2
	}
	n, _ := slices.BinarySearch(positions[step/2:min(step+1, len(positions))], last+1)
	return step/2 + n
}

// addSorted adds strictly ascending positions of one key.
func (b *Bitmap) addSorted(positions []int64) {
	key := uint32(positions[0] >> 32)
	if len(positions) <= smallBatch {
		var low [smallBatch]uint32
		for i, p := range positions {
			low[i] = uint32(p)
		}
		b.bitmapOf(key).AddMany(low[:len(positions)])
		return
	}
	// The library adds position by position. Writing the serialised form of the batch and letting the
	// library alias it (it copies on write) takes a fraction of the time.
	batch := roaring.New()
	if _, err := batch.FromUnsafeBytes(serialise(positions)); err != nil {
		// Cannot happen; the slow way is right whatever does.
		m := b.bitmapOf(key)
		for _, p := range positions {
			m.Add(uint32(p))
		}
		return
	}
	b.unite(key, batch)
}

// chunk is the part of a batch that falls into one container.
type chunk struct {
	from, to int // indexes of positions
	high     uint16
	run      bool // one unbroken run
}

// serialise writes strictly ascending positions of one key in the portable 32-bit Roaring format.
func serialise(positions []int64) []byte {
	chunks, runs := split(positions)
	head := 8 + 8*len(chunks)
	if runs {
		head = 4 + (len(chunks)+7)/8 + 4*len(chunks)
		if len(chunks) >= noOffsetThreshold {
			head += 4 * len(chunks)
		}
	}
	size := head
	for _, c := range chunks {
		size += c.size()
	}
	buf := make([]byte, size)
	writeChunkHead(buf, chunks, runs)
	at := head
	for _, c := range chunks {
		c.write(buf[at:at+c.size()], positions[c.from:c.to])
		at += c.size()
	}
	return buf
}

// split cuts positions into containers and reports whether any is a run.
func split(positions []int64) ([]chunk, bool) {
	first, last := positions[0]>>16, positions[len(positions)-1]>>16
	chunks := make([]chunk, 0, min(last-first+1, int64(len(positions))))
	runs := false
	for from := 0; from < len(positions); {
		p := positions[from]
		to := from + countBelow(positions[from:], p|0xffff)
		c := chunk{from: from, to: to, high: uint16(p >> 16), run: to-from > 3 && positions[to-1]-p == int64(to-from-1)}
		runs = runs || c.run
		chunks = append(chunks, c)
		from = to
	}
	return chunks, runs
}

// writeChunkHead writes cookie, run flags, keys with cardinalities and, left at zero, the offsets, which the
// library does not read.
func writeChunkHead(buf []byte, chunks []chunk, runs bool) {
	at := 8
	if runs {
		binary.LittleEndian.PutUint32(buf, uint32(len(chunks)-1)<<16|cookieRuns)
		for i, c := range chunks {
			if c.run {
				buf[4+i/8] |= 1 << (i % 8)
			}
		}
		at = 4 + (len(chunks)+7)/8
	} else {
		binary.LittleEndian.PutUint32(buf, cookieNoRuns)
		binary.LittleEndian.PutUint32(buf[4:], uint32(len(chunks)))
	}
	for _, c := range chunks {
		binary.LittleEndian.PutUint16(buf[at:], c.high)
		binary.LittleEndian.PutUint16(buf[at+2:], uint16(c.to-c.from-1))
		at += 4
	}
}

// size is that of the container, in bytes.
func (c chunk) size() int {
	switch n := c.to - c.from; {
	case c.run:
		return 2 + 4
	case n > maxArray:
		return bitsetSize
	default:
		return 2 * n
	}
}

// write fills buf with the container of positions.
func (c chunk) write(buf []byte, positions []int64) {
	switch {
	case c.run:
		binary.LittleEndian.PutUint16(buf, 1)
		binary.LittleEndian.PutUint16(buf[2:], uint16(positions[0]))
		binary.LittleEndian.PutUint16(buf[4:], uint16(len(positions)-1))
	case len(positions) > maxArray:
		writeBitset(buf, positions)
	default:
		for i, p := range positions {
			binary.LittleEndian.PutUint16(buf[2*i:], uint16(p))
		}
	}
}

// writeBitset has no branch to mispredict, as one on the change of word would be.
func writeBitset(buf []byte, positions []int64) {
	words := buf[:bitsetSize]
	for _, p := range positions {
		low := uint16(p)
		word := words[8*(low>>6):][:8]
		binary.LittleEndian.PutUint64(word, binary.LittleEndian.Uint64(word)|1<<(low&63))
	}
}
