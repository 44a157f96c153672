package repair_test

import (
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/damage"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/repair"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// admitNamed makes the table of the case with a name.
func admitNamed(t *testing.T, name string) *ward {
	for _, c := range damage.All() {
		if c.Name == name {
			w := admit(t, c)
			w.options.Retry = maintenance.Retry{Attempts: 3, BaseDelay: time.Microsecond, MaxDelay: time.Microsecond}
			return w
		}
	}
	require.Fail(t, "no such case", name)
	return nil
}

// runOn repairs through another catalog.
func (w *ward) runOn(c catalog.Catalog, change func(*repair.Options)) (*repair.Report, error) {
	o := w.options
	change(&o)
	return repair.Run(w.t.Context(), c, forge.Ident(), o)
}

// meeting is a catalog in which something else is committed right before the first commit of a repair.
func (w *ward) meeting(other func()) *testlake.Racing {
	return &testlake.Racing{Catalog: w.Lake.Catalog, Before: func(n int) {
		if n == 1 {
			other()
		}
	}}
}

// raced are the repairs that are met by other writers: of one that changes no answer, one that does, one of position delete
// files, one of a manifest list, one that gives rows back.
func raced() []string {
	return []string{
		"dv-bare-blob: no footer, in a partition and sharing its Puffin file with healthy ones",
		"dv-duplicate: two vectors of different snapshots, neither of which holds the other",
		"dv-incomplete: a vector that lacks positions of version 2, in a partition",
		"delete-bounds: inverted, in format version 2, in a partition",
		"manifest-summary: no entry counted",
		"dv-missing: a Puffin file",
	}
}

func TestAWriterThatIsAboutOtherDataFilesAndTheRepairBothLand(t *testing.T) {
	t.Parallel()
	for _, name := range raced() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := admitNamed(t, name)
			dry, err := w.run(nil)
			require.NoError(t, err)
			added := w.Lake.DataFile("other.parquet", 0, w.dataFile().Partition(), 100)
			c := w.meeting(func() { w.Lake.Commit(forge.Change{Ref: w.Ref, Operation: table.OpAppend, Add: forge.Files(added)}) })
			report, err := w.runOn(c, w.consent(dry))
			require.NoError(t, err)
			assert.Equal(t, 2, c.Commits())
			assert.Equal(t, dry.PlanID, report.PlanID, "nothing has to be worked out again")
			w.Right[added.FilePath()] = nil
			w.assertRight()
			w.assertSound()
		})
	}
}

// dataFile is the live data file that the fault is about, or the first one.
func (w *ward) dataFile() iceberg.DataFile {
	var first iceberg.DataFile
	for _, e := range testlake.ReadDamagedSnapshot(w.t, w.Lake.IO(), w.Lake.Load().Metadata.SnapshotByName(w.Ref)).Entries {
		f := e.DataFile()
		if f.FilePath() == w.DataFile {
			return f
		}
		if first == nil || f.FilePath() < first.FilePath() {
			first = f
		}
	}
	return first
}

func TestDeletesThatAreCommittedMeanwhileAreNotLost(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]func(w *ward){
		"dv-duplicate: two vectors of different snapshots, neither of which holds the other": func(w *ward) {
			w.Lake.Commit(forge.Change{Ref: w.Ref, Add: forge.Files(w.Lake.DeletionVectors(forge.Vector{Data: w.dataFile(), Positions: []int64{88}})...)})
		},
		"delete-bounds: inverted, in format version 2, in a partition": func(w *ward) {
			d := w.Lake.PositionDeletes(0, w.dataFile().Partition(), forge.Record{Path: w.dataFile().FilePath(), Pos: 88}).Build()
			w.Lake.Commit(forge.Change{Ref: w.Ref, Add: forge.Files(d)})
		},
		"dv-crc-complement: a right vector": func(w *ward) {
			w.replaceVector(append([]int64{88}, w.Right[w.DataFile]...)...)
		},
		"dv-bare-blob: no footer, in a partition and sharing its Puffin file with healthy ones": func(w *ward) {
			w.replaceVector(append([]int64{88}, w.Right[w.dataFile().FilePath()]...)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := admitNamed(t, name)
			path := w.dataFile().FilePath()
			_, err := w.runOn(w.meeting(func() { other(w) }), applying)
			require.NoError(t, err)
			w.Right[path] = append(w.Right[path], 88)
			w.assertRight()
			w.assertSound()
		})
	}
}

