package model

import (
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
)

// write lets a writer of another kind change the branch in use.
func (w *world) write(s step) {
	live := w.head().sorted(nil)
	if s.op == "append" || len(live) == 0 {
		w.append(s)
		return
	}
	f := live[s.args[0]%len(live)]
	switch s.op {
	case "posdel", "vector":
		w.delete(f, s)
	case "update":
		w.update(f, s)
	case "eq":
		w.equality(f, s)
	case "drop":
		w.drop(f, s)
	case "rewrite":
		w.rewrite(f)
	case "readd":
		w.readd(s)
	case "merge":
		w.commit(forge.Change{Operation: table.OpReplace, Merge: true})
	}
}

// tuple makes a partition tuple of a spec.
func (w *world) tuple(spec, n int) forge.Tuple {
	out := forge.Tuple{}
	for _, f := range w.lake.Load().Metadata.PartitionSpecByID(spec).Fields() {
		if f.FieldID == 1000 {
			out[1000] = int32(n % 3)
		} else {
			out[1001] = iceberg.Date(n % 2)
		}
	}
	return out
}

// dataFile makes a data file under the default spec.
func (w *world) dataFile(name string, n, rows int) *file {
	spec := w.lake.Load().Metadata.DefaultPartitionSpec()
	return &file{data: w.lake.DataFile(name, spec, w.tuple(spec, n), int64(rows)), rows: int64(rows), deleted: map[int64]bool{}}
}

// adopt makes data files live in the model.
func (w *world) adopt(files ...*file) {
	for _, f := range files {
		w.head().files[f.data.FilePath()] = f
	}
}

// append adds one or two data files.
func (w *world) append(s step) {
	a, b := w.dataFile("", s.args[0], 1+s.args[1]), w.dataFile("", s.args[0]+s.args[3], 1+s.args[2])
	w.commit(forge.Change{Operation: table.OpAppend, Add: forge.Files(a.data, b.data)})
	w.adopt(a, b)
}

// some draws positions below a number of rows from one number: a run, or scattered ones.
func some(rows int64, n int) []int64 {
	if n%4 == 0 {
		var out []int64
		for p := int64(n) % rows; p < min(rows, int64(n)%rows+1+int64(n)/3); p++ {
			out = append(out, p)
		}
		return out
	}
	return []int64{int64(n*7) % rows, int64(n*13+1) % rows, int64(n*7) % rows}
}

// delete deletes rows of a data file as the format version has it: with position delete files, or with a deletion
// vector.
func (w *world) delete(f *file, s step) {
	if w.lake.Load().Metadata.Version() < 3 {
		w.positionDeletes(f, s)
		return
	}
	targets := []*file{f}
	if live := w.head().sorted(nil); s.args[2]%3 == 0 { // further data files in the same Puffin, of any partition
		for i := range s.args[3] % 4 {
			if g := live[(s.args[0]+i*3+1)%len(live)]; !slices.Contains(targets, g) {
				targets = append(targets, g)
			}
		}
	}
	for i, g := range targets {
		mark(g, some(g.rows, s.args[1]+i)...)
	}
	w.commit(w.vectors(targets...))
}

func mark(f *file, positions ...int64) {
	for _, p := range positions {
		f.deleted[p] = true
	}
}

// vectors replaces all that is deleted of data files by deletion vectors in one Puffin file, as a correct writer does:
// position delete files of the data file alone go, those of a partition stay.
func (w *world) vectors(targets ...*file) forge.Change {
	var vectors []forge.Vector
	replaced := map[string]bool{}
	for _, f := range targets {
		vectors = append(vectors, forge.Vector{Data: f.data, Positions: slices.Sorted(maps.Keys(f.deleted))})
		replaced[f.data.FilePath()] = true
	}
	return forge.Change{
		Operation: table.OpDelete, Add: forge.Files(w.lake.DeletionVectors(vectors...)...),
		Remove: func(d iceberg.DataFile) bool {
			ref := d.ReferencedDataFile()
			return d.ContentType() == iceberg.EntryContentPosDeletes && ref != nil && replaced[*ref]
		},
	}
}

// positionDeletes commits a position delete file.
func (w *world) positionDeletes(f *file, s step) {
	d := w.positionDeleteFile(f, s)
	w.commit(forge.Change{Operation: table.OpDelete, Add: forge.Files(d)})
}

