package damage

import (
	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
)

// entry is what a manifest says of a deletion vector. What is nil is not said.
type entry struct {
	location       string
	spec           int
	tuple          forge.Tuple
	records, size  int64
	of             *string
	offset, length *int64
	sortOrder      *int
}

func (l *lab) build(e entry) iceberg.DataFile {
	b := l.Entry(e.spec, e.tuple, iceberg.EntryContentPosDeletes, e.location, iceberg.PuffinFile, e.records, e.size)
	if e.of != nil {
		b.ReferencedDataFile(*e.of)
	}
	if e.offset != nil {
		b.ContentOffset(*e.offset)
	}
	if e.length != nil {
		b.ContentSizeInBytes(*e.length)
	}
	if e.sortOrder != nil {
		b.SortOrderID(*e.sortOrder)
	}
	return b.Build()
}

// put puts a Puffin file and returns the entries of its parts, after a function had its way with the first of them.
func (l *lab) put(c forge.Puffin, edit func(*entry)) []iceberg.DataFile {
	data, offsets := c.Encode(l.t)
	location := l.name("p%03d.puffin")
	l.Put(location, data)
	var out []iceberg.DataFile
	for i, p := range c.Parts {
		length := int64(len(p.Blob))
		f := l.dataOf(p.Of)
		e := entry{location: location, spec: int(f.SpecID()), tuple: f.Partition(), records: p.Count, size: int64(len(data)), of: &p.Of, offset: &offsets[i], length: &length}
		if i == 0 && edit != nil {
			edit(&e)
		}
		out = append(out, l.build(e))
	}
	return out
}

// dataOf is the data file with a path, or the first one.
func (l *lab) dataOf(path string) iceberg.DataFile {
	for _, f := range l.data {
		if f.FilePath() == path {
			return f
		}
	}
	return l.data[0]
}

// hurt is what is wrong with the deletion vector of data file 0 and its Puffin file.
type hurt struct {
	blob  func([]byte) []byte
	said  func(map[string]any) // in the footer
	entry func(*lab, *entry)   // in the manifest
	file  forge.Puffin         // beside its parts
	// count is what entry and footer say beyond the number of positions.
	count int64
}

// parts are the vector of data file 0, and those of the others if the shape has siblings.
func (l *lab) parts(positions ...int64) []forge.Part {
	l.right[l.path(0)] = positions
	out := []forge.Part{l.part(0, positions...)}
	if l.shape.siblings {
		out = append(out, l.part(1, 3, 5), l.part(2, 7))
		l.right[l.path(1)], l.right[l.path(2)] = []int64{3, 5}, []int64{7}
	}
	return out
}

// vector puts a Puffin file with the vector of data file 0, hurt, and returns its entries.
func (l *lab) vector(h hurt, positions ...int64) []iceberg.DataFile {
	c := h.file
	c.Parts = l.parts(positions...)
	p := &c.Parts[0]
	p.Count += h.count
	p.Said = h.said
	if h.blob != nil {
		p.Blob = h.blob(p.Blob)
	}
	return l.put(c, func(e *entry) {
		l.location = e.location
		if h.entry != nil {
			h.entry(l, e)
		}
	})
}

// hurting commits a vector that is hurt.
func hurting(h hurt) func(*lab) {
	return func(l *lab) { l.commit(l.vector(h, l.shape.positions...)...) }
}

// losing is hurting where only what position delete files also say can be read again.
func losing(h hurt) func(*lab) {
	return func(l *lab) {
		hurting(h)(l)
		l.lose(0, l.readable()...)
	}
}

func ptr[T any](v T) *T { return &v }
