package maintenance_test

import (
	"slices"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// coolingSince returns options that leave alone what changed after a moment, seen from one hour after it.
func coolingSince(action maintenance.Action, moment time.Time) maintenance.Options {
	o := fast(action)
	o.CoolDown = time.Hour
	o.Now = func() time.Time { return moment.Add(time.Hour) }
	return o
}

// later waits until the clock that snapshots are stamped with has moved on, and returns what it shows.
func later(t *testing.T, lake *testlake.Lake) time.Time {
	head := lake.Load(t, "t").Metadata.CurrentSnapshot().TimestampMs
	for time.Now().UnixMilli() <= head+1 {
		time.Sleep(time.Millisecond)
	}
	moment := time.Now()
	for time.Now().UnixMilli() <= moment.UnixMilli()+1 {
		time.Sleep(time.Millisecond)
	}
	return moment
}

func skippedFor(skips []maintenance.Skip, reason string) (dataFiles, locations []string) {
	for _, s := range skips {
		switch {
		case s.Reason != reason:
		case s.DataFile != "":
			dataFiles = append(dataFiles, s.DataFile)
		default:
			locations = append(locations, s.Location)
		}
	}
	slices.Sort(dataFiles)
	return dataFiles, locations
}

func TestAHotDeletionVectorStaysWithItsWholePuffin(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 3, 5)
	replaceVector(t, lake, f[0], 1)
	replaceVector(t, lake, f[1], 2)
	moment := later(t, lake)
	tbl := mustLoad(t, lake)
	positions := map[string][]int64{f[2].FilePath(): {3}, f[3].FilePath(): {4}}
	hot, err := lakewriter.DeletionVectors(t.Context(), tbl, positions, f[2], f[3])
	require.NoError(t, err)
	_, err = lakewriter.Delta(t.Context(), tbl, "main", hot, nil)
	require.NoError(t, err)
	want := lake.Read(t, "t", "main").Positions

	o := coolingSince(maintenance.Compact, moment)
	p, err := maintenance.MakePlan(t.Context(), lake.Load(t, "t"), o)
	require.NoError(t, err)
	hotFiles, _ := skippedFor(p.Skipped, "cool-down")
	assert.ElementsMatch(t, []string{f[2].FilePath(), f[3].FilePath()}, hotFiles)
	assert.Len(t, p.Puffins, 2)
	assert.Equal(t, moment.UnixMilli(), p.Settings.HotSince)

	r := run(t, lake, o)
	assert.True(t, r.Committed)
	hotFiles, _ = skippedFor(r.Skipped, "cool-down")
	assert.Len(t, hotFiles, 2)
	got := lake.Read(t, "t", "main")
	assert.Equal(t, want, got.Positions)
	assert.Equal(t, 2, got.Puffins[hot[0].FilePath()], "both vectors of it")
	assert.Len(t, got.Puffins, 2)

	r = run(t, lake, fast(maintenance.Compact))
	assert.True(t, r.Committed, "without a cool-down it is taken")
	assert.Len(t, lake.Read(t, "t", "main").Puffins, 1)
}

func TestAHotPositionDeleteFileKeepsOnlyTheDataFilesItTouchesOutOfTheCommit(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]int64{"in one pass": 0, "in many passes": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lake, f := ownTable(t, 2, 3)
			a, b, c := f[0].FilePath(), f[1].FilePath(), f[2].FilePath()
			deletePositions(t, lake, f[0], map[string][]int64{a: {1}, b: {2}}) // shared by a hot and a cool data file
			deletePositions(t, lake, f[0], map[string][]int64{b: {3}, c: {4}})
			moment := later(t, lake)
			deletePositions(t, lake, f[0], map[string][]int64{a: {9}})
			want := lake.Read(t, "t", "main").Positions
			o := coolingSince(maintenance.Migrate, moment)
			o.Memory = memory
			r := run(t, lake, o)
			assert.True(t, r.Committed)
			hotFiles, hotDeletes := skippedFor(r.Skipped, "cool-down")
			assert.Equal(t, []string{a}, hotFiles)
			assert.Len(t, hotDeletes, 1)
			got := lake.Read(t, "t", "main")
			assert.Equal(t, want, got.Positions)
			assert.Equal(t, 2, got.PositionDeleteFiles, "the hot one and the one it shares a data file with")
			assert.Equal(t, 2, got.DVs, "of the cool data files")
			assert.False(t, run(t, lake, o).Committed)
			run(t, lake, fast(maintenance.Migrate))
			got = lake.Read(t, "t", "main")
			assert.Zero(t, got.PositionDeleteFiles)
			assert.Equal(t, want, got.Positions)
		})
	}
}