// positionDeleteFile writes a position delete file: of one data file, named by its entry or only by its bounds, or of a
// whole partition, with records of data files that are gone or in another partition, and in no order.
func (w *world) positionDeleteFile(f *file, s step) iceberg.DataFile {
	path := f.data.FilePath()
	positions := map[string][]int64{path: some(f.rows, s.args[1])}
	if s.args[2]%4 >= 2 {
		for i, g := range w.head().sorted(f.data) {
			if (s.args[3]>>i)&1 == 0 {
				positions[g.data.FilePath()] = some(g.rows, s.args[1]+i)
			}
		}
	}
	for path, list := range positions {
		mark(w.head().files[path], list...)
	}
	if s.args[2]%4 == 3 {
		for _, g := range w.head().sorted(nil) { // of another partition: they delete nothing
			if _, listed := positions[g.data.FilePath()]; !listed && !samePartition(g.data, f.data) {
				positions[g.data.FilePath()] = some(g.rows, s.args[1]+1)
				break
			}
		}
		positions[fmt.Sprintf("%s/data/gone%d.parquet", forge.Location, s.args[3]%3)] = []int64{1}
		for _, dead := range w.dead {
			if w.head().files[dead] == nil {
				positions[dead] = []int64{0, 2}
			}
		}
	}
	records := forge.Records(positions)
	if s.args[2]%4 == 3 {
		slices.Reverse(records)
		records = append(records, records[len(records)/2])
	}
	b := w.lake.PositionDeletes(int(f.data.SpecID()), f.data.Partition(), records...)
	switch s.args[2] % 4 {
	case 0:
		b = b.ReferencedDataFile(path)
	case 1:
		b = forge.Bounds(b, path, path)
	case 2:
		b = forge.Bounds(b, records[0].Path, records[len(records)-1].Path)
	}
	return b.Build()
}

// update deletes rows and adds their new versions in one snapshot, of which every second time some are deleted again: data
// and deletes get the same sequence number.
func (w *world) update(f *file, s step) {
	added := w.dataFile("", s.args[0], 1+s.args[2])
	w.adopt(added)
	targets := []*file{f}
	if s.args[3]%2 == 0 {
		targets = append(targets, added)
	}
	var c forge.Change
	if w.lake.Load().Metadata.Version() < 3 {
		for _, g := range targets {
			c.Add = append(c.Add, forge.Files(w.positionDeleteFile(g, s))...)
		}
	} else {
		for _, g := range targets {
			mark(g, some(g.rows, s.args[1])...)
		}
		c = w.vectors(targets...)
	}
	c.Operation = table.OpOverwrite
	c.Add = append(c.Add, forge.Files(added.data)...)
	w.commit(c)
}

// equality commits an equality delete file: of a partition, or of the whole table. What it deletes is not modelled, only
// that it stays as it is.
func (w *world) equality(f *file, s step) {
	d := w.lake.EqualityDeletes(int(f.data.SpecID()), f.data.Partition(), 1+int64(s.args[1]))
	if id, ok := w.specs[""]; ok && s.args[2]%2 == 0 {
		d = w.lake.EqualityDeletes(id, forge.Tuple{}, 1)
	}
	w.commit(forge.Change{Operation: table.OpDelete, Add: forge.Files(d)})
}

// without removes data files. Their deletion vectors go with them, or are left dangling as some writers do.
func (w *world) without(dangling bool, files ...*file) forge.Change {
	gone := map[string]bool{}
	for _, f := range files {
		gone[f.data.FilePath()] = true
		delete(w.head().files, f.data.FilePath())
		w.dead = append(w.dead, f.data.FilePath())
	}
	return forge.Change{Operation: table.OpDelete, Remove: func(d iceberg.DataFile) bool {
		ref := d.ReferencedDataFile()
		return gone[d.FilePath()] || !dangling && d.FileFormat() == iceberg.PuffinFile && ref != nil && gone[*ref]
	}}
}

// drop removes a data file.
func (w *world) drop(f *file, s step) { w.commit(w.without(s.args[1]%2 == 0, f)) }

// rewrite replaces the data files of a partition by one with the rows that are left.
func (w *world) rewrite(f *file) {
	old := w.head().sorted(f.data)
	rows := int64(0)
	for _, g := range old {
		rows += g.rows - int64(len(g.deleted))
	}
	c := w.without(false, old...)
	c.Operation = table.OpReplace
	if rows > 0 {
		added := &file{data: w.lake.DataFile("", int(f.data.SpecID()), f.data.Partition(), rows), rows: rows, deleted: map[int64]bool{}}
		c.Add = forge.Files(added.data)
		w.adopt(added)
	}
	w.commit(c)
}

// readd makes the path of a removed data file live again, with another sequence number and other rows: the deletes of
// before do not apply to them.
func (w *world) readd(s step) {
	dead := slices.DeleteFunc(slices.Clone(w.dead), func(path string) bool { return w.head().files[path] != nil })
	if len(dead) == 0 {
		return
	}
	path := dead[s.args[0]%len(dead)]
	f := w.dataFile(path[len(forge.Location+"/data/"):], s.args[1], 1+s.args[2])
	w.commit(forge.Change{Operation: table.OpAppend, Add: forge.Files(f.data), Remove: func(d iceberg.DataFile) bool {
		ref := d.ReferencedDataFile()
		return d.FileFormat() == iceberg.PuffinFile && ref != nil && *ref == path
	}})
	w.adopt(f)
}
