package maintenance_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ownTable makes table db.t with data files of 1000 rows each in one partition, and returns their paths.
func ownTable(t *testing.T, version, files int) (*testlake.Lake, []iceberg.DataFile) {
	ctx := t.Context()
	dir := t.TempDir()
	_, err := lakewriter.CreateLake(ctx, dir, testlake.CatalogName)
	require.NoError(t, err)
	require.NoError(t, lakewriter.CreateTable(ctx, dir, testlake.CatalogName, "t", version, nil))
	lake := testlake.Open(t, dir)
	tbl, err := lakewriter.Load(ctx, lake.Catalog, testlake.Ident("t"))
	require.NoError(t, err)
	for i := range files {
		tbl, err = lakewriter.Append(ctx, tbl, 1, int64(i)*1000, 1000)
		require.NoError(t, err)
	}
	if files == 0 {
		return lake, nil
	}
	data, err := lakewriter.DataFiles(ctx, tbl, "main")
	require.NoError(t, err)
	require.Len(t, data, files)
	return lake, data
}

// deletePositions commits one position delete file.
func deletePositions(t *testing.T, lake *testlake.Lake, like iceberg.DataFile, positions map[string][]int64) {
	ctx := t.Context()
	tbl, err := lakewriter.Load(ctx, lake.Catalog, testlake.Ident("t"))
	require.NoError(t, err)
	d, err := lakewriter.PositionDeletes(ctx, tbl, like, positions)
	require.NoError(t, err)
	_, err = lakewriter.Delta(ctx, tbl, "main", []iceberg.DataFile{d}, nil)
	require.NoError(t, err)
}

// replaceVector commits another deletion vector for a data file, as an engine does that deletes more rows.
func replaceVector(t *testing.T, lake *testlake.Lake, f iceberg.DataFile, positions ...int64) {
	ctx := t.Context()
	tbl, err := lakewriter.Load(ctx, lake.Catalog, testlake.Ident("t"))
	require.NoError(t, err)
	_, err = lakewriter.ReplaceVector(ctx, tbl, "main", f, positions)
	require.NoError(t, err)
}

func fast(action maintenance.Action) maintenance.Options {
	return maintenance.Options{Action: action, UpgradeFormat: action == maintenance.Migrate, Retry: maintenance.Retry{BaseDelay: time.Microsecond}}
}

func TestAWriterThatDeletesMoreRowsMeanwhileKeepsOnlyItsDataFileOutOfTheCommit(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 2, 3)
	a, b, c := f[0].FilePath(), f[1].FilePath(), f[2].FilePath()
	deletePositions(t, lake, f[0], map[string][]int64{a: {1}, b: {2}}) // shared: stays while a is not covered
	deletePositions(t, lake, f[0], map[string][]int64{b: {3}, c: {4, 5}})
	cat := &testlake.Racing{Catalog: lake.Catalog, Before: func(n int) {
		if n == 1 {
			deletePositions(t, lake, f[0], map[string][]int64{a: {9}})
		}
	}}
	r, err := maintenance.Run(t.Context(), cat, testlake.Ident("t"), fast(maintenance.Migrate))
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.Equal(t, 2, r.Attempts)
	assert.Equal(t, []string{a}, r.Dropped)
	assert.Equal(t, 2, r.DataFiles)
	got := lake.Read(t, "t", "main")
	assert.Equal(t, map[string][][2]int64{a: {{1, 1}, {9, 9}}, b: {{2, 3}}, c: {{4, 5}}}, got.Positions)
	assert.Equal(t, 2, got.PositionDeleteFiles, "the shared file and the new one")

	r, err = maintenance.Run(t.Context(), lake.Catalog, testlake.Ident("t"), fast(maintenance.Migrate))
	require.NoError(t, err)
	assert.True(t, r.Committed)
	got = lake.Read(t, "t", "main")
	assert.Zero(t, got.PositionDeleteFiles)
	assert.Equal(t, map[string][][2]int64{a: {{1, 1}, {9, 9}}, b: {{2, 3}}, c: {{4, 5}}}, got.Positions)
}

