package damage

import (
	"bytes"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/stretchr/testify/require"
)

// entryFaults are about what one entry says.
func entryFaults() []fault {
	return []fault{
		{name: "a vector of another partition", issue: "dv-partition", class: fix, level: metadata, in: partShapes(), make: hurting(hurt{entry: func(_ *lab, e *entry) {
			e.tuple = region(9)
		}})},
		{name: "a vector of another spec", issue: "dv-partition", class: fix, level: metadata, in: partShapes(), make: func(l *lab) {
			l.addSpec()
			hurting(hurt{entry: func(_ *lab, e *entry) { e.spec, e.tuple = 1, nil }})(l)
		}},
		{name: "a vector that is older", issue: "dv-sequence", class: fix, level: metadata, in: vectorShapes(), make: func(l *lab) {
			l.late(l.vector(hurt{}, l.shape.positions...))
		}},
		{name: "a vector without positions", issue: "dv-empty", class: safe, level: metadata, in: vectorShapes()[:3], make: func(l *lab) {
			l.commit(l.vector(hurt{})...)
		}},
		{name: "a vector", issue: "dv-in-v2", class: ask, level: metadata, in: with(vectorShapes()[:3], func(s *shape) { s.version = 2 }), make: func(l *lab) {
			l.change(forge.Change{Add: forge.Files(l.vector(hurt{}, l.shape.positions...)...), Version: 3, Bytes: forge.AsVersion2})
			if l.shape.siblings {
				l.dataFile = ""
			}
		}},
		{name: "a vector with a sort order", issue: "entry-extras", class: safe, level: metadata, in: vectorShapes(), make: func(l *lab) {
			hurting(hurt{entry: func(_ *lab, e *entry) { e.sortOrder = ptr(1) }})(l)
			l.dataFile = ""
		}},
		{name: "a position delete file with a sort order", issue: "entry-extras", class: safe, level: metadata, in: bothShapes(), make: func(l *lab) {
			l.deleting(l.deletes(l.records(0, l.shape.positions...)...).SortOrderID(1).Build())
			l.dataFile = ""
		}},
	}
}

// addSpec adds a spec without fields under the id 1, or by region where the first one has none.
func (l *lab) addSpec() {
	spec := iceberg.NewPartitionSpecID(1)
	if !l.shape.partitioned {
		spec = iceberg.NewPartitionSpecID(1, byRegion().Field(0))
	}
	l.Update(table.NewAddPartitionSpecUpdate(&spec, false))
}

// withOtherSpec commits a data file of the other spec and returns its number.
func (l *lab) withOtherSpec() int {
	l.addSpec()
	var tuple forge.Tuple
	if !l.shape.partitioned {
		tuple = region(1)
	}
	f := l.DataFile("", 1, tuple, rowsOf)
	l.data = append(l.data, f)
	l.commit(f)
	return len(l.data) - 1
}

// late commits vectors of which the first is older than its data file.
func (l *lab) late(files []iceberg.DataFile) {
	change := forge.Change{Add: forge.Files(files...)}
	change.Add[0].Seq = ptr(int64(0))
	l.change(change)
}

// unboundFaults are entries that do not say which bytes they are, or of what.
func unboundFaults() []fault {
	lacks := func(name string, without func(*entry)) fault {
		return fault{name: "no " + name, issue: "dv-fields-missing", class: fix, level: footers, in: vectorShapes(), make: hurting(hurt{entry: func(_ *lab, e *entry) { without(e) }})}
	}
	everything := func(e *entry) { e.of, e.offset, e.length = nil, nil, nil }
	return []fault{
		lacks("offset", func(e *entry) { e.offset = nil }),
		lacks("size", func(e *entry) { e.length = nil }),
		lacks("data file", func(e *entry) { e.of = nil }),
		lacks("offset, size and data file", everything),
		{name: "no offset, size and data file, and two blobs that fit", issue: "dv-fields-missing", class: ask, level: footers, in: aloneShapes(), make: func(l *lab) {
			positions := l.shape.positions
			p := []forge.Part{l.part(0, positions...), l.part(2, positions...)}
			l.right[l.path(0)] = positions
			l.commit(l.put(forge.Puffin{Parts: p}, func(e *entry) { everything(e); l.location = e.location })[0])
			l.lose(0, l.readable()...)
			l.dataFile, l.restore = "", int64(len(positions)) // whose they are is not known
		}},
	}
}

