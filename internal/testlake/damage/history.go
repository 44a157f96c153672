package damage

import (
	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
)

// historyFaults are what snapshots did to the deletes of their parents.
func historyFaults() []fault {
	return []fault{
		{name: "a vector", issue: "delete-dropped", class: fix, level: metadata, in: aloneShapes()[:3], make: func(l *lab) {
			l.replace(l.vectorsBefore())
		}},
		{name: "a vector, some snapshots ago", issue: "delete-dropped", class: fix, level: metadata, in: aloneShapes()[:3], make: func(l *lab) {
			l.replace(l.vectorsBefore())
			f := l.DataFile("", 0, l.data[0].Partition(), rowsOf)
			l.right[f.FilePath()] = nil
			l.commit(f)
			l.change(forge.Change{Merge: true})
		}},
		{name: "a vector, and another was begun from nothing", issue: "delete-dropped", class: fix, level: vectors, in: aloneShapes()[:3], make: func(l *lab) {
			l.replace(l.vectorsBefore())
			l.commit(l.another(60)...)
		}},
		{name: "a position delete file of one data file", issue: "delete-dropped", class: fix, level: vectors, in: bothShapes(), make: func(l *lab) {
			d := l.bounded()
			l.deleting(d)
			l.replace([]iceberg.DataFile{d})
		}},
		{name: "a position delete file of several data files", issue: "delete-dropped", class: fix, level: vectors, in: bothShapes(), make: func(l *lab) {
			d := l.deletes(append(l.records(0, l.shape.positions...), l.at(1, 3))...).Build()
			l.deleting(d)
			l.replace([]iceberg.DataFile{d})
		}},
	}
}

// vectorsBefore commits a vector that is to be dropped, and returns its entry.
func (l *lab) vectorsBefore() []iceberg.DataFile {
	files := l.vector(hurt{}, l.shape.positions...)
	l.commit(files...)
	return files[:1]
}
