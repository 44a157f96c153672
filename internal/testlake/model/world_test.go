package model

import (
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/internal/testlake/judge"
	"github.com/stretchr/testify/require"
)

// file is a live data file of the model.
type file struct {
	data    iceberg.DataFile
	rows    int64
	deleted map[int64]bool
}

func (f *file) copy() *file {
	return &file{data: f.data, rows: f.rows, deleted: maps.Clone(f.deleted)}
}

// branch is what the model knows of a branch: its live data files by path.
type branch struct{ files map[string]*file }

func (b *branch) copy() *branch {
	out := &branch{files: map[string]*file{}}
	for path, f := range b.files {
		out.files[path] = f.copy()
	}
	return out
}

// sorted returns the live data files in the order of their paths, those of one partition when like is not nil.
func (b *branch) sorted(like iceberg.DataFile) []*file {
	var out []*file
	for _, path := range slices.Sorted(maps.Keys(b.files)) {
		f := b.files[path]
		if like == nil || samePartition(f.data, like) {
			out = append(out, f)
		}
	}
	return out
}

func samePartition(a, b iceberg.DataFile) bool {
	return a.SpecID() == b.SpecID() && testlake.EqualTuples(a.Partition(), b.Partition())
}

// world is a table, the model beside it, and what has to stay true.
type world struct {
	t        require.TestingT
	lake     *forge.Lake
	branches map[string]*branch
	use      string            // the branch that steps work on
	dead     []string          // paths of data files that are live nowhere on some branch
	old      map[int64]*branch // what every snapshot held
	judged   int               // commits of ours that were judged
	steps    int               // steps taken
	specs    map[string]int    // ids of the partition specs by the names of their fields
	schemas  int               // schemas made
	noted    map[string]int    // what happened how often
}

func newWorld(t require.TestingT) *world {
	w := &world{t: t, branches: map[string]*branch{"main": {files: map[string]*file{}}}, use: "main", old: map[int64]*branch{}, specs: map[string]int{"region": 0}, noted: map[string]int{}}
	spec := iceberg.NewPartitionSpec(regionField())
	w.lake = forge.New(t, forge.Options{Spec: &spec, Properties: iceberg.Properties{"commit.manifest.min-count-to-merge": "4"}})
	w.lake.OnCommit(w.committed)
	return w
}

func regionField() iceberg.PartitionField {
	return iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1000, Name: "region", Transform: iceberg.IdentityTransform{}}
}

func dayField() iceberg.PartitionField {
	return iceberg.PartitionField{SourceIDs: []int{3}, FieldID: 1001, Name: "day", Transform: iceberg.IdentityTransform{}}
}

// committed judges every commit of ours, also of runs that a fault or a crash ended.
func (w *world) committed(before, after table.Metadata) {
	for _, s := range after.Snapshots() {
		if before.SnapshotByID(s.SnapshotID) == nil && s.Summary.Properties["dvcompactor.plan-id"] != "" {
			w.judged++
			require.NoError(w.t, judge.Commit(w.t, w.lake.IO(), before, after))
		}
	}
}

// head returns the model of the branch in use.
func (w *world) head() *branch { return w.branches[w.use] }

// commit commits a writer's change to the branch in use, if there is one.
func (w *world) commit(c forge.Change) {
	c.Ref = w.use
	c.Forget = w.steps%3 == 0
	w.lake.Commit(c)
}

// check compares every branch with what an independent reader finds, and remembers what each snapshot holds.
func (w *world) check() {
	meta := w.lake.Load().Metadata
	for name, b := range w.branches {
		snap := meta.SnapshotByName(name)
		if snap == nil {
			require.Empty(w.t, b.files)
			continue
		}
		if w.old[snap.SnapshotID] != nil {
			continue // nothing happened on this branch
		}
		w.compare(snap, b)
		w.old[snap.SnapshotID] = b.copy()
	}
}

func (w *world) compare(snap *table.Snapshot, b *branch) {
	got := testlake.ReadSnapshot(w.t, w.lake.IO(), snap)
	want := map[string][][2]int64{}
	for path, f := range b.files {
		want[path] = testlake.Ranges(slices.Sorted(maps.Keys(f.deleted)))
	}
	require.Equal(w.t, want, got.Positions, "deleted positions by data file at snapshot %d", snap.SnapshotID)
}

// end checks that a run finds nothing to do after another, that there was progress, and that old snapshots read as they
// always did.
func (w *world) end() {
	for _, name := range slices.Sorted(maps.Keys(w.branches)) {
		w.use = name
		for _, verb := range []string{"migrate", "compact"} {
			w.verb(step{op: verb, args: [4]int{2 * (w.steps % 3), 2}}) // with a lot of memory, or hardly any
			w.check()
		}
		w.progress()
	}
	meta := w.lake.Load().Metadata
	for id, b := range w.old {
		if s := meta.SnapshotByID(id); s != nil {
			w.compare(s, b)
		}
	}
}

// progress checks that what is left is what has to be: position delete files all of whose records name data files of
// another partition, and one Puffin file for each partition spec.
func (w *world) progress() {
	snap := w.lake.Load().Metadata.SnapshotByName(w.use)
	if snap == nil {
		return
	}
	run := &attempt{world: w, options: w.options(step{op: "migrate", args: [4]int{2, 2}})}
	run.do()
	require.NoError(w.t, run.err)
	for _, skip := range run.report.Skipped {
		require.Equal(w.t, "delete-partition", skip.Reason, "%+v", skip)
	}
	left := testlake.ReadSnapshot(w.t, w.lake.IO(), snap)
	require.Len(w.t, run.report.Skipped, left.PositionDeleteFiles)
	specs := map[int32]bool{}
	for path, positions := range left.Positions {
		if len(positions) > 0 {
			specs[left.Entries[path].DataFile().SpecID()] = true
		}
	}
	require.LessOrEqual(w.t, len(left.Puffins), len(specs), "more Puffin files than partition specs")
}

