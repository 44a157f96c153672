package damage

import (
	"encoding/binary"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
)

// blobFaults are about the bytes of deletion vectors.
func blobFaults() []fault {
	corrupt := func(name string, in []shape, blob func([]byte) []byte) fault {
		return fault{name: name, issue: "dv-corrupt", class: ask, level: vectors, in: in, make: losing(hurt{blob: blob})}
	}
	return []fault{
		corrupt("zeros", vectorShapes(), zeros),
		corrupt("a vector that was cut", aloneShapes(), func(b []byte) []byte { return b[:len(b)-6] }),
		corrupt("a changed position", vectorShapes(), func(b []byte) []byte { b[len(b)-crcSize-2] ^= 0x10; return b }),
		{name: "zeros, while an ancestor has an older vector", issue: "dv-corrupt", class: ask, level: vectors, in: vectorShapes(), make: func(l *lab) {
			fromAncestor(l, l.shape.positions[:2]...)
		}},
		{name: "zeros, while an ancestor has a copy", issue: "dv-corrupt", class: ask, level: vectors, in: vectorShapes(), make: func(l *lab) {
			fromAncestor(l, l.shape.positions...)
		}},
		{name: "zeros, while an ancestor deleted more rows", issue: "dv-corrupt", class: ask, level: vectors, in: aloneShapes(), make: func(l *lab) {
			fromAncestor(l, append([]int64{60, 61}, l.shape.positions...)...)
			l.right[l.path(0)] = l.shape.positions
			l.restore = 0
			l.lose(0, l.readable()...)
		}},
		{name: "zeros, while an ancestor has the position delete file that it came from", issue: "dv-corrupt", class: ask, level: vectors, in: oldShapes(), make: func(l *lab) {
			d := l.bounded()
			l.commit(d)
			l.upgrade()
			l.replace([]iceberg.DataFile{d}, l.vector(hurt{blob: zeros}, l.shape.positions...)...)
		}},
		{name: "a right vector", issue: "dv-crc-complement", class: fix, level: vectors, in: vectorShapes(), make: hurting(hurt{blob: complemented})},
		{name: "keys that do not ascend", issue: "dv-key-order", class: fix, level: vectors, in: manyKeys(), make: keysHurt(func(keys []keyed) []byte {
			slices.Reverse(keys)
			return frame(keys, len(keys))
		})},
		{name: "a key that comes twice", issue: "dv-key-order", class: fix, level: vectors, in: manyKeys(), make: keysHurt(func(keys []keyed) []byte {
			first, rest := keys[0], keys[0]
			first.lows, rest.lows = first.lows[:1], rest.lows[1:]
			return frame(append([]keyed{first, rest}, keys[1:]...), len(keys)+1)
		})},
		{name: "a key too few counted", issue: "dv-key-order", class: fix, level: vectors, in: manyKeys(), make: keysHurt(func(keys []keyed) []byte {
			return frame(keys, len(keys)-1)
		})},
		{name: "a vector", issue: "dv-trailing-bytes", class: safe, level: vectors, in: vectorShapes(), make: func(l *lab) {
			hurting(hurt{blob: func([]byte) []byte { return trailing(l) }})(l)
		}},
	}
}

func zeros(b []byte) []byte { return make([]byte, len(b)) }

// fromAncestor replaces a vector of some positions by one of all whose bytes are gone.
func fromAncestor(l *lab, positions ...int64) {
	old := l.put(forge.Puffin{Parts: []forge.Part{l.part(0, positions...)}}, nil)
	l.commit(old...)
	l.replace(old, l.vector(hurt{blob: zeros}, l.shape.positions...)...)
	l.lose(0, positions...)
}

// manyKeys are shapes with positions of several keys.
func manyKeys() []shape {
	return with(vectorShapes(), func(s *shape) {
		s.rows, s.positions = 1<<40, []int64{1, 2, 1<<32 + 4, 1<<40 - 1}
	})
}

// keysHurt is a vector of the positions of the shape that a function encodes.
func keysHurt(encode func([]keyed) []byte) func(*lab) {
	return func(l *lab) {
		hurting(hurt{blob: func([]byte) []byte { return encode(split(l.shape.positions)) }})(l)
	}
}

// trailing is a sound vector with bytes after the last bitmap, inside its frame.
func trailing(l *lab) []byte {
	keys := split(l.shape.positions)
	return frame(keys, len(keys), 0, 0)
}

// complemented stores the one's complement of the checksum.
func complemented(b []byte) []byte {
	sum := b[len(b)-crcSize:]
	binary.BigEndian.PutUint32(sum, ^binary.BigEndian.Uint32(sum))
	return b
}

// countFaults are about how many positions a vector has.
func countFaults() []fault {
	recount := func(by int64) func(*lab, *entry) { return func(_ *lab, e *entry) { e.records += by } }
	counted := func(name, class, level string, h hurt, lost int64) fault {
		return fault{name: name, issue: "dv-cardinality", class: class, level: level, in: vectorShapes(), make: func(l *lab) {
			hurting(h)(l)
			l.restore = lost
		}}
	}
	return []fault{
		counted("a record count that is too large", fix, footers, hurt{entry: recount(1)}, 0),
		counted("a record count that is too small", fix, footers, hurt{entry: recount(-1)}, 0),
		counted("a footer that says too many", fix, footers, hurt{count: 2, entry: recount(-2)}, 0),
		counted("fewer positions than record count and footer say", ask, vectors, hurt{count: 2}, 2),
	}
}

