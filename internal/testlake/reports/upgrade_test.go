package reports

import (
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheFirstDeletionVectorAfterAnUpgradeHoldsTheOldPositionDeletes(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.DataFile("", 0, nil, 3)
	l.append(f)
	l.deletePositions(f, map[string][]int64{f.FilePath(): {0}})
	l.upgrade()
	l.deletePositions(f, map[string][]int64{f.FilePath(): {1}}) // version 3 forbids it, some writers do it
	r := l.compact()
	assert.True(t, r.Committed)
	got := l.read("main")
	assert.Equal(t, [][2]int64{{0, 1}}, got.Positions[f.FilePath()])
	assert.Equal(t, 1, got.DVs)
	assert.Zero(t, got.PositionDeleteFiles)
}

func TestADeleteFileOfAPartitionIsFoldedIntoEveryDataFileThatItHasRowsOf(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.files(2)
	a, b := f[0].FilePath(), f[1].FilePath()
	l.deletePositions(f[0], map[string][]int64{a: {0}, b: {0}})
	l.upgrade()
	l.vector(f[0], 0, 1) // a correct writer: the old row and a new one; the old file stays for the other data file
	r := l.compact()
	got := l.read("main")
	assert.Equal(t, map[string][][2]int64{a: {{0, 1}}, b: {{0, 0}}}, got.Positions)
	assert.Zero(t, got.PositionDeleteFiles)
	assert.Equal(t, 1, r.Before.PositionDeleteFiles)
	assert.Equal(t, 0, r.After.PositionDeleteFiles)
}

func TestNothingButAnExplicitWishUpgradesATable(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.files(1)[0]
	l.deletePositions(f, map[string][]int64{f.FilePath(): {0}})
	for _, o := range []maintenance.Options{{Action: maintenance.Migrate}, {Action: maintenance.Compact}, {Action: maintenance.Compact, UpgradeFormat: true}} {
		r := l.run(o)
		assert.False(t, r.Committed)
		if o.Action == maintenance.Migrate {
			assert.Contains(t, skip(t, r, "format-version").Hint, "cannot be undone")
		}
		assert.Equal(t, 2, l.Load().Metadata.Version())
	}
	p, err := maintenance.MakePlan(t.Context(), l.Load(), options(maintenance.Migrate))
	require.NoError(t, err)
	assert.True(t, p.UpgradeFormat, "the plan says so before anything is done")
	assert.True(t, l.migrate().UpgradedFormat)
	assert.Equal(t, 3, l.Load().Metadata.Version())
}

func TestADeleteFileGoesAlthoughOneOfItsDataFilesIsGone(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.files(3)
	a, b, c := f[0].FilePath(), f[1].FilePath(), f[2].FilePath()
	l.deletePositions(f[0], map[string][]int64{a: {0}, b: {1}, c: {2}})
	l.Commit(forge.Change{Operation: table.OpDelete, Remove: named(f[1])})
	l.migrate()
	got := l.read("main")
	assert.Zero(t, got.PositionDeleteFiles)
	assert.Equal(t, map[string][][2]int64{a: one(0), c: one(2)}, got.Positions)
}

func TestSnapshotsOfBeforeTheUpgradeStayAsTheyAre(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.files(2)
	l.deletePositions(f[0], map[string][]int64{f[0].FilePath(): {7}})
	before := l.Load().Metadata.Snapshots()
	l.migrate()
	meta := l.Load().Metadata
	for _, s := range before {
		old := meta.SnapshotByID(s.SnapshotID)
		require.NotNil(t, old)
		assert.Nil(t, old.FirstRowID)
		assert.Nil(t, old.AddedRows)
	}
	assert.EqualValues(t, 2000, meta.NextRowID())
}

// What an upgraded table may look like before somebody tidies it up.
func TestUpgradedTablesInEveryHalfWayState(t *testing.T) {
	t.Parallel()
	type state struct {
		make func(l *lab, f []iceberg.DataFile)
		left int            // position delete files after compact
		dvs  int            // deletion vectors after compact
		skip map[string]int // reasons
	}
	a := func(f []iceberg.DataFile) string { return f[0].FilePath() }
	b := func(f []iceberg.DataFile) string { return f[1].FilePath() }
	for name, c := range map[string]state{
		"no snapshot since the upgrade": {func(l *lab, f []iceberg.DataFile) {
			l.deletePositions(f[0], map[string][]int64{a(f): {1}, b(f): {2}})
			l.upgrade()
		}, 0, 2, nil},
		"one with a deletion vector, one with position deletes": {func(l *lab, f []iceberg.DataFile) {
			l.deletePositions(f[1], map[string][]int64{b(f): {2}})
			l.upgrade()
			l.vector(f[0], 1)
		}, 0, 2, nil},
		"a delete file superseded for one of its data files": {func(l *lab, f []iceberg.DataFile) {
			l.deletePositions(f[0], map[string][]int64{a(f): {1}, b(f): {2}})
			l.upgrade()
			l.vector(f[0], 1, 5)
		}, 0, 2, nil},
		"a delete file superseded for all of them": {func(l *lab, f []iceberg.DataFile) {
			l.deletePositions(f[0], map[string][]int64{a(f): {1}, b(f): {2}})
			l.upgrade()
			l.vector(f[0], 1, 5)
			l.vector(f[1], 2, 5)
		}, 0, 2, nil},
		"a deletion vector that lacks a position delete": {func(l *lab, f []iceberg.DataFile) {
			l.deletePositions(f[0], map[string][]int64{a(f): {1}})
			l.deletePositions(f[1], map[string][]int64{b(f): {1}})
			l.upgrade()
			l.vector(f[0], 5)
		}, 1, 2, map[string]int{"dv-incomplete": 1}},
		"a position delete file added since the upgrade": {func(l *lab, f []iceberg.DataFile) {
			l.upgrade()
			l.vector(f[1], 3)
			l.deletePositions(f[0], map[string][]int64{a(f): {1}, b(f): {3}})
		}, 0, 2, nil},
		"a data file without row ids beside numbered ones": {func(l *lab, f []iceberg.DataFile) {
			l.deletePositions(f[0], map[string][]int64{a(f): {1}})
			l.upgrade()
			l.append(l.DataFile("", 0, nil, 10))
		}, 0, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, v2())
			f := l.files(2)
			c.make(l, f)
			r := l.compact()
			assert.True(t, r.Committed)
			got := l.read("main")
			assert.Equal(t, c.left, got.PositionDeleteFiles)
			assert.Equal(t, c.dvs, got.DVs)
			if c.skip != nil {
				assert.Equal(t, c.skip, reasons(r))
			}
			for path, id := range got.FirstRowIDs {
				assert.NotNil(t, id, "rows of %s have no ids", path)
			}
		})
	}
}

func TestADataFileWithoutARowLeftStays(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.DataFile("", 0, nil, 3)
	l.append(f)
	l.deletePositions(f, map[string][]int64{f.FilePath(): {2, 0, 1}})
	l.migrate()
	assert.Equal(t, map[string][][2]int64{f.FilePath(): {{0, 2}}}, l.read("main").Positions)
}

func TestAnEmptyDeletionVectorHidesPositionDeletesAndIsNotTrusted(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.files(2)
	l.deletePositions(f[0], map[string][]int64{f[0].FilePath(): {1}, f[1].FilePath(): {2}})
	l.upgrade()
	l.delete(l.puffin(f[0], l.blob(), "0", 0).Build())
	r := l.compact()
	assert.Equal(t, map[string]int{"dv-incomplete": 1}, reasons(r))
	got := l.read("main")
	assert.Equal(t, map[string][][2]int64{f[0].FilePath(): {}, f[1].FilePath(): one(2)}, got.Positions, "readers see row 1 before and after")
	assert.Equal(t, 1, got.PositionDeleteFiles)
}
