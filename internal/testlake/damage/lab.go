package damage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/stretchr/testify/require"
)

// rowsOf is how many rows a data file has unless its shape says so.
const rowsOf = 100

// lab is a table while it is made wrong.
type lab struct {
	*forge.Lake
	t     require.TestingT
	shape shape
	ref   string
	data  []iceberg.DataFile
	v2    *table.Snapshot // the last snapshot of format version 2 with all data files, nil when there is none
	names int

	right    map[string][]int64
	restore  int64
	dataFile string
	location string
	healthy  []string
	aliases  map[string]string
}

// newLab makes a table of three data files. Of format version 3 it has a healthy deletion vector of data
// file 1, unless the shape lets it share a Puffin file with the faulty one; of version 2 a healthy position delete file.
func newLab(t require.TestingT, s shape) *lab {
	s.version = cmp.Or(s.version, 3)
	s.rows = cmp.Or(s.rows, rowsOf)
	if s.positions == nil {
		s.positions = []int64{1, 2, 50}
	}
	o := forge.Options{Version: s.version}
	if s.beside {
		o.Version = 2
	}
	if s.partitioned {
		o.Spec = byRegion()
	}
	l := &lab{Lake: forge.New(t, o), t: t, shape: s, ref: cmp.Or(s.branch, "main"), right: map[string][]int64{}, aliases: map[string]string{}}
	l.dataFiles()
	if s.beside {
		l.besides()
	}
	l.sound()
	l.dataFile = l.path(0)
	return l
}

// byRegion is a spec of one field, the identity of region.
func byRegion() *iceberg.PartitionSpec {
	spec := iceberg.NewPartitionSpecID(0, iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1000, Transform: iceberg.IdentityTransform{}, Name: "region"})
	return &spec
}

// region is the partition of a region.
func region(n int32) forge.Tuple { return forge.Tuple{1000: n} }

// dataFiles commits data file 0, then the other two, and makes the branch.
func (l *lab) dataFiles() {
	for i := range 3 {
		var tuple forge.Tuple
		if l.shape.partitioned {
			tuple = region(int32(1 + i/2))
		}
		if l.shape.null && i < 2 {
			tuple = forge.Tuple{1000: nil}
		}
		f := l.DataFile("", 0, tuple, l.shape.rows)
		if l.shape.objects {
			l.Put(f.FilePath(), rowsFile(l.t, f.Count()))
		}
		l.data, l.right[f.FilePath()] = append(l.data, f), nil
	}
	for _, files := range [][]iceberg.DataFile{l.data[:1], l.data[1:]} {
		l.Lake.Commit(forge.Change{Operation: table.OpAppend, Add: forge.Files(files...)})
	}
	if l.shape.branch != "" {
		head := l.Load().Metadata.CurrentSnapshot().SnapshotID
		l.Update(table.NewSetSnapshotRefUpdate(l.ref, head, table.BranchRef, 0, 0, 0))
	}
	l.v2 = l.head()
}

// besides makes position deletes in format version 2 and upgrades the table.
func (l *lab) besides() {
	d := l.deletes(l.at(0, l.shape.positions[0]), l.at(2, 9)).Build()
	l.commit(d)
	l.right[l.path(2)] = []int64{9}
	l.healthy = append(l.healthy, d.FilePath())
	l.upgrade()
}

func (l *lab) upgrade() { l.Update(table.NewUpgradeFormatVersionUpdate(3)) }

// sound commits the healthy delete of data file 1.
func (l *lab) sound() {
	if l.shape.siblings {
		return
	}
	l.right[l.path(1)] = []int64{3, 5}
	files := []iceberg.DataFile{forge.Bounds(l.deletes(l.at(1, 3), l.at(1, 5)), l.path(1), l.path(1)).Build()}
	if l.shape.version >= 3 {
		files = l.put(forge.Puffin{Parts: []forge.Part{l.part(1, 3, 5)}}, nil)
	}
	l.commit(files...)
	l.healthy = append(l.healthy, files[0].FilePath())
}

func (l *lab) path(i int) string { return l.data[i].FilePath() }

func (l *lab) head() *table.Snapshot { return l.Load().Metadata.SnapshotByName(l.ref) }

// commit adds files to the branch.
func (l *lab) commit(files ...iceberg.DataFile) *table.Snapshot {
	return l.change(forge.Change{Add: forge.Files(files...)})
}

// change commits to the branch.
func (l *lab) change(c forge.Change) *table.Snapshot {
	c.Ref = l.ref
	return l.Commit(c)
}

// replace commits files in the place of others.
func (l *lab) replace(old []iceberg.DataFile, files ...iceberg.DataFile) *table.Snapshot {
	return l.change(forge.Change{Add: forge.Files(files...), Remove: same(old...)})
}

// same says whether an entry is one of some: deletion vectors by what they are about, since they share paths.
func same(files ...iceberg.DataFile) func(iceberg.DataFile) bool {
	return func(f iceberg.DataFile) bool {
		return slices.ContainsFunc(files, func(g iceberg.DataFile) bool {
			return f.FilePath() == g.FilePath() && text(f.ReferencedDataFile()) == text(g.ReferencedDataFile())
		})
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// deletes begins a position delete file in the partition of data file 0.
func (l *lab) deletes(records ...forge.Record) *iceberg.DataFileBuilder {
	return l.PositionDeletes(0, l.data[0].Partition(), records...)
}

// at is a record of a data file.
func (l *lab) at(i int, pos int64) forge.Record { return forge.Record{Path: l.path(i), Pos: pos} }

// records are the records of positions of a data file.
func (l *lab) records(i int, positions ...int64) []forge.Record {
	return forge.Records(map[string][]int64{l.path(i): positions})
}

// part is a healthy vector of a data file.
func (l *lab) part(i int, positions ...int64) forge.Part {
	return forge.Part{Blob: forge.EncodeVector(l.t, positions...), Of: l.path(i), Count: int64(len(positions))}
}

// name returns a new location.
func (l *lab) name(format string) string {
	l.names++
	return l.At + "/data/" + fmt.Sprintf(format, l.names)
}

// lose says that a repair cannot give back all deletes of a data file, only those that are kept.
func (l *lab) lose(i int, kept ...int64) {
	l.restore += int64(len(l.right[l.path(i)]) - len(kept))
	l.right[l.path(i)] = kept
}

// readable are the positions of data file 0 that are also in a position delete file.
func (l *lab) readable() []int64 {
	if l.shape.beside {
		return l.shape.positions[:1]
	}
	return nil
}

// table returns what was made.
func (l *lab) table() *Table {
	right := maps.Clone(l.right)
	for path, positions := range right {
		right[path] = slices.Compact(slices.Sorted(slices.Values(positions)))
	}
	return &Table{
		Lake: l.Lake, Ref: l.ref, Right: right, RestoreRows: l.restore, DataFile: l.dataFile, Location: l.location, Healthy: l.healthy, Aliases: l.aliases,
	}
}
