package maintenance_test

import (
	"fmt"
	"math"
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

// odd is an entry of a deletion vector with other numbers.
func odd(t *testing.T, dv iceberg.DataFile, change func(count, size, offset, length *int64)) iceberg.DataFile {
	count, size, offset, length := dv.Count(), dv.FileSizeBytes(), *dv.ContentOffset(), *dv.ContentSizeInBytes()
	change(&count, &size, &offset, &length)
	b, err := iceberg.NewDataFileBuilder(*iceberg.UnpartitionedSpec, iceberg.EntryContentPosDeletes, dv.FilePath(), iceberg.PuffinFile, nil, nil, nil, count, size)
	require.NoError(t, err)
	return b.ReferencedDataFile(*dv.ReferencedDataFile()).ContentOffset(offset).ContentSizeInBytes(length).Build()
}

func TestNumbersOfADeletionVectorThatCannotBeBlockItsDataFileAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(count, size, offset, length *int64){
		"an offset beyond the end":   func(_, _, offset, _ *int64) { *offset = 1 << 40 },
		"an offset near 2^63":        func(_, _, offset, _ *int64) { *offset = math.MaxInt64 - 10 },
		"a length of 2^40":           func(_, _, _, length *int64) { *length = 1 << 40 },
		"a length of 2 GiB":          func(_, _, _, length *int64) { *length = math.MaxInt32 },
		"a length of 2^63 - 1":       func(_, _, _, length *int64) { *length = math.MaxInt64 },
		"a length one too short":     func(_, _, _, length *int64) { *length-- },
		"a cardinality of 2^40":      func(count, _, _, _ *int64) { *count = 1 << 40 },
		"a cardinality one too high": func(count, _, _, _ *int64) { *count++ },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lake, f := ownTable(t, 3, 3)
			tbl := mustLoad(t, lake)
			dvs, err := lakewriter.DeletionVectors(t.Context(), tbl, map[string][]int64{f[0].FilePath(): {1, 2}}, f[0])
			require.NoError(t, err)
			_, err = lakewriter.Delta(t.Context(), tbl, "main", []iceberg.DataFile{odd(t, dvs[0], change)}, nil)
			require.NoError(t, err)
			replaceVector(t, lake, f[1], 3)
			replaceVector(t, lake, f[2], 4)
			bad := liveVectors(t, lake)[f[0].FilePath()]

			r := run(t, lake, fast(maintenance.Compact))
			if r.Committed {
				assert.Equal(t, map[string]int{"dv-corrupt": 1}, reasons(r.Skipped))
			}
			assert.Equal(t, bad, liveVectors(t, lake)[f[0].FilePath()], "its entry stays as it is")
			replaceVector(t, lake, f[0], 1) // so that everything can be read
			want := map[string][][2]int64{f[0].FilePath(): {{1, 1}}, f[1].FilePath(): {{3, 3}}, f[2].FilePath(): {{4, 4}}}
			assert.Equal(t, want, lake.Read(t, "t", "main").Positions)
		})
	}
}

func TestASizeOfAPuffinFileThatCannotBeChangesNothing(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{1, 1 << 40} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			lake, f := ownTable(t, 3, 2)
			tbl := mustLoad(t, lake)
			dvs, err := lakewriter.DeletionVectors(t.Context(), tbl, map[string][]int64{f[0].FilePath(): {1, 2}}, f[0])
			require.NoError(t, err)
			wrong := odd(t, dvs[0], func(_, s, _, _ *int64) { *s = size })
			_, err = lakewriter.Delta(t.Context(), tbl, "main", []iceberg.DataFile{wrong}, nil)
			require.NoError(t, err)
			replaceVector(t, lake, f[1], 3)
			want := lake.Read(t, "t", "main").Positions
			run(t, lake, fast(maintenance.Compact))
			assert.Equal(t, want, lake.Read(t, "t", "main").Positions)
			assert.False(t, run(t, lake, fast(maintenance.Compact)).Committed)
		})
	}
}

func TestRecordCountsOfPositionDeletesThatCannotBeCostNeitherRowsNorPasses(t *testing.T) {
	t.Parallel()
	for _, count := range []int64{1, 1 << 20, 1 << 40} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			t.Parallel()
			lake, f := ownTable(t, 2, 3)
			want := map[string][][2]int64{}
			for i := range int64(2) {
				tbl := mustLoad(t, lake)
				d, err := lakewriter.PositionDeletes(t.Context(), tbl, f[0], map[string][]int64{f[0].FilePath(): {i}, f[1].FilePath(): {i}, f[2].FilePath(): {i}})
				require.NoError(t, err)
				b, err := iceberg.NewDataFileBuilder(*iceberg.UnpartitionedSpec, iceberg.EntryContentPosDeletes, d.FilePath(), iceberg.ParquetFile, nil, nil, nil, count, 1<<40)
				require.NoError(t, err)
				_, err = lakewriter.Delta(t.Context(), tbl, "main", []iceberg.DataFile{b.Build()}, nil)
				require.NoError(t, err)
			}
			for _, file := range f {
				want[file.FilePath()] = [][2]int64{{0, 1}}
			}
			r := run(t, lake, fast(maintenance.Migrate))
			require.True(t, r.Committed)
			assert.Equal(t, want, lake.Read(t, "t", "main").Positions)
			assert.LessOrEqual(t, r.Requests.RangeGets, int64(3*len(f)), "each position delete file once")
		})
	}
}

