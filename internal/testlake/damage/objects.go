package damage

import (
	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/stretchr/testify/require"
)

// objectFaults are about objects that are gone, or of another size than their entries say.
func objectFaults() []fault {
	return []fault{
		{name: "a Puffin file, too small in its entry", issue: "file-size", class: safe, level: footers, in: vectorShapes(), make: sized(-3)},
		{name: "a Puffin file, too large in its entry", issue: "file-size", class: safe, level: footers, in: vectorShapes(), make: sized(10)},
		{name: "a position delete file", issue: "file-size", class: safe, level: footers, in: bothShapes(), make: func(l *lab) {
			location := l.deletes(l.records(0, l.shape.positions...)...).Build().FilePath()
			d := l.Entry(0, l.data[0].Partition(), iceberg.EntryContentPosDeletes, location, iceberg.ParquetFile, int64(len(l.shape.positions)), 77).Build()
			l.deleting(d)
			l.dataFile = ""
		}},
		{name: "a Puffin file", issue: "dv-missing", class: ask, level: footers, in: vectorShapes(), make: missing},
		{name: "a Puffin file, while an ancestor has an older vector", issue: "dv-missing", class: ask, level: footers, in: aloneShapes(), make: func(l *lab) {
			old := l.ancestor()
			files := l.vector(hurt{}, l.shape.positions...)
			l.replace(old, files...)
			require.NoError(l.t, l.Remove(files[0].FilePath()))
			l.lose(0, l.shape.positions[:2]...)
		}},
		{name: "a position delete file that is gone", issue: "delete-unreadable", class: ask, level: footers, in: bothShapes(), make: func(l *lab) {
			d := l.bounded()
			require.NoError(l.t, l.Remove(d.FilePath()))
			l.deleting(d)
			l.lose(0)
			l.dataFile = ""
		}},
		{name: "a position delete file of other bytes", issue: "delete-unreadable", class: ask, level: vectors, in: bothShapes(), make: func(l *lab) {
			d := l.bounded()
			l.Put(d.FilePath(), make([]byte, d.FileSizeBytes()))
			l.deleting(d)
			l.lose(0)
			l.dataFile = ""
		}},
		{name: "one that nobody references", issue: "puffin-orphan", class: none, level: footers, in: single(), make: func(l *lab) {
			l.location, l.dataFile = l.name("left-over-%03d.puffin"), ""
			l.Put(l.location, []byte("x"))
		}},
	}
}

// sized is a vector whose entry says another size of its Puffin file.
func sized(by int64) func(*lab) {
	return func(l *lab) {
		hurting(hurt{entry: func(_ *lab, e *entry) { e.size += by }})(l)
		l.dataFile = ""
	}
}

// missing removes the Puffin file of a vector, and with it those of its siblings.
func missing(l *lab) {
	hurting(hurt{})(l)
	require.NoError(l.t, l.Remove(l.location))
	l.lose(0, l.readable()...)
	if l.shape.siblings {
		l.lose(1)
		l.lose(2)
		l.dataFile = ""
	}
}

// ancestor commits a vector of the first two positions, which is to be replaced.
func (l *lab) ancestor() []iceberg.DataFile {
	old := l.put(forge.Puffin{Parts: []forge.Part{l.part(0, l.shape.positions[:2]...)}}, nil)
	l.commit(old...)
	return old
}

// bounded writes a position delete file whose bounds say that it is about data file 0.
func (l *lab) bounded() iceberg.DataFile {
	return forge.Bounds(l.deletes(l.records(0, l.shape.positions...)...), l.path(0), l.path(0)).Build()
}

