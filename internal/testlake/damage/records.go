package damage

import (
	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
)

// recordFaults are about the records of position delete files and what their columns are like.
func recordFaults() []fault {
	rows := func(name, class string, lost int64, make func(*lab) iceberg.DataFile) fault {
		return fault{name: name, issue: "delete-rows", class: class, level: vectors, in: bothShapes(), make: func(l *lab) {
			l.deleting(make(l))
			l.dataFile, l.restore = "", lost
		}}
	}
	return []fault{
		rows("positions that are not sorted", safe, 0, func(l *lab) iceberg.DataFile {
			return l.deletes(l.at(0, 50), l.at(0, 1), l.at(0, 2)).Build()
		}),
		rows("paths that are not sorted", safe, 0, func(l *lab) iceberg.DataFile {
			if l.shape.partitioned {
				return l.deletes(append([]forge.Record{l.at(1, 3)}, l.records(0, l.shape.positions...)...)...).Build()
			}
			l.right[l.path(2)] = []int64{8}
			return l.deletes(append([]forge.Record{l.at(2, 8)}, l.records(0, l.shape.positions...)...)...).Build()
		}),
		{name: "a file as old as its data file that also has records of a younger one", issue: "delete-rows", class: safe, level: vectors, in: bothShapes(), make: func(l *lab) {
			d := l.deletes(append([]forge.Record{l.at(1, 77)}, l.records(0, l.shape.positions...)...)...).Build()
			l.change(forge.Change{Add: []forge.Added{{File: d, Seq: ptr(int64(1))}}})
			l.location, l.right[l.path(0)], l.dataFile = d.FilePath(), l.shape.positions, ""
		}},
		{name: "a file in a manifest with one that references its data file", issue: "delete-rows", class: safe, level: vectors, in: fileShapes(), make: func(l *lab) {
			d := l.deletes(l.at(0, 50), l.at(0, 1), l.at(0, 2)).Build()
			other := l.deletes(l.at(1, 8)).ReferencedDataFile(l.path(1)).Build()
			l.change(forge.Change{Add: forge.Files(d, other), Version: 3, Bytes: forge.AsVersion2})
			l.right[l.path(0)], l.right[l.path(1)] = l.shape.positions, append(l.right[l.path(1)], 8)
			l.healthy = append(l.healthy, other.FilePath())
			l.location, l.dataFile = d.FilePath(), ""
		}},
		rows("no field ids", safe, 0, func(l *lab) iceberg.DataFile { return l.columns("", "", l.nullables()...) }),
		rows("a null position", ask, 1, func(l *lab) iceberg.DataFile {
			return l.columns(pathID, posID, append(l.nullables(), nullable{path: ptr(l.path(0))})...)
		}),
		rows("a null path", ask, 1, func(l *lab) iceberg.DataFile {
			return l.columns(pathID, posID, append(l.nullables(), nullable{pos: ptr(int64(1))})...)
		}),
	}
}

// The reserved field ids of position delete files, as Parquet metadata has them.
const (
	pathID = "2147483546"
	posID  = "2147483545"
)

// nullables are the records of the positions of the shape.
func (l *lab) nullables() []nullable {
	var out []nullable
	for _, p := range l.shape.positions {
		out = append(out, nullable{ptr(l.path(0)), ptr(p)})
	}
	return out
}

func (l *lab) columns(path, pos string, records ...nullable) iceberg.DataFile {
	return l.DeleteBytes(0, l.data[0].Partition(), iceberg.ParquetFile, int64(len(records)), deletesFile(l.t, path, pos, records...)).Build()
}