func TestAWriterThatReplacesADeletionVectorMeanwhileWins(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 3, 3)
	for i, d := range f {
		replaceVector(t, lake, d, int64(i))
	}
	cat := &testlake.Racing{Catalog: lake.Catalog, Before: func(n int) {
		if n == 1 {
			replaceVector(t, lake, f[1], 1, 100)
		}
	}}
	r, err := maintenance.Run(t.Context(), cat, testlake.Ident("t"), fast(maintenance.Compact))
	require.NoError(t, err)
	assert.Equal(t, []string{f[1].FilePath()}, r.Dropped)
	got := lake.Read(t, "t", "main")
	assert.Equal(t, map[string][][2]int64{f[0].FilePath(): {{0, 0}}, f[1].FilePath(): {{1, 1}, {100, 100}}, f[2].FilePath(): {{2, 2}}}, got.Positions)
	assert.Len(t, got.Puffins, 2)
}

func TestAnUnrelatedAppendMeanwhileCostsOnlyAnotherAttempt(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 2, 2)
	deletePositions(t, lake, f[0], map[string][]int64{f[0].FilePath(): {1}, f[1].FilePath(): {2}})
	cat := &testlake.Racing{Catalog: lake.Catalog, Before: func(n int) {
		if n <= 2 {
			tbl, err := lakewriter.Load(t.Context(), lake.Catalog, testlake.Ident("t"))
			require.NoError(t, err)
			_, err = lakewriter.Append(t.Context(), tbl, 2, 5000, 10)
			require.NoError(t, err)
		}
	}}
	r, err := maintenance.Run(t.Context(), cat, testlake.Ident("t"), fast(maintenance.Migrate))
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.Equal(t, 3, r.Attempts)
	assert.Empty(t, r.Dropped)
	got := lake.Read(t, "t", "main")
	assert.Len(t, got.Positions, 4)
	assert.Zero(t, got.PositionDeleteFiles)
}

func TestAWriterThatNeverStopsEndsInConflicts(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 2, 1)
	deletePositions(t, lake, f[0], map[string][]int64{f[0].FilePath(): {1}})
	cat := &testlake.Racing{Catalog: lake.Catalog, Instead: func(context.Context, *catalog.Table, []table.Requirement, []table.Update) error {
		return &catalog.CommitError{Outcome: catalog.ErrConflict, Table: "t", Err: errors.New("too late")}
	}}
	before := lake.Files(t)
	o := fast(maintenance.Migrate)
	o.Retry.Attempts = 3
	_, err := maintenance.Run(t.Context(), cat, testlake.Ident("t"), o)
	require.ErrorIs(t, err, maintenance.ErrConflicts)
	assert.Equal(t, 3, cat.Commits())
	assert.Equal(t, before, lake.Files(t), "what was written is removed")
}

func TestACommitWhoseReplyIsLostIsRecognised(t *testing.T) {
	t.Parallel()
	for name, outcome := range map[string]error{"as an unknown outcome": catalog.ErrUnknown, "as a conflict with itself": catalog.ErrConflict} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lake, f := ownTable(t, 2, 1)
			deletePositions(t, lake, f[0], map[string][]int64{f[0].FilePath(): {1, 7}})
			cat := &testlake.Racing{Catalog: lake.Catalog}
			cat.Instead = func(ctx context.Context, tbl *catalog.Table, r []table.Requirement, u []table.Update) error {
				require.NoError(t, lake.Catalog.Commit(ctx, tbl, r, u))
				return &catalog.CommitError{Outcome: outcome, Table: "t", Err: errors.New("connection reset")}
			}
			r, err := maintenance.Run(t.Context(), cat, testlake.Ident("t"), fast(maintenance.Migrate))
			require.NoError(t, err)
			assert.True(t, r.Committed)
			assert.Equal(t, 1, cat.Commits(), "commits")
			assert.Equal(t, [][2]int64{{1, 1}, {7, 7}}, lake.Read(t, "t", "main").Positions[f[0].FilePath()])
		})
	}
}