// replaceVector does as a writer that deletes more of a data file.
func (w *ward) replaceVector(positions ...int64) {
	f := w.dataFile()
	w.Lake.Commit(forge.Change{
		Ref: w.Ref, Operation: table.OpDelete, Add: forge.Files(w.Lake.DeletionVectors(forge.Vector{Data: f, Positions: positions})...),
		Remove: func(d iceberg.DataFile) bool {
			return d.FileFormat() == iceberg.PuffinFile && d.ReferencedDataFile() != nil && *d.ReferencedDataFile() == f.FilePath()
		},
	})
}

func TestRowsThatMoreWouldComeBackOfMeanwhileAreAskedForAgain(t *testing.T) {
	t.Parallel()
	w := admitNamed(t, "dv-missing: a Puffin file")
	c := w.meeting(func() {
		lost := w.Lake.DeletionVectors(forge.Vector{Data: w.dataFile(), Positions: []int64{1, 2, 3, 4, 5}})
		w.Lake.Commit(forge.Change{Ref: w.Ref, Add: forge.Files(lost...), Remove: func(d iceberg.DataFile) bool { return d.FilePath() == w.Location }})
		require.NoError(t, w.Lake.Remove(lost[0].FilePath()))
	})
	report, err := w.runOn(c, restoring(w.RestoreRows))
	require.ErrorIs(t, err, repair.ErrConfirm)
	assert.EqualValues(t, 5, report.RestoreRows)
	assert.Equal(t, 1, c.Commits())
	assert.False(t, report.Applied)
}

func TestADataFileThatGoesMeanwhileTakesItsDeletesAlong(t *testing.T) {
	t.Parallel()
	w := admitNamed(t, "dv-duplicate: two vectors of different snapshots, neither of which holds the other")
	c := w.meeting(func() {
		w.Lake.Commit(forge.Change{Ref: w.Ref, Remove: func(d iceberg.DataFile) bool {
			return d.FilePath() == w.DataFile || d.ReferencedDataFile() != nil && *d.ReferencedDataFile() == w.DataFile
		}})
	})
	report, err := w.runOn(c, applying)
	require.NoError(t, err)
	assert.False(t, report.Applied, "there is nothing left to repair")
	delete(w.Right, w.DataFile)
	w.assertRight()
	w.assertSound()
}

func TestAWriterThatWinsEveryRaceEndsTheRepairWithoutATrace(t *testing.T) {
	t.Parallel()
	w := admitNamed(t, "dv-duplicate: two vectors of different snapshots, neither of which holds the other")
	positions := []int64{70}
	c := &testlake.Racing{Catalog: w.Lake.Catalog, Before: func(int) {
		positions = append(positions, positions[len(positions)-1]+1)
		w.Lake.Commit(forge.Change{Ref: w.Ref, Add: forge.Files(w.Lake.DeletionVectors(forge.Vector{Data: w.dataFile(), Positions: positions})...)})
	}}
	_, err := w.runOn(c, applying)
	require.ErrorIs(t, err, maintenance.ErrConflicts)
	for _, key := range w.Lake.Keys() {
		assert.NotContains(t, key, "metadata/dvcompactor/", "copies of a repair that did not happen are removed")
	}
	w.Right[w.DataFile] = append(w.Right[w.DataFile], positions...)
	report, err := w.run(applying)
	require.NoError(t, err)
	assert.True(t, report.Applied)
	w.assertRight()
}
