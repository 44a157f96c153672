package reports

import (
	"io/fs"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/internal/testlake/judge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lab is a table of a forge whose commits of ours are all judged.
type lab struct {
	*forge.Lake
	t        *testing.T
	damaged  bool     // it is wrong on purpose: what a strict reader refuses has to stay what it is
	io       iceio.IO // what readers that share no code with the program read with
	judged   int
	unjudged bool // the judge is not for tables like this one
}

func newLab(t *testing.T, o forge.Options) *lab {
	l := &lab{t: t, Lake: forge.New(t, o)}
	l.io = l.Lake.IO()
	l.OnCommit(l.committed)
	return l
}

// newDamagedLab is newLab for a table that is wrong.
func newDamagedLab(t *testing.T, o forge.Options) *lab {
	l := newLab(t, o)
	l.damaged = true
	return l
}

// committed judges every commit of ours.
func (l *lab) committed(before, after table.Metadata) {
	for _, s := range after.Snapshots() {
		if before.SnapshotByID(s.SnapshotID) != nil || s.Summary.Properties["dvcompactor.plan-id"] == "" {
			continue
		}
		l.judged++
		verdict := judge.Commit
		if l.damaged {
			verdict = judge.Damaged
		}
		assert.NoError(l.t, verdict(l.t, l.io, before, after))
	}
}

// files makes data files of the default spec with 1000 rows each and commits each in a snapshot of its own.
func (l *lab) files(n int) []iceberg.DataFile {
	var out []iceberg.DataFile
	for range n {
		f := l.DataFile("", 0, forge.Tuple{}, 1000)
		l.append(f)
		out = append(out, f)
	}
	return out
}

// append commits data files.
func (l *lab) append(files ...iceberg.DataFile) {
	l.Commit(forge.Change{Operation: table.OpAppend, Add: forge.Files(files...)})
}

// delete commits delete files.
func (l *lab) delete(files ...iceberg.DataFile) *table.Snapshot {
	return l.Commit(forge.Change{Operation: table.OpDelete, Add: forge.Files(files...)})
}

// deletePositions commits one position delete file in the partition of a data file.
func (l *lab) deletePositions(like iceberg.DataFile, positions map[string][]int64) iceberg.DataFile {
	d := l.PositionDeletes(int(like.SpecID()), like.Partition(), forge.Records(positions)...).Build()
	l.delete(d)
	return d
}

// vector commits one deletion vector in a Puffin file of its own, beside whatever there is.
func (l *lab) vector(f iceberg.DataFile, positions ...int64) iceberg.DataFile {
	d := l.DeletionVectors(forge.Vector{Data: f, Positions: positions})[0]
	l.delete(d)
	return d
}

// replaceVector commits a deletion vector in the place of the one that a data file has.
func (l *lab) replaceVector(f iceberg.DataFile, positions ...int64) iceberg.DataFile {
	d := l.DeletionVectors(forge.Vector{Data: f, Positions: positions})[0]
	l.Commit(forge.Change{Operation: table.OpDelete, Add: forge.Files(d), Remove: isVectorOf(f)})
	return d
}

func isVectorOf(f iceberg.DataFile) func(iceberg.DataFile) bool {
	return func(d iceberg.DataFile) bool {
		ref := d.ReferencedDataFile()
		return d.FileFormat() == iceberg.PuffinFile && ref != nil && *ref == f.FilePath()
	}
}

// named says whether an entry is that of one of some files.
func named(files ...iceberg.DataFile) func(iceberg.DataFile) bool {
	return func(d iceberg.DataFile) bool {
		for _, f := range files {
			if f.FilePath() == d.FilePath() {
				return true
			}
		}
		return false
	}
}

func (l *lab) upgrade() { l.Update(table.NewUpgradeFormatVersionUpdate(3)) }

// read reads what is deleted at a branch.
func (l *lab) read(ref string) *testlake.Deletes {
	return l.readSnapshot(l.Load().Metadata.SnapshotByName(ref))
}

func (l *lab) readSnapshot(s *table.Snapshot) *testlake.Deletes {
	require.NotNil(l.t, s)
	if l.damaged {
		return testlake.ReadDamagedSnapshot(l.t, l.io, s)
	}
	return testlake.ReadSnapshot(l.t, l.io, s)
}

// history reads what is deleted at every snapshot.
func (l *lab) history() map[int64]map[string][][2]int64 {
	out := map[int64]map[string][][2]int64{}
	for _, s := range l.Load().Metadata.Snapshots() {
		out[s.SnapshotID] = l.readSnapshot(&s).Positions
	}
	return out
}

// options are those of a run that does not wait.
func options(action maintenance.Action) maintenance.Options {
	return maintenance.Options{
		Action: action, UpgradeFormat: action == maintenance.Migrate, Parallelism: 2,
		Retry: maintenance.Retry{BaseDelay: time.Nanosecond, MaxDelay: time.Nanosecond},
	}
}

// run runs an action and then once more. Every snapshot and every branch has to read as before, and the second run has
// to find nothing to do.
func (l *lab) run(o maintenance.Options) *maintenance.Report {
	l.t.Helper()
	return l.runThrough(l.Catalog, o)
}

func (l *lab) runThrough(cat catalog.Catalog, o maintenance.Options) *maintenance.Report {
	l.t.Helper()
	history, judged := l.history(), l.judged
	r, err := maintenance.Run(l.t.Context(), cat, forge.Ident(), o)
	require.NoError(l.t, err)
	assert.True(l.t, l.unjudged || r.Committed == (l.judged == judged+1), "commits that were judged")
	after := l.history()
	for id, want := range history {
		assert.Equal(l.t, want, after[id], "snapshot %d", id)
	}
	if r.Committed {
		for path, want := range history[*r.SnapshotBefore] {
			assert.Equal(l.t, want, after[*r.SnapshotAfter][path], "deleted positions of %s after the run", path)
		}
	}
	again, err := maintenance.Run(l.t.Context(), l.Catalog, forge.Ident(), o)
	require.NoError(l.t, err)
	assert.False(l.t, again.Committed, "a second run commits")
	return r
}

func (l *lab) migrate() *maintenance.Report {
	l.t.Helper()
	return l.run(options(maintenance.Migrate))
}

func (l *lab) compact() *maintenance.Report {
	l.t.Helper()
	return l.run(options(maintenance.Compact))
}

// reasons counts the skips of a report by reason.
func reasons(r *maintenance.Report) map[string]int {
	out := map[string]int{}
	for _, s := range r.Skipped {
		out[s.Reason]++
	}
	return out
}

// skip returns the first skip of a reason.
func skip(t *testing.T, r *maintenance.Report, reason string) maintenance.Skip {
	for _, s := range r.Skipped {
		if s.Reason == reason {
			return s
		}
	}
	require.Fail(t, "nothing is skipped for this reason", "%s: %+v", reason, r.Skipped)
	return maintenance.Skip{}
}

// one is the inclusive range of one position.
func one(p int64) [][2]int64 { return [][2]int64{{p, p}} }

// at are the inclusive ranges of single positions.
func at(positions ...int64) [][2]int64 { return testlake.Ranges(positions) }

// v2 and v3 are the options of an unpartitioned table.
func v2() forge.Options { return forge.Options{Version: 2} }
func v3() forge.Options { return forge.Options{Version: 3} }

// without is file access to everything but one object, about which the reader of the tests knows nothing.
type without struct {
	iceio.IO
	name string
}

// Open implements iceio.IO.
func (w without) Open(name string) (iceio.File, error) {
	if name == w.name {
		return nil, fs.ErrPermission
	}
	return w.IO.Open(name)
}