// run takes the steps of a script.
func (w *world) run(steps []step) {
	for _, s := range steps {
		w.steps++
		w.take(s)
		w.check()
	}
	w.end()
}

// take takes one step.
func (w *world) take(s step) {
	switch s.op {
	case "compact", "migrate":
		w.verb(s)
	case "branch", "use":
		w.branch(s)
	case "spec", "schema", "upgrade", "expire":
		w.evolve(s)
	default:
		w.write(s)
	}
}

// branch makes a branch at the head of the one in use, or changes to another one.
func (w *world) branch(s step) {
	snap := w.lake.Load().Metadata.SnapshotByName(w.use)
	name := []string{"main", "dev", "audit"}[s.args[0]%3]
	if s.op == "branch" && snap != nil && w.branches[name] == nil {
		w.lake.Update(table.NewSetSnapshotRefUpdate(name, snap.SnapshotID, table.BranchRef, 0, 0, 0))
		w.branches[name] = w.head().copy()
	}
	if w.branches[name] != nil {
		w.use = name
	}
}

// evolve changes what the whole table has.
func (w *world) evolve(s step) {
	meta := w.lake.Load().Metadata
	switch s.op {
	case "upgrade":
		if meta.Version() < 3 {
			w.lake.Update(table.NewUpgradeFormatVersionUpdate(3))
		}
	case "spec":
		w.spec([]string{"region", "", "region,day"}[s.args[0]%3])
	case "schema":
		w.schema(meta, s.args[0])
	case "expire":
		w.expire(meta, s.args[0]%2 == 0)
	}
}

// spec makes a partition spec the default one.
func (w *world) spec(fields string) {
	if _, ok := w.lake.Load().Metadata.CurrentSchema().FindFieldByID(3); !ok && fields == "region,day" {
		return // its source column was dropped
	}
	id, known := w.specs[fields]
	if !known {
		id = len(w.specs)
		w.specs[fields] = id
		list := map[string][]iceberg.PartitionField{"": {}, "region,day": {regionField(), dayField()}}[fields]
		spec := iceberg.NewPartitionSpecID(id, list...)
		w.lake.Update(table.NewAddPartitionSpecUpdate(&spec, false))
	}
	w.lake.Update(table.NewSetDefaultSpecUpdate(id))
}

// schema adds a column, or drops the one that a spec which is no longer the default one was made from.
func (w *world) schema(meta table.Metadata, n int) {
	if w.schemas >= 6 {
		return
	}
	w.schemas++
	fields := slices.Clone(meta.CurrentSchema().Fields())
	spec := meta.PartitionSpec()
	if n%2 == 0 && spec.NumFields() < 2 {
		fields = slices.DeleteFunc(fields, func(f iceberg.NestedField) bool { return f.ID == 3 })
	} else {
		fields = append(fields, iceberg.NestedField{ID: 100 + w.schemas, Name: fmt.Sprintf("c%d", w.schemas), Type: iceberg.PrimitiveTypes.String})
	}
	next := iceberg.NewSchema(meta.CurrentSchema().ID+w.schemas, fields...)
	w.lake.Update(table.NewAddSchemaUpdate(next), table.NewSetCurrentSchemaUpdate(-1))
}

// expire drops every snapshot that is no branch's head. As the reference does by default on a table with one branch, it
// then removes by path what the snapshots that it expired had retired: those of ours, for other writers are not judged
// here by what they leave behind in a shared Puffin file.
func (w *world) expire(meta table.Metadata, clean bool) {
	var ids []int64
	gone := map[string]bool{}
	for _, s := range meta.Snapshots() {
		if w.isHead(meta, s.SnapshotID) {
			continue
		}
		ids = append(ids, s.SnapshotID)
		delete(w.old, s.SnapshotID)
		if clean && len(w.branches) == 1 && s.Summary.Properties["dvcompactor.plan-id"] != "" {
			w.retired(s, gone)
		}
	}
	if len(ids) == 0 {
		return
	}
	w.lake.Update(table.NewRemoveSnapshotsUpdate(ids, false))
	for path := range gone {
		_ = w.lake.Remove(path) // it may be gone already
	}
}

func (w *world) isHead(meta table.Metadata, id int64) bool {
	for _, r := range meta.Refs() {
		if r.SnapshotID == id {
			return true
		}
	}
	return false
}

// retired collects the paths of the delete entries that a snapshot marked DELETED.
func (w *world) retired(s table.Snapshot, into map[string]bool) {
	manifests, err := s.Manifests(w.lake.IO())
	require.NoError(w.t, err)
	for _, m := range manifests {
		if m.SnapshotID() != s.SnapshotID {
			continue
		}
		for e, err := range m.Entries(w.lake.IO(), false) {
			require.NoError(w.t, err)
			if e.Status() == iceberg.EntryStatusDELETED && e.DataFile().ContentType() != iceberg.EntryContentData {
				into[e.DataFile().FilePath()] = true
			}
		}
	}
}
