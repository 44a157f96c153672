package maintenance_test

import (
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// update commits bare metadata updates to db.t.
func update(t *testing.T, lake *testlake.Lake, updates ...table.Update) {
	tbl := lake.Load(t, "t")
	require.NoError(t, lake.Catalog.Commit(t.Context(), tbl, nil, updates))
}

// run runs one action on db.t of the lake.
func run(t *testing.T, lake *testlake.Lake, o maintenance.Options) *maintenance.Report {
	t.Helper()
	r, err := maintenance.Run(t.Context(), lake.Catalog, testlake.Ident("t"), o)
	require.NoError(t, err)
	return r
}

func reasons(skipped []maintenance.Skip) map[string]int {
	out := map[string]int{}
	for _, s := range skipped {
		out[s.Reason]++
	}
	return out
}

func TestAnIncompleteDeletionVectorIsNeitherCompletedNorHidden(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 2, 2)
	a, b := f[0].FilePath(), f[1].FilePath()
	deletePositions(t, lake, f[0], map[string][]int64{a: {1}, b: {5}})
	update(t, lake, table.NewUpgradeFormatVersionUpdate(3))
	replaceVector(t, lake, f[0], 2) // does not hold position 1: readers see row 1 again
	r := run(t, lake, fast(maintenance.Compact))
	assert.Equal(t, 1, reasons(r.Skipped)["dv-incomplete"])
	got := lake.Read(t, "t", "main")
	assert.Equal(t, map[string][][2]int64{a: {{2, 2}}, b: {{5, 5}}}, got.Positions, "what readers see stays, right or wrong")
	assert.Equal(t, 1, got.PositionDeleteFiles, "the position deletes stay for repair")
	assert.False(t, r.Committed, "a deletion vector for the other data file alone would gain nothing")
}

func TestASupersededPositionDeleteFileGoesAndTheDeletionVectorStaysWhereItIs(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 2, 2)
	a, b := f[0].FilePath(), f[1].FilePath()
	deletePositions(t, lake, f[0], map[string][]int64{a: {1}})
	deletePositions(t, lake, f[0], map[string][]int64{a: {3}, b: {5}})
	update(t, lake, table.NewUpgradeFormatVersionUpdate(3))
	replaceVector(t, lake, f[0], 1, 3, 7)
	puffins := lake.Read(t, "t", "main").Puffins
	r := run(t, lake, fast(maintenance.Migrate))
	got := lake.Read(t, "t", "main")
	assert.Equal(t, map[string][][2]int64{a: {{1, 1}, {3, 3}, {7, 7}}, b: {{5, 5}}}, got.Positions)
	assert.Zero(t, got.PositionDeleteFiles)
	assert.Equal(t, 1, r.DataFiles)
	for puffin := range puffins {
		assert.Contains(t, got.Puffins, puffin)
	}
}

func TestRecordsThatNameAlmostALivePathKeepTheirFile(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 2, 2)
	a, b := f[0].FilePath(), f[1].FilePath()
	near := "file:" + a[len("file://"):]
	deletePositions(t, lake, f[0], map[string][]int64{near: {1}, b: {5}})
	deletePositions(t, lake, f[0], map[string][]int64{b: {6}})
	r := run(t, lake, fast(maintenance.Migrate))
	assert.Equal(t, 1, reasons(r.Skipped)["path-near-miss"])
	got := lake.Read(t, "t", "main")
	assert.Equal(t, map[string][][2]int64{a: {}, b: {{5, 6}}}, got.Positions)
	assert.Equal(t, 1, got.PositionDeleteFiles)
	assert.False(t, run(t, lake, fast(maintenance.Migrate)).Committed)
}

func TestDanglingRecordsAreDroppedWithTheirFile(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 2, 1)
	a := f[0].FilePath()
	deletePositions(t, lake, f[0], map[string][]int64{a: {1}, "file:///elsewhere/gone.parquet": {2}})
	deletePositions(t, lake, f[0], map[string][]int64{"file:///elsewhere/gone-too.parquet": {2}})
	run(t, lake, fast(maintenance.Migrate))
	got := lake.Read(t, "t", "main")
	assert.Equal(t, map[string][][2]int64{a: {{1, 1}}}, got.Positions)
	assert.Zero(t, got.PositionDeleteFiles)
	assert.Equal(t, 1, got.DVs)
}

func TestAPositionDeleteFileWithANegativePositionBlocksWhatItMayApplyTo(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 2, 2)
	a, b := f[0].FilePath(), f[1].FilePath()
	deletePositions(t, lake, f[0], map[string][]int64{a: {1, -1}})
	deletePositions(t, lake, f[0], map[string][]int64{b: {5}})
	r := run(t, lake, fast(maintenance.Migrate))
	assert.False(t, r.Committed)
	assert.False(t, r.UpgradedFormat)
	assert.Equal(t, 3, reasons(r.Skipped)["delete-unreadable"], "the file and both data files it may apply to")
	assert.Equal(t, 2, lake.Load(t, "t").Metadata.Version())
}