// positionFaults are positions that no row has.
func positionFaults() []fault {
	real := func(s *shape) { s.objects, s.rows, s.positions = true, rowsOf, nil }
	beyond := func(positions ...int64) func(*lab) {
		return func(l *lab) {
			l.deleting(l.deletes(l.records(0, append(slices.Clone(l.shape.positions), positions...)...)...).Build())
			if l.dataFile = ""; positions[0] >= rowsOf && positions[0] < 1<<40 {
				l.dataFile = l.path(0)
			}
		}
	}
	return []fault{
		{name: "a vector with rows beyond the last", issue: "position-out-of-range", class: safe, level: vectors, in: with(vectorShapes(), real), make: func(l *lab) {
			l.commit(l.vector(hurt{}, append(slices.Clone(l.shape.positions), rowsOf, rowsOf+7)...)...)
			l.right[l.path(0)] = l.shape.positions
		}},
		{name: "a vector with a key beyond the format", issue: "position-out-of-range", class: safe, level: vectors, in: with(vectorShapes(), real), make: func(l *lab) {
			hurting(hurt{count: 1, blob: func([]byte) []byte {
				keys := append(split(l.shape.positions), keyed{key: 1<<31 - 1, lows: []uint16{5}})
				return frame(keys, len(keys))
			}})(l)
		}},
		{name: "records beyond the last row", issue: "position-out-of-range", class: safe, level: vectors, in: with(bothShapes(), real), make: beyond(rowsOf, rowsOf+7)},
		{name: "a negative position", issue: "position-out-of-range", class: safe, level: vectors, in: with(bothShapes(), real), make: beyond(-1)},
		{name: "a position that no vector holds", issue: "position-out-of-range", class: safe, level: vectors, in: with(bothShapes(), real), make: beyond(1<<63 - 1)},
	}
}

// doubleFaults are two faults of one data file.
func doubleFaults() []fault {
	return []fault{
		{name: "another partition", issue: "dv-sequence", also: []string{"dv-partition"}, class: fix, level: metadata, in: partShapes(), make: func(l *lab) {
			l.late(l.vector(hurt{entry: func(_ *lab, e *entry) { e.tuple = region(9) }}, l.shape.positions...))
		}},
		{name: "another size of the file", issue: "dv-bare-blob", also: []string{"file-size"}, class: safe, level: footers, in: aloneShapes(), make: hurting(hurt{
			file: forge.Puffin{Bare: true}, entry: func(_ *lab, e *entry) { e.size += 9 }})},
		{name: "another number in the footer", issue: "dv-reference-stale", also: []string{"dv-cardinality"}, class: safe, level: footers, in: vectorShapes(), make: func(l *lab) {
			hurting(hurt{count: 1, entry: func(_ *lab, e *entry) { e.records-- }, said: property("referenced-data-file", "s3a"+l.path(0)[2:])})(l)
		}},
		{name: "zeros in one of two vectors", issue: "dv-duplicate", also: []string{"dv-corrupt"}, class: fix, level: metadata, in: vectorShapes(), make: func(l *lab) {
			hurting(hurt{blob: zeros})(l)
			l.lose(0, l.readable()...)
			l.also(l.another(60))
		}},
		{name: "the range of another data file, which lacks a position of version 2", issue: "dv-misbound", also: []string{"dv-incomplete"}, class: fix, level: footers, in: vectorShapes()[3:], make: func(l *lab) {
			misbound(l, true)
		}},
		{name: "a sort order and another number", issue: "entry-extras", also: []string{"dv-crc-complement"}, class: safe, level: metadata, in: vectorShapes(), make: func(l *lab) {
			hurting(hurt{blob: complemented, entry: func(_ *lab, e *entry) { e.sortOrder = ptr(3) }})(l)
			l.dataFile = ""
		}},
		{name: "a wrong offset below a header that says data", issue: "dv-range", also: []string{"manifest-content"}, class: fix, level: footers, in: vectorShapes(), make: func(l *lab) {
			files := l.vector(hurt{entry: func(_ *lab, e *entry) { *e.offset++ }}, l.shape.positions...)
			l.change(forge.Change{Add: forge.Files(files...), Bytes: headed})
		}},
		{name: "a position delete file that is not sorted, with inverted bounds", issue: "delete-rows", also: []string{"delete-bounds"}, class: safe, level: vectors, in: bothShapes(), make: func(l *lab) {
			l.deleting(inverted(l.deletes(l.at(0, 50), l.at(0, 2), l.at(0, 1))))
			l.right[l.path(0)] = []int64{1, 2, 50}
			l.dataFile = ""
		}},
	}
}

// inverted are bounds of which the lower is above the upper.
func inverted(b *iceberg.DataFileBuilder) iceberg.DataFile { return forgeBounds(b, "t", "s") }