// manifestFaults are about manifests and the manifest list.
func manifestFaults() []fault {
	return append(summaryFaults(), []fault{
		{name: "vectors below a header that says data", issue: "manifest-content", class: safe, level: metadata, in: vectorShapes(), make: func(l *lab) {
			l.changing(forge.Change{Add: forge.Files(l.vector(hurt{}, l.shape.positions...)...), Bytes: headed})
		}},
		{name: "position delete files below a header that says data", issue: "manifest-content", class: safe, level: metadata, in: bothShapes(), make: func(l *lab) {
			l.right[l.path(0)] = l.shape.positions
			l.changing(forge.Change{Add: forge.Files(l.deletes(l.records(0, l.shape.positions...)...).Build()), Bytes: headed})
		}},
		{name: "a manifest that is gone", issue: "manifest-unreadable", class: none, level: metadata, in: single(), make: func(l *lab) {
			l.changing(forge.Change{Add: forge.Files(l.vector(hurt{}, l.shape.positions...)...)})
			l.Put(l.location, nil)
		}},
	}...)
}

// recorded is a fault of what the manifest list says of the manifest of a vector.
func recorded(name string, in []shape, record func(iceberg.ManifestFile, *iceberg.ManifestBuilder)) fault {
	return fault{name: name, issue: "manifest-summary", class: fix, level: metadata, in: in, make: func(l *lab) {
		l.changing(forge.Change{Add: forge.Files(l.vector(hurt{}, l.shape.positions...)...), Record: record})
	}}
}

func summaryFaults() []fault {
	bounds := func(lower, upper byte) []iceberg.FieldSummary {
		return []iceberg.FieldSummary{{LowerBound: &[]byte{lower, 0, 0, 0}, UpperBound: &[]byte{upper, 0, 0, 0}}}
	}
	return []fault{
		recorded("no entry counted", vectorShapes(), func(_ iceberg.ManifestFile, b *iceberg.ManifestBuilder) { b.AddedFiles(0).AddedRows(0) }),
		recorded("an entry too many counted", vectorShapes(), func(_ iceberg.ManifestFile, b *iceberg.ManifestBuilder) { b.ExistingFiles(1) }),
		recorded("a smallest sequence number that is too large", vectorShapes()[:3], func(m iceberg.ManifestFile, b *iceberg.ManifestBuilder) {
			b.SequenceNum(m.SequenceNum(), 99)
		}),
		recorded("a partition that is excluded", partShapes(), func(_ iceberg.ManifestFile, b *iceberg.ManifestBuilder) { b.Partitions(bounds(5, 9)) }),
		{name: "a data manifest whose partition is excluded", issue: "manifest-summary", class: fix, level: metadata, in: partShapes(), make: func(l *lab) {
			hurting(hurt{})(l)
			f := l.DataFile("", 0, region(1), rowsOf)
			l.right[f.FilePath()] = nil
			l.changing(forge.Change{Add: forge.Files(f), Record: func(_ iceberg.ManifestFile, b *iceberg.ManifestBuilder) { b.Partitions(bounds(5, 9)) }})
		}},
		{name: "wrong totals", issue: "summary-drift", class: safe, level: metadata, in: vectorShapes(), make: func(l *lab) {
			l.changing(forge.Change{Add: forge.Files(l.vector(hurt{}, l.shape.positions...)...), Summary: map[string]string{
				"total-delete-files": "7", "total-position-deletes": "1", "total-data-files": "9", "total-records": "5"}})
			l.location = l.head().ManifestList
		}},
	}
}

// headed makes a delete manifest say in its header that it holds data files.
func headed(content iceberg.ManifestContent, data []byte) []byte {
	if content != iceberg.ManifestContentDeletes {
		return data
	}
	return bytes.Replace(data, []byte("\x0econtent\x0edeletes"), []byte("\x0econtent\x08data"), 1)
}

// changing commits a fault of the newest manifest.
func (l *lab) changing(c forge.Change) {
	l.change(c)
	l.dataFile = ""
	manifests, err := l.head().Manifests(l.IO())
	require.NoError(l.t, err)
	l.location = manifests[len(manifests)-1].FilePath()
}
