package damage

import (
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
)

// rewriteFaults are what snapshots lost, brought back or left in danger that replaced files by others.
func rewriteFaults() []fault {
	lost := func(name string, in []shape, make func(*lab)) fault {
		return fault{name: name, issue: "delete-lost-in-rewrite", class: fix, level: vectors, in: in, make: make}
	}
	return append(lineageFaults(), []fault{
		lost("a position delete file of fewer records", bothShapes(), func(l *lab) {
			d := l.deletes(append(l.records(0, l.shape.positions...), l.at(1, 3))...).Build()
			l.deleting(d)
			l.replace([]iceberg.DataFile{d}, l.deletes(append(l.records(0, l.shape.positions[1:]...), l.at(1, 3))...).Build())
			l.location = d.FilePath()
		}),
		lost("a vector of fewer positions", aloneShapes()[:3], func(l *lab) {
			l.replace(l.vectorsBefore(), l.smaller()...)
		}),
		lost("a vector in the place of a position delete file", oldShapes()[:2], func(l *lab) {
			d := l.bounded()
			l.deleting(d)
			l.upgrade()
			l.replace([]iceberg.DataFile{d}, l.smaller()...)
		}),
		{name: "vectors whose Puffin file also had one that was replaced", issue: "puffin-colifetime", class: safe, level: metadata, in: partShapes()[1:2], make: func(l *lab) {
			l.replace(l.vectorsBefore(), l.another(append([]int64{60}, l.shape.positions...)...)...)
			l.dataFile = ""
		}},
		{name: "a data file with the rows that a vector deleted", issue: "rows-resurrected", class: none, level: metadata, in: aloneShapes()[:3], make: func(l *lab) {
			old := append(l.vectorsBefore(), l.data[0])
			f := l.DataFile("", 0, l.data[0].Partition(), l.shape.rows)
			l.change(forge.Change{Operation: table.OpReplace, Add: forge.Files(f), Remove: same(old...)})
			delete(l.right, l.path(0))
			l.right[f.FilePath()] = nil
			l.dataFile, l.location = "", l.head().ManifestList
		}},
	}...)
}

// smaller puts a vector of data file 0 that lacks the first position.
func (l *lab) smaller() []iceberg.DataFile {
	return l.put(forge.Puffin{Parts: []forge.Part{l.part(0, l.shape.positions[1:]...)}}, nil)
}

// lineageFaults are about row ids, which no repair changes.
func lineageFaults() []fault {
	return []fault{
		{name: "two data files with the same ids", issue: "lineage-damage", class: none, level: metadata, in: single(), make: func(l *lab) {
			f := l.NumberedDataFile("", 0, nil, rowsOf, 50)
			l.right[f.FilePath()] = nil
			l.commit(f)
			l.dataFile = ""
		}},
		{name: "a next row id that is behind", issue: "lineage-damage", class: none, level: metadata, in: single(), make: func(l *lab) {
			l.EditMetadata(func(m map[string]any) { m["next-row-id"] = 7 })
			l.dataFile = ""
		}},
	}
}