func TestNumbersThatNoDeleteFileHasRefuseTheTable(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(count, size, offset, length *int64){
		"a huge cardinality": func(count, _, _, _ *int64) { *count = 1 << 62 },
		"a huge size":        func(_, size, _, _ *int64) { *size = 1 << 62 },
		"the largest size":   func(_, size, _, _ *int64) { *size = math.MaxInt64 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lake, f := ownTable(t, 3, 1)
			tbl := mustLoad(t, lake)
			dvs, err := lakewriter.DeletionVectors(t.Context(), tbl, map[string][]int64{f[0].FilePath(): {1, 2}}, f[0])
			require.NoError(t, err)
			_, err = lakewriter.Delta(t.Context(), tbl, "main", []iceberg.DataFile{odd(t, dvs[0], change)}, nil)
			require.NoError(t, err)
			before := everything(t, lake.Dir)
			_, err = maintenance.Run(t.Context(), lake.Catalog, testlake.Ident("t"), fast(maintenance.Compact))
			require.ErrorIs(t, err, maintenance.ErrRefusedTable)
			assert.ErrorContains(t, err, dvs[0].FilePath())
			assert.Equal(t, before, everything(t, lake.Dir))
		})
	}
}

func TestClocksThatDifferGiveASnapshotThatIsNotBeforeItsTableAndAWarning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ours time.Duration // from the table's time
		warn string
	}{
		"five minutes behind": {-5 * time.Minute, "5m0s"}, "half a minute behind": {-30 * time.Second, "30s"}, "together": {0, ""}, "ahead": {5 * time.Minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lake := testlake.Copy(t, "v3-shared-puffin")
			before := lake.Load(t, "t").Metadata
			o := fast(maintenance.Compact)
			o.Now = func() time.Time { return time.UnixMilli(before.LastUpdatedMillis()).Add(c.ours) }
			r := run(t, lake, o)
			require.True(t, r.Committed)
			now := lake.Load(t, "t").Metadata
			assert.GreaterOrEqual(t, now.CurrentSnapshot().TimestampMs, before.CurrentSnapshot().TimestampMs)
			assert.GreaterOrEqual(t, now.CurrentSnapshot().TimestampMs, before.LastUpdatedMillis())
			assert.GreaterOrEqual(t, now.LastUpdatedMillis(), before.LastUpdatedMillis())
			if c.warn == "" {
				assert.Empty(t, r.Warnings)
				return
			}
			require.Len(t, r.Warnings, 1)
			assert.Contains(t, r.Warnings[0], c.warn)
		})
	}
}

func TestAHeadWithoutRowLineageIsNumberedFromTheTablesNextRowID(t *testing.T) {
	t.Parallel()
	lake := testlake.Copy(t, "v3-row-lineage")
	forgeMetadata(t, lake, func(doc map[string]any) {
		for _, s := range doc["snapshots"].([]any) {
			delete(s.(map[string]any), "first-row-id")
			delete(s.(map[string]any), "added-rows")
		}
	})
	before := lake.Load(t, "t").Metadata
	require.Positive(t, before.NextRowID())
	r := run(t, lake, fast(maintenance.Compact))
	require.True(t, r.Committed)
	now := lake.Load(t, "t").Metadata
	require.NotNil(t, now.CurrentSnapshot().FirstRowID)
	assert.GreaterOrEqual(t, *now.CurrentSnapshot().FirstRowID, before.NextRowID())
	assert.GreaterOrEqual(t, now.NextRowID(), before.NextRowID())
}

func TestAnAncestorWhoseManifestListIsGoneIsNoObstacle(t *testing.T) {
	t.Parallel()
	lake := testlake.Copy(t, "v3-shared-puffin")
	meta := lake.Load(t, "t").Metadata
	gone := 0
	for _, s := range meta.Snapshots() {
		if s.SnapshotID != meta.CurrentSnapshot().SnapshotID {
			require.NoError(t, lake.Remove(s.ManifestList))
			gone++
		}
	}
	require.NotZero(t, gone)
	want := lake.Read(t, "t", "main").Positions
	require.True(t, run(t, lake, fast(maintenance.Compact)).Committed)
	assert.Equal(t, want, lake.Read(t, "t", "main").Positions)
}

// liveVectors are the entries of the live deletion vectors of db.t, as text, by data file.
func liveVectors(t *testing.T, lake *testlake.Lake) map[string]string {
	files, err := lakewriter.DeleteFiles(t.Context(), mustLoad(t, lake), "main")
	require.NoError(t, err)
	out := map[string]string{}
	for _, f := range files {
		if table.IsDeletionVector(f) {
			out[*f.ReferencedDataFile()] = fmt.Sprint(f.FilePath(), *f.ContentOffset(), *f.ContentSizeInBytes(), f.Count(), f.FileSizeBytes())
		}
	}
	return out
}