func TestAnUnknownOutcomeThatStaysUnknownLeavesEverythingInPlace(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 2, 1)
	deletePositions(t, lake, f[0], map[string][]int64{f[0].FilePath(): {1}})
	before := lake.Files(t)
	cat := &testlake.Racing{Catalog: lake.Catalog, Instead: func(context.Context, *catalog.Table, []table.Requirement, []table.Update) error {
		return &catalog.CommitError{Outcome: catalog.ErrUnknown, Table: "t", Err: errors.New("timeout")}
	}}
	_, err := maintenance.Run(t.Context(), cat, testlake.Ident("t"), fast(maintenance.Migrate))
	require.ErrorIs(t, err, catalog.ErrUnknown)
	after := lake.Files(t)
	for _, file := range before {
		assert.Contains(t, after, file)
	}
	assert.Greater(t, len(after), len(before), "the Puffin file and the manifests are still there")
}

func TestARefusedCommitRemovesWhatWasWritten(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 2, 1)
	deletePositions(t, lake, f[0], map[string][]int64{f[0].FilePath(): {1}})
	before := lake.Files(t)
	cat := &testlake.Racing{Catalog: lake.Catalog, Instead: func(context.Context, *catalog.Table, []table.Requirement, []table.Update) error {
		return &catalog.CommitError{Outcome: catalog.ErrRefused, Table: "t", Err: errors.New("forbidden")}
	}}
	_, err := maintenance.Run(t.Context(), cat, testlake.Ident("t"), fast(maintenance.Migrate))
	require.ErrorIs(t, err, catalog.ErrRefused)
	assert.Equal(t, before, lake.Files(t))
}

// requests runs one action and returns the requests to the store that it took.
func requests(t *testing.T, lake *testlake.Lake, o maintenance.Options) (storage.Stats, storage.Stats) {
	tbl := lake.Load(t, "t")
	before := tbl.Store.Stats()
	_, err := maintenance.MakePlan(t.Context(), tbl, o)
	require.NoError(t, err)
	planning := tbl.Store.Stats().Sub(before)
	r, err := maintenance.Run(t.Context(), lake.Catalog, testlake.Ident("t"), o)
	require.NoError(t, err)
	require.True(t, r.Committed)
	return planning, r.Requests
}

func TestPlanningReadsEachManifestOnceAndDataFilesAreNeverOpened(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 3, 6)
	for i, d := range f {
		replaceVector(t, lake, d, int64(i))
	}
	for _, d := range f {
		require.NoError(t, lake.Remove(d.FilePath())) // whoever opens one fails
	}
	planning, all := requests(t, lake, fast(maintenance.Compact))
	manifests := 12 // one of each append and one of each vector
	assert.EqualValues(t, 1+manifests, planning.Gets, "the manifest list and each manifest")
	assert.EqualValues(t, planning.Gets, planning.Requests())
	assert.EqualValues(t, 6+1+1, all.RangeGets, "one for each deletion vector, one to read the new Puffin back, one for its footer")
	assert.EqualValues(t, 1, all.Heads, "the size of the new Puffin")
	assert.EqualValues(t, 1+1+1+1+1, all.Puts, "Puffin, live and tombstone manifest, list, metadata")
}

func TestAdjacentDeletionVectorsAreReadWithOneRequest(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 3, 5)
	tbl, err := lakewriter.Load(t.Context(), lake.Catalog, testlake.Ident("t"))
	require.NoError(t, err)
	positions := map[string][]int64{}
	for i, d := range f {
		positions[d.FilePath()] = []int64{int64(i), 900}
	}
	// four vectors in one Puffin and one in another: two Puffins become one
	one, err := lakewriter.DeletionVectors(t.Context(), tbl, positions, f[:4]...)
	require.NoError(t, err)
	two, err := lakewriter.DeletionVectors(t.Context(), tbl, positions, f[4])
	require.NoError(t, err)
	_, err = lakewriter.Delta(t.Context(), tbl, "main", slices.Concat(one, two), nil)
	require.NoError(t, err)
	want := lake.Read(t, "t", "main").Positions
	_, all := requests(t, lake, fast(maintenance.Compact))
	assert.EqualValues(t, 1+1+1+1, all.RangeGets, "one for each old Puffin, one to read the new one back, one for its footer")
	assert.Equal(t, want, lake.Read(t, "t", "main").Positions)
}
