package damage

import (
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
)

// setFaults are about several live entries.
func setFaults() []fault {
	return []fault{
		{name: "two vectors of different snapshots, neither of which holds the other", issue: "dv-duplicate", class: fix, level: metadata, in: vectorShapes(), make: func(l *lab) {
			hurting(hurt{})(l)
			l.also(l.another(2, 60))
		}},
		{name: "three vectors", issue: "dv-duplicate", class: fix, level: metadata, in: vectorShapes(), make: func(l *lab) {
			hurting(hurt{})(l)
			l.also(l.another(60))
			l.also(l.another(61, 62))
		}},
		{name: "two vectors of one snapshot", issue: "dv-duplicate", class: safe, level: metadata, in: vectorShapes(), make: func(l *lab) {
			l.also(append(l.vector(hurt{}, l.shape.positions...), l.another(60)...))
		}},
		{name: "two vectors of which one holds the other", issue: "dv-duplicate", class: safe, level: metadata, in: vectorShapes(), make: func(l *lab) {
			hurting(hurt{})(l)
			l.also(l.another(append(slices.Clone(l.shape.positions), 60)...))
		}},
		{name: "two vectors in one Puffin file", issue: "dv-duplicate", class: safe, level: metadata, in: aloneShapes(), make: func(l *lab) {
			first, second := l.shape.positions, []int64{60, 61}
			l.right[l.path(0)] = append(slices.Clone(first), second...)
			l.commit(l.put(forge.Puffin{Parts: []forge.Part{l.part(0, first...), l.part(0, second...)}}, nil)...)
		}},
		{name: "one vector twice in a manifest", issue: "dv-listed-twice", class: safe, level: metadata, in: vectorShapes(), make: func(l *lab) {
			files := l.vector(hurt{}, l.shape.positions...)
			l.commit(append(files, files[0])...)
		}},
		{name: "one vector in two manifests", issue: "dv-listed-twice", class: safe, level: metadata, in: vectorShapes(), make: func(l *lab) {
			files := l.vector(hurt{}, l.shape.positions...)
			added := l.commit(files...)
			l.change(as(files[0], added))
		}},
		{name: "a data file in two entries", issue: "data-file-twice", class: none, level: metadata, in: single(), make: func(l *lab) {
			l.commit(l.data[0])
		}},
		{name: "a vector of all rows", issue: "file-fully-deleted", class: none, level: metadata, in: single(), make: func(l *lab) {
			all := make([]int64, rowsOf)
			for i := range all {
				all[i] = int64(i)
			}
			l.commit(l.vector(hurt{}, all...)...)
		}},
	}
}

// another puts one more vector of data file 0 in a Puffin file of its own.
func (l *lab) another(positions ...int64) []iceberg.DataFile {
	l.right[l.path(0)] = append(slices.Clone(l.right[l.path(0)]), positions...)
	return l.put(forge.Puffin{Parts: []forge.Part{l.part(0, positions...)}}, nil)
}

// also commits files of a fault that is not about one object.
func (l *lab) also(files []iceberg.DataFile) {
	l.commit(files...)
	l.location = ""
}

// as lists a delete file in the entry of an earlier snapshot.
func as(f iceberg.DataFile, added *table.Snapshot) forge.Change {
	return forge.Change{Add: []forge.Added{{File: f, Seq: &added.SequenceNumber, Existing: &forge.Origin{SnapshotID: added.SnapshotID, FileSeq: added.SequenceNumber}}}}
}

// resurrections are deletion vectors that were removed and are live again.
func resurrections() []fault {
	return []fault{
		{name: "the old entry beside that of a vector that holds more", issue: "dv-resurrected", also: []string{"dv-duplicate"}, class: safe, level: metadata, in: vectorShapes(), make: func(l *lab) {
			files := l.vector(hurt{}, l.shape.positions...)
			added := l.commit(files...)
			l.replace(files[:1], l.another(append(slices.Clone(l.shape.positions), 60)...)...)
			l.change(as(files[0], added))
		}},
		{name: "the old entry alone", issue: "dv-resurrected", class: ask, level: metadata, in: vectorShapes(), make: func(l *lab) {
			files := l.vector(hurt{}, l.shape.positions...)
			added := l.commit(files...)
			l.replace(files[:1])
			l.change(as(files[0], added))
			l.lose(0, l.readable()...)
		}},
	}
}

// danglings are deletes that apply to nothing.
func danglings() []fault {
	return []fault{
		{name: "its data file is gone", issue: "dv-dangling", class: safe, level: metadata, in: vectorShapes()[:3], make: func(l *lab) {
			hurting(hurt{})(l)
			l.drop(0)
		}},
		{name: "the data files of several vectors of a Puffin file are gone", issue: "dv-dangling", class: safe, level: metadata, in: partShapes()[1:2], make: func(l *lab) {
			hurting(hurt{})(l)
			l.drop(0)
			l.drop(2)
			l.dataFile = ""
		}},
		{name: "a position delete file of a partition without data files", issue: "delete-aged", also: []string{"delete-dangling-records"}, class: safe, level: metadata, in: with(bothShapes(), func(s *shape) { s.partitioned = true }), make: func(l *lab) {
			d := l.PositionDeletes(0, region(2), l.records(2, 4)...).Build()
			l.commit(d)
			l.drop(2)
			l.dataFile, l.location = "", d.FilePath()
		}},
		{name: "records of a data file that is gone", issue: "delete-dangling-records", class: safe, level: vectors, in: bothShapes(), make: func(l *lab) {
			f := l.DataFile("gone.parquet", 0, l.data[0].Partition(), rowsOf)
			records := forge.Records(map[string][]int64{l.path(0): l.shape.positions, f.FilePath(): {4}})
			l.deleting(l.deletes(records...).Build())
			l.dataFile = ""
		}},
		{name: "only records of a data file that is gone", issue: "delete-dangling-records", class: safe, level: vectors, in: bothShapes(), make: func(l *lab) {
			d := l.deletes(forge.Record{Path: l.At + "/data/gone.parquet", Pos: 4}).Build()
			l.commit(d)
			l.dataFile, l.location = "", d.FilePath()
		}},
	}
}

// drop removes a data file.
func (l *lab) drop(i int) {
	l.change(forge.Change{Remove: same(l.data[i])})
	delete(l.right, l.path(i))
}

// deleting commits a position delete file of the positions of data file 0.
func (l *lab) deleting(d iceberg.DataFile) {
	l.commit(d)
	l.location, l.right[l.path(0)] = d.FilePath(), l.shape.positions
}