// containerFaults are about the Puffin file around the vectors.
func containerFaults() []fault {
	bare := func(name string, in []shape, file forge.Puffin) fault {
		return fault{name: name, issue: "dv-bare-blob", class: safe, level: footers, in: in, make: func(l *lab) {
			hurting(hurt{file: file})(l)
			if l.shape.siblings {
				l.dataFile = ""
			}
		}}
	}
	flip := func(fromEnd int) forge.Puffin {
		return forge.Puffin{Edit: func(b []byte) []byte { b[len(b)-fromEnd] ^= 0x41; return b }}
	}
	return []fault{
		bare("a bare blob", aloneShapes(), forge.Puffin{Bare: true}),
		bare("no footer", vectorShapes(), forge.Puffin{Edit: withoutFooter}),
		bare("a broken head", vectorShapes(), forge.Puffin{Edit: func(b []byte) []byte { b[0] = 'X'; return b }}),
		bare("a broken tail", vectorShapes(), flip(1)),
		bare("a broken footer", vectorShapes(), flip(tailSize+1)),
		{name: "no footer, and vectors of two specs", issue: "dv-bare-blob", class: safe, level: footers, in: aloneShapes()[:3], make: func(l *lab) {
			other := l.withOtherSpec()
			l.commit(l.put(forge.Puffin{Parts: append(l.parts(l.shape.positions...), l.part(other, 11)), Edit: withoutFooter}, nil)...)
			l.right[l.path(other)], l.dataFile = []int64{11}, ""
		}},
		{name: "a broken tail, beside equality deletes in its manifest", issue: "dv-bare-blob", class: safe, level: footers, in: aloneShapes()[:3], make: func(l *lab) {
			equality := l.EqualityDeletes(0, l.data[0].Partition(), 3)
			l.commit(append(l.vector(hurt{file: flip(1)}, l.shape.positions...), equality)...)
			l.healthy = append(l.healthy, equality.FilePath())
		}},
		{name: "a compressed footer", issue: "puffin-compressed", class: safe, level: footers, in: vectorShapes(), make: whole(hurt{file: forge.Puffin{LZ4: true}})},
		{name: "a codec on a blob", issue: "puffin-compressed", class: safe, level: footers, in: vectorShapes(), make: hurting(hurt{said: set("compression-codec", "lz4")})},
		{name: "an unknown flag", issue: "puffin-flags", class: fix, level: footers, in: vectorShapes(), make: whole(hurt{file: forge.Puffin{Flags: 2}})},
		{name: "fields of another column", issue: "puffin-blob-metadata", class: safe, level: footers, in: vectorShapes(), make: hurting(hurt{said: set("fields", []int{2147483646})})},
		{name: "fields that are no numbers", issue: "puffin-blob-metadata", class: safe, level: footers, in: vectorShapes(), make: whole(hurt{said: set("fields", []any{map[string]any{"id": 1}})})},
		{name: "a snapshot id", issue: "puffin-blob-metadata", class: safe, level: footers, in: vectorShapes(), make: hurting(hurt{said: set("snapshot-id", 5)})},
		{name: "no snapshot id", issue: "puffin-blob-metadata", class: safe, level: footers, in: vectorShapes(), make: whole(hurt{said: func(e map[string]any) { delete(e, "snapshot-id") }})},
		{name: "no data file", issue: "puffin-blob-metadata", class: safe, level: footers, in: vectorShapes(), make: func(l *lab) {
			hurting(hurt{said: property("referenced-data-file", "")})(l)
			l.dataFile = "" // the footer names none
		}},
	}
}

// whole is hurting where the fault is of the whole Puffin file, not of one vector.
func whole(h hurt) func(*lab) {
	return func(l *lab) {
		hurting(h)(l)
		l.dataFile = ""
	}
}

// set sets a key of an entry in a footer.
func set(key string, value any) func(map[string]any) {
	return func(entry map[string]any) { entry[key] = value }
}

// property sets a property of an entry in a footer; "" takes it out.
func property(key, value string) func(map[string]any) {
	return func(entry map[string]any) {
		properties := entry["properties"].(map[string]string)
		properties[key] = value
		if value == "" {
			delete(properties, key)
		}
	}
}

// boundFaults are vectors that manifest and footer bind to different bytes or data files.
func boundFaults() []fault {
	ranged := func(name string, edit func(*entry)) fault {
		return fault{name: name, issue: "dv-range", class: fix, level: footers, in: vectorShapes(), make: hurting(hurt{entry: func(_ *lab, e *entry) { edit(e) }})}
	}
	stale := func(name string, path func(string) string) fault {
		return fault{name: name, issue: "dv-reference-stale", class: safe, level: footers, in: vectorShapes(), make: func(l *lab) {
			hurting(hurt{said: property("referenced-data-file", path(l.path(0)))})(l)
		}}
	}
	return []fault{
		ranged("an offset that is off", func(e *entry) { *e.offset++ }),
		ranged("a size that is off", func(e *entry) { *e.length-- }),
		ranged("an offset beyond the file", func(e *entry) { *e.offset = 1 << 40 }),
		{name: "the range of another data file, whose own is in the footer", issue: "dv-misbound", class: fix, level: footers, in: vectorShapes()[:3], make: func(l *lab) { misbound(l, true) }},
		{name: "the range of another data file, and none of its own", issue: "dv-misbound", class: ask, level: footers, in: aloneShapes()[:3], make: func(l *lab) { misbound(l, false) }},
		stale("an old prefix", func(path string) string { return "s3://before/the/move" + path[len("s3://lake/t/data"):] }),
		stale("another spelling", func(path string) string { return "s3a" + path[2:] }),
	}
}

// misbound commits a vector of data file 0 with the range of that of data file 2 beside it.
func misbound(l *lab, own bool) {
	parts := l.parts(l.shape.positions...)
	wrong := 1
	if l.shape.siblings {
		wrong = 2
	} else {
		parts = append(parts, l.part(2, 8, 9, 10)) // which has no entry
	}
	if !own {
		parts = parts[wrong:]
		wrong = 0
	}
	c := forge.Puffin{Parts: parts}
	_, offsets := c.Encode(l.t)
	files := l.put(c, func(e *entry) {
		l.location = e.location
		e.of, e.tuple = ptr(l.path(0)), l.data[0].Partition()
		e.offset, e.length, e.records = &offsets[wrong], ptr(int64(len(parts[wrong].Blob))), parts[wrong].Count
	})
	if !l.shape.siblings {
		files = files[:1]
	}
	l.commit(files...)
	if !own {
		l.lose(0, l.readable()...)
		l.restore = parts[wrong].Count // the entry counts the other ones
	}
}