func TestADamagedDeletionVectorKeepsItsWholePuffin(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 3, 4)
	tbl, err := lakewriter.Load(t.Context(), lake.Catalog, testlake.Ident("t"))
	require.NoError(t, err)
	positions := map[string][]int64{f[0].FilePath(): {1}, f[1].FilePath(): {2}}
	shared, err := lakewriter.DeletionVectors(t.Context(), tbl, positions, f[:2]...)
	require.NoError(t, err)
	_, err = lakewriter.Delta(t.Context(), tbl, "main", shared, nil)
	require.NoError(t, err)
	replaceVector(t, lake, f[2], 3)
	replaceVector(t, lake, f[3], 4)
	lake.Flip(t, shared[0].FilePath(), *shared[0].ContentOffset()+*shared[0].ContentSizeInBytes()-1) // its CRC
	r := run(t, lake, fast(maintenance.Compact))
	assert.True(t, r.Committed)
	assert.Equal(t, 1, reasons(r.Skipped)["dv-corrupt"])
	deletes, err := lakewriter.DeleteFiles(t.Context(), mustLoad(t, lake), "main")
	require.NoError(t, err)
	puffins := map[string]int{}
	for _, d := range deletes {
		puffins[d.FilePath()]++
	}
	assert.Equal(t, 2, puffins[shared[0].FilePath()], "the damaged one and its sibling")
	assert.Len(t, puffins, 2)
}

func mustLoad(t *testing.T, lake *testlake.Lake) *table.Table {
	tbl, err := lakewriter.Load(t.Context(), lake.Catalog, testlake.Ident("t"))
	require.NoError(t, err)
	return tbl
}

func TestNoLiveDeletionVectorSharesAPuffinWithARetiredOne(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 3, 3)
	tbl := mustLoad(t, lake)
	positions := map[string][]int64{}
	for i, d := range f {
		positions[d.FilePath()] = []int64{int64(i)}
	}
	all, err := lakewriter.DeletionVectors(t.Context(), tbl, positions, f...)
	require.NoError(t, err)
	_, err = lakewriter.Delta(t.Context(), tbl, "main", all, nil)
	require.NoError(t, err)
	replaceVector(t, lake, f[1], 1, 50) // retires one blob of the shared Puffin
	run(t, lake, fast(maintenance.Compact))
	got := lake.Read(t, "t", "main")
	assert.Equal(t, [][2]int64{{1, 1}, {50, 50}}, got.Positions[f[1].FilePath()])
	assert.Len(t, got.Puffins, 1)
	assert.NotContains(t, got.Puffins, all[0].FilePath())
}

func TestTheDataSequenceNumberIsTheLargestOfTheSourcesForEachDataFile(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 2, 2)
	a, b := f[0].FilePath(), f[1].FilePath()
	deletePositions(t, lake, f[0], map[string][]int64{a: {1}})         // sequence number 3
	deletePositions(t, lake, f[0], map[string][]int64{a: {2}, b: {2}}) // 4
	deletePositions(t, lake, f[0], map[string][]int64{b: {3}})         // 5
	run(t, lake, fast(maintenance.Migrate))
	tbl := mustLoad(t, lake)
	manifests, err := tbl.CurrentSnapshot().Manifests(lake.IO())
	require.NoError(t, err)
	seqs := map[string]int64{}
	for _, m := range manifests {
		if m.ManifestContent() != iceberg.ManifestContentDeletes {
			continue
		}
		for e, err := range m.Entries(lake.IO(), true) {
			require.NoError(t, err)
			seqs[*e.DataFile().ReferencedDataFile()] = e.SequenceNum()
			assert.EqualValues(t, 6, *e.FileSequenceNum(), "file sequence number is inherited")
		}
	}
	assert.Equal(t, map[string]int64{a: 4, b: 5}, seqs)
}