// deleteFaults are position delete files that some reader applies wrongly, or to nothing.
func deleteFaults() []fault {
	bounds := func(name, level string, lower, upper func(path string) string) fault {
		return fault{name: name, issue: "delete-bounds", class: fix, level: level, in: bothShapes(), make: func(l *lab) {
			path := l.path(0)
			l.deleting(forgeBounds(l.deletes(l.records(0, l.shape.positions...)...), lower(path), upper(path)))
			l.dataFile = ""
		}}
	}
	cut := func(path string) string { return path[:16] }
	to := func(text string) func(string) string { return func(string) string { return text } }
	return append(olderDeleteFaults(), []fault{
		bounds("inverted", metadata, to("t"), to("s")),
		bounds("equal and cut", metadata, cut, cut),
		bounds("a lower bound above the path", vectors, to("s4"), to("s5")),
		bounds("an upper bound below the path", vectors, to("s2"), to("s3")),
		{name: "records of another partition", issue: "delete-partition", class: fix, level: vectors, in: with(bothShapes(), inRegions), make: func(l *lab) {
			l.deleting(l.PositionDeletes(0, region(2), l.records(0, l.shape.positions...)...).Build())
		}},
		{name: "a record of a path that is spelled otherwise", issue: "path-near-miss", class: none, level: vectors, in: bothShapes(), make: func(l *lab) {
			path := "s3a" + l.path(0)[2:]
			l.deleting(l.deletes(forge.Records(map[string][]int64{path: l.shape.positions})...).Build())
			l.aliases["s3a://lake/"] = "s3://lake/"
		}},
		{name: "a vector of a path that is spelled otherwise", issue: "path-near-miss", class: none, level: metadata, in: aloneShapes(), make: func(l *lab) {
			path := "s3a" + l.path(0)[2:]
			hurting(hurt{said: property("referenced-data-file", path), entry: func(_ *lab, e *entry) { e.of = &path }})(l)
			l.dataFile = path
			l.aliases["s3a://lake/"] = "s3://lake/"
		}},
	}...)
}

func inRegions(s *shape) { s.partitioned = true }

func forgeBounds(b *iceberg.DataFileBuilder, lower, upper string) iceberg.DataFile {
	return forge.Bounds(b, lower, upper).Build()
}

// olderDeleteFaults are position delete files of format version 2 in a table of version 3.
func olderDeleteFaults() []fault {
	return []fault{
		{name: "a file of another name for its data file", issue: "delete-reference-stale", class: fix, level: vectors, in: oldShapes()[:2], make: func(l *lab) {
			l.referencing(l.deletes(l.records(0, l.shape.positions...)...), "s3://before/t"+l.path(0)[len(l.At):])
		}},
		{name: "a file bound to a data file of another partition", issue: "delete-partition", class: fix, level: metadata, in: with(oldShapes()[:1], inRegions), make: func(l *lab) {
			l.referencing(l.PositionDeletes(0, region(2), l.records(0, l.shape.positions...)...), l.path(0))
		}},
		{name: "a file of a data file without a vector", issue: "delete-after-upgrade", class: fix, level: metadata, in: aloneShapes()[:3], make: func(l *lab) {
			l.deleting(l.deletes(l.records(0, l.shape.positions...)...).Build())
			l.dataFile = ""
		}},
		{name: "a file that a vector hides", issue: "delete-after-upgrade", also: []string{"dv-incomplete"}, class: fix, level: metadata, in: vectorShapes()[:3], make: func(l *lab) {
			hurting(hurt{})(l)
			positions := append([]int64{7}, l.shape.positions...)
			l.deleting(l.deletes(l.records(0, positions...)...).Build())
			l.right[l.path(0)] = positions
			l.dataFile = ""
		}},
		{name: "a vector that lacks positions of version 2", issue: "dv-incomplete", class: fix, level: vectors, in: oldShapes(), make: func(l *lab) {
			l.hiding(50)
		}},
		{name: "a vector without positions", issue: "dv-incomplete", also: []string{"dv-empty"}, class: fix, level: vectors, in: oldShapes(), make: func(l *lab) {
			l.hiding()
		}},
		{name: "a file whose records are in a vector", issue: "delete-superseded", class: safe, level: vectors, in: oldShapes(), make: func(l *lab) {
			d := l.deletes(l.records(0, 1, 2)...).Build()
			l.commit(d)
			l.upgrade()
			l.commit(l.vector(hurt{}, l.shape.positions...)...)
			l.dataFile, l.location = "", d.FilePath()
		}},
	}
}

// referencing upgrades the table and lists a position delete file of version 2 that references a path.
func (l *lab) referencing(b *iceberg.DataFileBuilder, path string) {
	l.upgrade()
	d := b.ReferencedDataFile(path).Build()
	l.change(as(d, l.v2))
	l.location, l.right[l.path(0)] = d.FilePath(), l.shape.positions
}

// hiding commits position deletes of version 2 and a vector of other positions, which hides those of data file 0.
func (l *lab) hiding(positions ...int64) {
	l.commit(l.deletes(l.records(0, 1, 2)...).Build())
	l.upgrade()
	l.commit(l.vector(hurt{}, positions...)...)
	l.right[l.path(0)] = append([]int64{1, 2}, positions...)
}
