package maintenance_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
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

func TestADeleteFileThatIsNotTheTablesBusinessIsNeitherReadNorRemoved(t *testing.T) {
	t.Parallel()
	for name, location := range map[string]string{"above the store": "s3://lake/../outside", "relative": "file:outside", "long": "s3://lake/" + strings.Repeat("x", 1<<20)} {
		for format, version := range map[iceberg.FileFormat]int{iceberg.ParquetFile: 2, iceberg.PuffinFile: 3} {
			t.Run(name+" "+string(format), func(t *testing.T) {
				t.Parallel()
				lake, f := ownTable(t, version, 2)
				outside := filepath.Join(filepath.Dir(lake.Dir), "outside")
				require.NoError(t, os.WriteFile(outside, []byte("precious"), 0o600))
				action := maintenance.Migrate
				if version == 3 {
					action = maintenance.Compact
					replaceVector(t, lake, f[1], 3)
				} else {
					deletePositions(t, lake, f[1], map[string][]int64{f[1].FilePath(): {3}})
				}
				b, err := iceberg.NewDataFileBuilder(*iceberg.UnpartitionedSpec, iceberg.EntryContentPosDeletes, location, format, nil, nil, nil, 1, 100)
				require.NoError(t, err)
				d := b.ReferencedDataFile(f[0].FilePath())
				if version == 3 {
					d = d.ContentOffset(4).ContentSizeInBytes(50)
				}
				_, err = lakewriter.Delta(t.Context(), mustLoad(t, lake), "main", []iceberg.DataFile{d.Build()}, nil)
				require.NoError(t, err)
				before := everything(t, lake.Dir)
				_, err = maintenance.Run(t.Context(), lake.Catalog, testlake.Ident("t"), fast(action))
				require.ErrorIs(t, err, storage.ErrInvalidLocation)
				assert.Less(t, len(err.Error()), 10000)
				assert.Equal(t, before, everything(t, lake.Dir))
				content, err := os.ReadFile(outside)
				require.NoError(t, err)
				assert.Equal(t, "precious", string(content))
			})
		}
	}
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
