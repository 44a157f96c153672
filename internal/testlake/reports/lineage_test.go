package reports

import (
	"encoding/json"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rowIDs are the first row ids of the data files of a branch.
func (l *lab) rowIDs(ref string) map[string]int64 {
	out := map[string]int64{}
	for path, id := range l.read(ref).FirstRowIDs {
		require.NotNil(l.t, id, path)
		out[path] = *id
	}
	return out
}

func TestRowsAreNumberedOnceByTheFirstCommitAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.files(3)
	l.deletePositions(f[0], map[string][]int64{f[0].FilePath(): {1}})
	l.migrate()
	first := l.rowIDs("main")
	assert.Len(t, first, 3)
	assert.EqualValues(t, 3000, l.Load().Metadata.NextRowID())
	l.replaceVector(f[0], 1, 2)
	l.vector(f[1], 3)
	require.True(t, l.compact().Committed)
	assert.Equal(t, first, l.rowIDs("main"), "nothing is numbered again")
	assert.EqualValues(t, 3000, l.Load().Metadata.NextRowID())
}

func TestABranchThatIsStillAtAnOldSnapshotGetsRowIdsOfItsOwn(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.files(2)
	l.deletePositions(f[0], map[string][]int64{f[0].FilePath(): {1}, f[1].FilePath(): {2}})
	head := l.Load().Metadata.CurrentSnapshot().SnapshotID
	l.Update(table.NewSetSnapshotRefUpdate("dev", head, table.BranchRef, 0, 0, 0))
	l.migrate()
	onMain := l.rowIDs("main")
	assert.EqualValues(t, 2000, l.Load().Metadata.NextRowID())
	dev := options(maintenance.Migrate)
	dev.Ref = "dev"
	r := l.run(dev)
	assert.True(t, r.Committed)
	assert.False(t, r.UpgradedFormat, "the table is of version 3 since main was migrated")
	assert.Zero(t, l.read("dev").PositionDeleteFiles)
	assert.EqualValues(t, 4000, l.Load().Metadata.NextRowID(), "ids are never given twice, not even to the same rows of another branch")
	assert.Equal(t, onMain, l.rowIDs("main"))
	for _, id := range l.rowIDs("dev") {
		assert.GreaterOrEqual(t, id, int64(2000))
	}
	assert.Equal(t, l.read("main").Positions, l.read("dev").Positions)
}

func TestABranchAtASnapshotOfVersion2CanBeCompactedOnceTheTableIsUpgraded(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.files(1)[0]
	head := l.Load().Metadata.CurrentSnapshot().SnapshotID
	l.Update(table.NewSetSnapshotRefUpdate("dev", head, table.BranchRef, 0, 0, 0))
	d := l.PositionDeletes(0, nil, forge.Record{Path: f.FilePath(), Pos: 9}).Build()
	l.Commit(forge.Change{Ref: "dev", Add: forge.Files(d)})
	mainBefore := l.read("main")
	l.upgrade()
	o := options(maintenance.Compact)
	o.Ref = "dev"
	assert.True(t, l.run(o).Committed)
	assert.Equal(t, one(9), l.read("dev").Positions[f.FilePath()])
	assert.Equal(t, mainBefore.Positions, l.read("main").Positions)
	assert.Zero(t, l.read("main").DVs, "main is not touched")
}

func TestGapsInRowIdsStay(t *testing.T) {
	t.Parallel()
	l := newLab(t, v3())
	f := l.files(2)
	l.vector(f[0], 1)
	l.vector(f[1], 2)
	l.EditMetadata(func(m map[string]any) { m["next-row-id"] = json.Number("900000") })
	before := l.rowIDs("main")
	r := l.compact()
	require.True(t, r.Committed)
	meta := l.Load().Metadata
	assert.EqualValues(t, 900000, *meta.SnapshotByID(*r.SnapshotAfter).FirstRowID)
	assert.EqualValues(t, 0, *meta.SnapshotByID(*r.SnapshotAfter).AddedRows)
	assert.EqualValues(t, 900000, meta.NextRowID())
	assert.Equal(t, before, l.rowIDs("main"))
}

func TestARowIdInAnEntryOutlivesTheOneOfItsManifest(t *testing.T) {
	t.Parallel()
	l := newLab(t, v3())
	f, g := l.NumberedDataFile("", 0, nil, 10, 5_000_000), l.DataFile("", 0, nil, 10)
	one := int64(1)
	l.files(1)
	l.Commit(forge.Change{Operation: table.OpReplace, Add: []forge.Added{{File: f, Seq: &one}, {File: g, Seq: &one}}})
	l.EditMetadata(func(m map[string]any) { m["next-row-id"] = json.Number("6000000") })
	before := l.rowIDs("main")
	assert.EqualValues(t, 5_000_000, before[f.FilePath()])
	l.vector(f, 1)
	l.vector(g, 2)
	require.True(t, l.compact().Committed)
	assert.Equal(t, before, l.rowIDs("main"))
}

func TestMetadataThatWouldGiveRowIdsTwiceIsRefused(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(map[string]any){
		"without next-row-id":         func(m map[string]any) { delete(m, "next-row-id") },
		"next-row-id behind the rows": func(m map[string]any) { m["next-row-id"] = json.Number("10") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, v3())
			f := l.files(2)
			l.vector(f[0], 1)
			l.vector(f[1], 2)
			l.EditMetadata(edit)
			before := l.Keys()
			_, err := maintenance.Run(t.Context(), l.Catalog, forge.Ident(), options(maintenance.Compact))
			require.Error(t, err)
			assert.ErrorContains(t, err, "next-row-id")
			assert.Equal(t, before, l.Keys())
		})
	}
}

func TestAMigrationOnABranchOfItsOwnLeavesMainAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t, v3())
	f := l.files(2)
	head := l.Load().Metadata.CurrentSnapshot().SnapshotID
	l.Update(table.NewSetSnapshotRefUpdate("dev", head, table.BranchRef, 0, 0, 0))
	for _, c := range []struct {
		ref string
		f   iceberg.DataFile
	}{{"main", f[0]}, {"dev", f[0]}, {"dev", f[1]}} {
		d := l.DeletionVectors(forge.Vector{Data: c.f, Positions: []int64{int64(len(c.ref))}})
		l.Commit(forge.Change{Ref: c.ref, Add: forge.Files(d...)})
	}
	onMain := l.Load().Metadata.CurrentSnapshot().SnapshotID
	o := options(maintenance.Compact)
	o.Ref = "dev"
	r := l.run(o)
	assert.True(t, r.Committed)
	assert.Equal(t, onMain, l.Load().Metadata.CurrentSnapshot().SnapshotID)
	assert.Equal(t, one(4), l.read("main").Positions[f[0].FilePath()])
	assert.Equal(t, one(3), l.read("dev").Positions[f[0].FilePath()])
}
