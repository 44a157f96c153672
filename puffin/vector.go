package puffin

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// vector decodes the 64-bit portable Roaring layout (Puffin spec, "deletion-vector-v1"): a count of keys, and for each
// key, ascending, the key and a 32-bit bitmap.
type vector struct {
	bitmap   *Bitmap
	end      int // bytes used
	keys     int
	empty    int // keys whose bitmap is empty
	total    scan
	trailing int // bytes after the last bitmap
}

// decodeVector checks data and builds the set. The set shares no memory with data.
// Nothing is allocated by a number in data: only what the bytes really hold.
func decodeVector(data []byte) (vector, *fault) {
	v := vector{bitmap: NewBitmap()}
	if len(data) < vectorCountSize {
		return v, newFault(KindKeyCount, 0, "key count", "8 bytes", bytesOf(len(data)))
	}
	count := binary.LittleEndian.Uint64(data)
	if possible := uint64(len(data)-vectorCountSize) / minKeySize; count > possible {
		return v, newFault(KindKeyCount, 0, "key count", fmt.Sprintf("at most %d, which fit", possible), count)
	}
	v.end = vectorCountSize
	prev := int64(-1)
	for range count {
		key, f := nextKey(data, v.end, prev)
		if f != nil {
			return v, f
		}
		prev = int64(key)
		if f := v.decodeKey(data, key); f != nil {
			return v, f
		}
	}
	v.trailing = len(data) - v.end
	return v, nil
}

// nextKey reads and checks the key at data[at:].
func nextKey(data []byte, at int, prev int64) (uint32, *fault) {
	if len(data)-at < minKeySize {
		return 0, newFault(KindKeyCount, at, "key count", "another key and bitmap", bytesOf(len(data)-at))
	}
	key := binary.LittleEndian.Uint32(data[at:])
	if int64(key) <= prev {
		return 0, newFault(KindKeyOrder, at, "key", fmt.Sprintf("more than %d", prev), key)
	}
	if key > MaxKey {
		return 0, newFault(KindPosition, at, "key", fmt.Sprintf("at most %#x", MaxKey), fmt.Sprintf("%#x", key))
	}
	return key, nil
}

// decodeKey checks and takes over the bitmap of key at v.end.
func (v *vector) decodeKey(data []byte, key uint32) *fault {
	at := v.end + 4
	var s scan
	n := s.bitmap(data[at:])
	if s.fault != nil {
		s.fault.at += at
		return s.fault
	}
	v.keys++
	v.end = at + n
	if s.cardinality == 0 {
		// Some writers fill the gaps between keys with empty bitmaps.
		v.empty++
		return nil
	}
	if key == MaxKey && s.last > maxLowOfMaxKey {
		return newFault(KindPosition, at, "position", fmt.Sprintf("at most %d", MaxPosition), join(key, s.last))
	}
	m, err := load(data[at:v.end], s.touching)
	if err != nil {
		return newFault(KindRoaring, at, "Roaring bitmap", "", err)
	}
	v.bitmap.insert(len(v.bitmap.keys), key, m)
	v.count(&s)
	return nil
}

// count adds up what one key's scan saw.
func (v *vector) count(s *scan) {
	t := &v.total
	t.cardinality += s.cardinality
	t.arrays += s.arrays
	t.bitsets += s.bitsets
	t.runs += s.runs
	t.touching = t.touching || s.touching
	t.flagsOdd = t.flagsOdd || s.flagsOdd
	t.offsetsOdd = t.offsetsOdd || s.offsetsOdd
	t.cardOdd = t.cardOdd || s.cardOdd
}

// load lets the library alias a copy of a checked bitmap, which it copies piece by piece when written to. Runs that
// touch are merged, as the library expects of its own.
func load(data []byte, touching bool) (*roaring.Bitmap, error) {
	m := roaring.New()
	if _, err := m.FromUnsafeBytes(slices.Clone(data)); err != nil {
		return nil, err
	}
	if !touching {
		return m, nil
	}
	merged := roaring.New()
	for start, end := range m.Ranges() {
		merged.AddRange(uint64(start), end)
	}
	return merged, nil
}

// appendVector appends the 64-bit portable layout of b. No key is empty, so no reader that fills gaps can be fooled.
func appendVector(dst []byte, b *Bitmap) ([]byte, error) {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(b.keys)))
	for i, m := range b.maps {
		dst = binary.LittleEndian.AppendUint32(dst, b.keys[i])
		w := sliceWriter{dst}
		if _, err := m.WriteTo(&w); err != nil {
			return nil, err
		}
		dst = w.buf
	}
	return dst, nil
}

// vectorSize is the length of what appendVector appends.
func vectorSize(b *Bitmap) uint64 {
	size := uint64(vectorCountSize)
	for _, m := range b.maps {
		size += 4 + m.GetSerializedSizeInBytes()
	}
	return size
}

// sliceWriter is an io.Writer that appends.
type sliceWriter struct{ buf []byte }

// Write implements io.Writer; it never fails.
func (w *sliceWriter) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p...)
	return len(p), nil
}
