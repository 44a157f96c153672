package maintenance_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// forgeMetadata changes the current metadata file of db.t in place, as nobody but another program does.
func forgeMetadata(t *testing.T, lake *testlake.Lake, change func(doc map[string]any)) {
	location := lake.Load(t, "t").MetadataLocation
	path := filepath.Join(lake.Dir, strings.TrimPrefix(strings.TrimPrefix(location, lake.Prefix), "file://"+lake.Dir))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var doc map[string]any
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	require.NoError(t, d.Decode(&doc))
	change(doc)
	data, err = json.Marshal(doc)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

// head returns the current snapshot in a metadata document.
func head(doc map[string]any) map[string]any {
	for _, s := range doc["snapshots"].([]any) {
		if s := s.(map[string]any); s["snapshot-id"] == doc["current-snapshot-id"] {
			return s
		}
	}
	return nil
}

// everything lists every file of a folder, to see what was written.
func everything(t *testing.T, dir string) []string {
	var out []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.Contains(path, "catalog.db") {
			out = append(out, strings.TrimPrefix(path, dir))
		}
		return err
	}))
	return out
}

func TestATableWhoseManifestListIsNotItsBusinessIsRefused(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	for name, location := range map[string]string{
		"above the store": "s3://lake/../../etc/passwd", "local": "file://" + outside, "absolute": outside, "relative": "file:etc/passwd",
		"a link": "s3://lake/t/link", "NUL": "s3://lake/t/\x00", "long": "s3://lake/" + strings.Repeat("x", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lake := testlake.Copy(t, "v3-shared-puffin")
			require.NoError(t, os.Symlink(outside, filepath.Join(lake.Dir, "t", "link")))
			forgeMetadata(t, lake, func(doc map[string]any) { head(doc)["manifest-list"] = location })
			before := everything(t, lake.Dir)
			_, err := maintenance.Run(t.Context(), lake.Catalog, testlake.Ident("t"), fast(maintenance.Compact))
			require.ErrorIs(t, err, storage.ErrInvalidLocation)
			assert.Less(t, len(err.Error()), 10000)
			assert.ErrorContains(t, err, "lake.db.t")
			assert.Equal(t, before, everything(t, lake.Dir))
		})
	}
	t.Run("a server", func(t *testing.T) {
		t.Parallel()
		lake := testlake.Copy(t, "v3-shared-puffin")
		forgeMetadata(t, lake, func(doc map[string]any) { head(doc)["manifest-list"] = "http://169.254.169.254/latest/meta-data" })
		_, err := maintenance.Run(t.Context(), lake.Catalog, testlake.Ident("t"), fast(maintenance.Compact))
		assert.ErrorIs(t, err, storage.ErrUnknownScheme)
	})
}

func TestNothingIsWrittenOutsideOfTheTablesLocation(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	for name, c := range map[string]struct{ property, metadata, data string }{
		"local":             {"file://" + elsewhere, "/t/metadata/", "/t/data/"},
		"another bucket":    {"s3://other/x", "/t/metadata/", "/t/data/"},
		"above":             {"s3://lake/t/../x", "/t/metadata/", "/t/data/"},
		"beside":            {"s3://lake/t2", "/t/metadata/", "/t/data/"},
		"below":             {"s3://lake/t/own", "/t/own/", "/t/own/"},
		"below, with slash": {"s3://lake/t/own/", "/t/own/", "/t/own/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lake := testlake.Copy(t, "v3-shared-puffin")
			forgeMetadata(t, lake, func(doc map[string]any) {
				properties := doc["properties"].(map[string]any)
				for _, key := range []string{"write.metadata.path", "write.data.path", "write.object-storage.path", "write.folder-storage.path"} {
					properties[key] = c.property
				}
			})
			before := everything(t, lake.Dir)
			want := lake.Read(t, "t", "main").Positions
			require.True(t, run(t, lake, fast(maintenance.Compact)).Committed)
			assert.Equal(t, want, lake.Read(t, "t", "main").Positions)
			for _, path := range everything(t, lake.Dir) {
				if slices.Contains(before, path) {
					continue
				}
				dir := c.metadata
				if strings.HasSuffix(path, ".puffin") {
					dir = c.data
				}
				assert.True(t, strings.HasPrefix(path, dir), path)
			}
			assert.Subset(t, everything(t, lake.Dir), before, "nothing that was there is gone")
		})
	}
	assert.Empty(t, everything(t, elsewhere))
}

func TestATableWhoseLocationIsNoPlaceForATableIsRefused(t *testing.T) {
	t.Parallel()
	for _, location := range []string{"/", "file:///", "s3://lake/../x", "../relative", "s3://lake/t/.."} {
		t.Run(location, func(t *testing.T) {
			t.Parallel()
			lake := testlake.Copy(t, "v3-shared-puffin")
			forgeMetadata(t, lake, func(doc map[string]any) { doc["location"] = location })
			before := everything(t, lake.Dir)
			_, err := maintenance.Run(t.Context(), lake.Catalog, testlake.Ident("t"), fast(maintenance.Compact))
			require.ErrorIs(t, err, maintenance.ErrRefusedTable)
			require.ErrorIs(t, err, storage.ErrRefusedLocation)
			assert.Equal(t, before, everything(t, lake.Dir))
		})
	}
}

func TestALocalLocationInATableThatIsNotLocalIsRefused(t *testing.T) {
	t.Parallel()
	lake, elsewhere := testlake.Copy(t, "v3-shared-puffin"), t.TempDir()
	forgeMetadata(t, lake, func(doc map[string]any) { doc["location"] = "file://" + elsewhere })
	before := everything(t, lake.Dir)
	_, err := maintenance.Run(t.Context(), lake.Catalog, testlake.Ident("t"), fast(maintenance.Compact))
	require.ErrorIs(t, err, storage.ErrRefusedLocation)
	assert.Empty(t, everything(t, elsewhere))
	assert.Equal(t, before, everything(t, lake.Dir))
}

func TestALocationWithSlashesAtItsEndIsThatWithout(t *testing.T) {
	t.Parallel()
	lake := testlake.Copy(t, "v3-shared-puffin")
	forgeMetadata(t, lake, func(doc map[string]any) { doc["location"] = "s3://lake/t//" })
	want := lake.Read(t, "t", "main").Positions
	r := run(t, lake, fast(maintenance.Compact))
	require.True(t, r.Committed)
	for _, location := range append(r.Puffins, lake.Load(t, "t").Metadata.CurrentSnapshot().ManifestList, lake.Load(t, "t").MetadataLocation) {
		assert.NotContains(t, strings.TrimPrefix(location, "s3://"), "//")
	}
	assert.Equal(t, want, lake.Read(t, "t", "main").Positions)
}

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