func TestTablesThatAreLeftAlone(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 2, 1)
	deletePositions(t, lake, f[0], map[string][]int64{f[0].FilePath(): {1}})
	head := lake.Load(t, "t").Metadata.CurrentSnapshot().SnapshotID
	update(t, lake, table.NewSetSnapshotRefUpdate("eod", head, table.TagRef, 0, 0, 0))
	before := lake.Files(t)
	for name, c := range map[string]struct {
		options maintenance.Options
		want    error
	}{
		"a tag":                {maintenance.Options{Action: maintenance.Migrate, UpgradeFormat: true, Ref: "eod"}, maintenance.ErrRefusedTable},
		"a branch that is not": {maintenance.Options{Action: maintenance.Migrate, UpgradeFormat: true, Ref: "dev"}, maintenance.ErrNoRef},
	} {
		_, err := maintenance.Run(t.Context(), lake.Catalog, testlake.Ident("t"), c.options)
		require.ErrorIs(t, err, c.want, name)
	}
	r := run(t, lake, maintenance.Options{Action: maintenance.Migrate})
	assert.Equal(t, 1, reasons(r.Skipped)["format-version"], "no upgrade without consent")
	r = run(t, lake, maintenance.Options{Action: maintenance.Compact, UpgradeFormat: true})
	assert.False(t, r.UpgradedFormat, "compact never upgrades")
	for property, value := range map[string]string{"dvcompactor.enabled": "false", "encryption.key-id": "k"} {
		update(t, lake, table.NewSetPropertiesUpdate(iceberg.Properties{property: value}))
		_, err := maintenance.Run(t.Context(), lake.Catalog, testlake.Ident("t"), fast(maintenance.Migrate))
		require.ErrorIs(t, err, maintenance.ErrRefusedTable)
		assert.ErrorContains(t, err, property)
		update(t, lake, table.NewRemovePropertiesUpdate([]string{property}))
	}
	assert.Equal(t, before, lake.Files(t))
}

func TestATableWithoutSnapshotsHasNothingToDo(t *testing.T) {
	t.Parallel()
	lake, _ := ownTable(t, 2, 0)
	r := run(t, lake, fast(maintenance.Migrate))
	assert.False(t, r.Committed)
	assert.Nil(t, r.SnapshotBefore)
	assert.Nil(t, r.SnapshotAfter)
	assert.Equal(t, 2, lake.Load(t, "t").Metadata.Version(), "nothing to migrate is no reason to upgrade")
}

func TestAReviewedPlanIsAppliedOrRefused(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 2, 2)
	deletePositions(t, lake, f[0], map[string][]int64{f[0].FilePath(): {1}})
	p, err := maintenance.MakePlan(t.Context(), lake.Load(t, "t"), fast(maintenance.Migrate))
	require.NoError(t, err)
	assert.True(t, p.Work)
	assert.True(t, p.UpgradeFormat)

	tbl := mustLoad(t, lake)
	_, err = lakewriter.Append(t.Context(), tbl, 2, 9000, 10) // not about deletes
	require.NoError(t, err)
	saved := *p
	deletePositions(t, lake, f[0], map[string][]int64{f[1].FilePath(): {2}})
	_, err = maintenance.Apply(t.Context(), lake.Catalog, testlake.Ident("t"), &saved, fast(""))
	require.ErrorIs(t, err, maintenance.ErrStale)

	p, err = maintenance.MakePlan(t.Context(), lake.Load(t, "t"), fast(maintenance.Migrate))
	require.NoError(t, err)
	_, err = lakewriter.Append(t.Context(), mustLoad(t, lake), 2, 9100, 10)
	require.NoError(t, err)
	r, err := maintenance.Apply(t.Context(), lake.Catalog, testlake.Ident("t"), p, fast(""))
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.Equal(t, p.PlanID, r.PlanID)
	_, err = maintenance.Apply(t.Context(), lake.Catalog, testlake.Ident("t"), p, fast(""))
	require.ErrorIs(t, err, maintenance.ErrStale, "a plan is applied once")
}

func TestManySmallPuffinsBecomeAsFewAsTheTargetSizeAllows(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 3, 12)
	for i, d := range f {
		var positions []int64
		for p := range int64(200) { // about 440 bytes
			positions = append(positions, 4*p+int64(i))
		}
		replaceVector(t, lake, d, positions...)
	}
	want := lake.Read(t, "t", "main").Positions
	o := fast(maintenance.Compact)
	o.TargetPuffinSize = 1300 // three vectors
	r := run(t, lake, o)
	got := lake.Read(t, "t", "main")
	assert.Equal(t, want, got.Positions)
	assert.Equal(t, 12, r.Before.PuffinFiles)
	assert.Len(t, got.Puffins, 4)
	assert.Equal(t, len(got.Puffins), r.After.PuffinFiles)
	assert.False(t, run(t, lake, o).Committed)
}

func TestManifestsStayFewOverManyRounds(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 3, 3)
	for round := range testlake.Size(12, 6) {
		for i, d := range f {
			replaceVector(t, lake, d, int64(round*10+i), int64(round*10+i+500))
		}
		run(t, lake, fast(maintenance.Compact))
		manifests, err := mustLoad(t, lake).CurrentSnapshot().Manifests(lake.IO())
		require.NoError(t, err)
		assert.LessOrEqual(t, len(manifests), 3+2, "data manifests, one of live entries, one of this commit's tombstones")
	}
}