func TestWhenEverythingIsHotThereIsNothingToDo(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 2, 2)
	moment := later(t, lake)
	deletePositions(t, lake, f[0], map[string][]int64{f[0].FilePath(): {1}, f[1].FilePath(): {2}})
	before := lake.Files(t)
	p, err := maintenance.MakePlan(t.Context(), lake.Load(t, "t"), coolingSince(maintenance.Migrate, moment))
	require.NoError(t, err)
	assert.False(t, p.Work)
	r := run(t, lake, coolingSince(maintenance.Migrate, moment))
	assert.False(t, r.Committed)
	assert.False(t, r.UpgradedFormat)
	assert.Equal(t, before, lake.Files(t))
}

func TestADeleteOfTheFutureIsHotAndOneOfAnExpiredSnapshotIsOld(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 3, 2)
	replaceVector(t, lake, f[0], 1)
	first := lake.Load(t, "t").Metadata.CurrentSnapshot().SnapshotID
	replaceVector(t, lake, f[1], 2)
	o := fast(maintenance.Compact)
	o.CoolDown = time.Minute
	o.Now = func() time.Time { return time.Now().Add(-24 * time.Hour) } // this machine's clock is behind
	hotFiles, _ := skippedFor(run(t, lake, o).Skipped, "cool-down")
	assert.ElementsMatch(t, []string{f[0].FilePath(), f[1].FilePath()}, hotFiles)
	update(t, lake, table.NewRemoveSnapshotsUpdate([]int64{first}, false))
	hotFiles, _ = skippedFor(run(t, lake, o).Skipped, "cool-down")
	assert.Equal(t, []string{f[1].FilePath()}, hotFiles)
}

// The plan says what was hot when it was made. That it has cooled down meanwhile does not make it another plan.
func TestAReviewedPlanLeavesAloneWhatWasHotThen(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 3, 3)
	replaceVector(t, lake, f[0], 1)
	replaceVector(t, lake, f[1], 2)
	moment := later(t, lake)
	replaceVector(t, lake, f[2], 3)
	p, err := maintenance.MakePlan(t.Context(), lake.Load(t, "t"), coolingSince(maintenance.Compact, moment))
	require.NoError(t, err)
	again, err := maintenance.MakePlan(t.Context(), lake.Load(t, "t"), coolingSince(maintenance.Compact, moment.Add(-time.Microsecond)))
	require.NoError(t, err)
	assert.Equal(t, p.Fingerprint, again.Fingerprint, "the same work is the same plan")
	all, err := maintenance.MakePlan(t.Context(), lake.Load(t, "t"), fast(maintenance.Compact))
	require.NoError(t, err)
	assert.NotEqual(t, p.Fingerprint, all.Fingerprint)

	o := fast("")
	o.Now = func() time.Time { return moment.Add(100 * time.Hour) }
	r, err := maintenance.Apply(t.Context(), lake.Catalog, testlake.Ident("t"), p, o)
	require.NoError(t, err)
	assert.True(t, r.Committed)
	got := lake.Read(t, "t", "main")
	assert.Len(t, got.Puffins, 2)
	deletes, err := lakewriter.DeleteFiles(t.Context(), mustLoad(t, lake), "main")
	require.NoError(t, err)
	assert.True(t, slices.ContainsFunc(deletes, func(d iceberg.DataFile) bool { return *d.ReferencedDataFile() == f[2].FilePath() }))
}
