package catalog_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func setProperty(t testing.TB, c catalog.Catalog, identifier []string, key, value string) {
	tbl := load(t, c, identifier...)
	update := table.NewSetPropertiesUpdate(iceberg.Properties{key: value})
	require.NoError(t, c.Commit(t.Context(), tbl, []table.Requirement{table.AssertTableUUID(tbl.Metadata.TableUUID())}, []table.Update{update}))
}

// document reads a metadata file as it is.
func document(t testing.TB, tbl *catalog.Table) map[string]any {
	data, err := tbl.Store.ReadFile(t.Context(), tbl.MetadataLocation)
	require.NoError(t, err)
	if strings.Contains(tbl.MetadataLocation, ".gz.") {
		data = unzip(t, data)
	}
	var out map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	require.NoError(t, d.Decode(&out))
	return out
}

// prune removes members that hold nothing or what a reader takes for granted: writers differ in what they leave out.
func prune(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			prune(member)
			m, isMap := member.(map[string]any)
			list, isList := member.([]any)
			if member == nil || isMap && len(m) == 0 || isList && len(list) == 0 || key == "sequence-number" && member == json.Number("0") {
				delete(v, key)
			}
		}
	case []any:
		for _, member := range v {
			prune(member)
		}
	}
}

func unzip(t testing.TB, data []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	out, err := io.ReadAll(r)
	require.NoError(t, err)
	return out
}

func zip(t testing.TB, data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestACommitKeepsMetadataFieldsThatNobodyHereKnows(t *testing.T) {
	t.Parallel()
	l := sqliteLab(t)
	data := testlake.NewMetadata(t, "file://"+l.dir+"/db/t", nil)
	foreign := `"engine-x": {"deep": [1, {"n": 123456789012345678901234567890}]}, "engine-y": "text"`
	l.write(t, bytes.Replace(data, []byte("{"), []byte("{"+foreign+","), 1), "00000-a.metadata.json", "db", "t")
	c := l.open(t)
	for i := range 3 {
		require.NoError(t, commit(t, c, load(t, c, "db", "t"), "main", int64(i+1)))
		doc := document(t, load(t, c, "db", "t"))
		assert.Equal(t, "text", doc["engine-y"])
		assert.Equal(t, map[string]any{"deep": []any{json.Number("1"), map[string]any{"n": json.Number("123456789012345678901234567890")}}}, doc["engine-x"])
		assert.Len(t, doc["snapshots"], i+1)
	}
}

func TestCompressedMetadataIsReadUnderEitherNameAndWrittenWhenTheTableSaysSo(t *testing.T) {
	t.Parallel()
	l := sqliteLab(t)
	for name, file := range map[string]string{"java": "00000-a.gz.metadata.json", "older": "00000-a.metadata.json.gz", "hadoop": "v7.gz.metadata.json"} {
		data := testlake.NewMetadata(t, "file://"+l.dir+"/db/"+name, map[string]string{"write.metadata.compression-codec": "gzip"})
		l.write(t, zip(t, data), file, "db", name)
	}
	l.create(t, map[string]string{"write.metadata.compression-codec": "none"}, "db", "plain")
	c := l.open(t)
	for name, want := range map[string]string{"java": "/00001-", "older": "/00001-", "hadoop": "/00008-", "plain": "/00001-"} {
		require.NoError(t, commit(t, c, load(t, c, "db", name), "main", 1))
		tbl := load(t, c, "db", name)
		assert.Len(t, tbl.Metadata.Snapshots(), 1)
		assert.Contains(t, tbl.MetadataLocation, want)
		assert.Equal(t, name != "plain", strings.HasSuffix(tbl.MetadataLocation, ".gz.metadata.json"))
		assert.Len(t, document(t, tbl)["snapshots"], 1)
	}
}

func TestMetadataGoesWhereTheTableWantsItBelowItsLocationAndNowhereElse(t *testing.T) {
	t.Parallel()
	l := sqliteLab(t)
	location := "file://" + l.dir + "/db/t"
	for property, want := range map[string]string{
		location + "/elsewhere/": "/elsewhere/00001-", "file://" + l.dir + "/elsewhere": "/metadata/00001-", location + "/../x": "/metadata/00001-",
		l.dir + "/db/t/x": "/metadata/00001-", "s3://bucket/x": "/metadata/00001-", "relative": "/metadata/00001-",
	} {
		name := uuid.NewString()
		l.write(t, testlake.NewMetadata(t, location, map[string]string{"write.metadata.path": property}), "00000-a.metadata.json", "db", name)
		c := l.open(t)
		require.NoError(t, commit(t, c, load(t, c, "db", name), "main", 1))
		assert.True(t, strings.HasPrefix(load(t, c, "db", name).MetadataLocation, location+want), "%s: %s", property, load(t, c, "db", name).MetadataLocation)
	}
	assert.NoDirExists(t, l.dir+"/elsewhere")
}

func TestATableWhoseLocationIsNoPlaceForATableIsNotCommittedTo(t *testing.T) {
	t.Parallel()
	l := sqliteLab(t)
	for i, location := range []string{"/", "file:///", "../relative", "file:///tmp/../etc", "s3://"} {
		name := fmt.Sprintf("t%d", i)
		l.write(t, testlake.NewMetadata(t, location, nil), "00000-a.metadata.json", "db", name)
		c := l.open(t)
		err := commit(t, c, load(t, c, "db", name), "main", 1)
		require.ErrorIs(t, err, catalog.ErrRefused, location)
		require.ErrorIs(t, err, storage.ErrRefusedLocation, location)
		assert.Empty(t, load(t, c, "db", name).Metadata.Snapshots())
	}
}

func TestTheDatabaseRemembersThePreviousMetadata(t *testing.T) {
	t.Parallel()
	l := sqliteLab(t)
	l.create(t, nil, "db", "t")
	c := l.open(t)
	before := load(t, c, "db", "t")
	require.NoError(t, commit(t, c, before, "main", 1))
	var now, previous string
	row := database(t, "sqlite", "file:"+filepath.Join(l.dir, "catalog.db")).QueryRowContext(t.Context(), "SELECT metadata_location, previous_metadata_location FROM iceberg_tables")
	require.NoError(t, row.Scan(&now, &previous))
	assert.Equal(t, load(t, c, "db", "t").MetadataLocation, now)
	assert.Equal(t, before.MetadataLocation, previous)
}

func TestATableOfTheIcebergGoCatalogIsLoadedAndCommittedTo(t *testing.T) {
	t.Parallel()
	l := sqliteLab(t)
	require.NoError(t, lakewriter.CreateTable(t.Context(), l.dir, catalogName, "made", 2, lakewriter.ByRegion()))
	c := l.open(t)
	tbl, err := lakewriter.Load(t.Context(), c, []string{"db", "made"})
	require.NoError(t, err)
	_, err = lakewriter.Append(t.Context(), tbl, 1, 0, 10)
	require.NoError(t, err)
	assert.Len(t, load(t, c, "db", "made").Metadata.Snapshots(), 1)
	found, err := c.List(t.Context(), []string{"db"})
	require.NoError(t, err)
	assert.Equal(t, [][]string{{"db", "made"}}, found)
}

func TestACommitToATableOfTheJavaReferenceChangesOnlyWhatItSays(t *testing.T) {
	t.Parallel()
	for _, fixture := range testlake.Fixtures(t) {
		t.Run(fixture, func(t *testing.T) {
			t.Parallel()
			lake := testlake.Copy(t, fixture)
			tables, err := lake.Catalog.List(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, tables, len(lake.Expected))
			for _, identifier := range tables {
				old := load(t, lake.Catalog, identifier...)
				setProperty(t, lake.Catalog, identifier, "changed", "yes")
				now := load(t, lake.Catalog, identifier...)
				assert.Equal(t, "yes", now.Metadata.Properties()["changed"])
				before, after := document(t, old), document(t, now)
				log := after["metadata-log"].([]any)
				assert.Equal(t, old.MetadataLocation, log[len(log)-1].(map[string]any)["metadata-file"])
				for _, doc := range []map[string]any{before, after} {
					for _, key := range []string{"last-updated-ms", "metadata-log"} {
						delete(doc, key)
					}
					delete(doc["properties"].(map[string]any), "changed")
					prune(doc)
				}
				for _, key := range slices.Sorted(maps.Keys(before)) {
					assert.Equal(t, before[key], after[key], "%v: %s", identifier, key)
				}
			}
		})
	}
}

func TestADatabaseThatIsNoCatalogIsSaidSo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a b#c?.db")
	execute(t, database(t, "sqlite", "file:"+filepath.Join(dir, "a%20b%23c%3f.db")), "CREATE TABLE something (id INT)")
	require.FileExists(t, path)
	for uri, want := range map[string]string{
		"sqlite://" + path:                     "no catalog in this database",
		"sqlite://" + filepath.Join(dir, "no"): "unable to open database file",
		"sqlite://relative.db":                 "sqlite:///ABSOLUTE/PATH",
		"oracle://host/db":                     `"oracle" is not a database`,
		"postgres://me:hidden@[::1/db":         "catalog lake",
	} {
		_, err := catalog.Open(t.Context(), catalog.Options{Name: catalogName, Type: "sql", URI: uri})
		require.ErrorContains(t, err, want, uri)
		assert.NotContains(t, err.Error(), "hidden")
	}
	assert.NoFileExists(t, filepath.Join(dir, "no"))
	_, err := catalog.Open(t.Context(), catalog.Options{Name: catalogName, Type: "nessie"})
	assert.ErrorContains(t, err, `"nessie" is not one of sql, rest, glue, hive`)
}

func TestFormatVersionThreeWithoutTheNextRowIDIsRefused(t *testing.T) {
	t.Parallel()
	l := sqliteLab(t)
	var doc map[string]any
	require.NoError(t, json.Unmarshal(testlake.NewMetadata(t, "file://"+l.dir+"/db/t", nil), &doc))
	doc["format-version"] = 3
	for name, id := range map[string]any{"with": 0, "without": nil} {
		delete(doc, "next-row-id")
		if id != nil {
			doc["next-row-id"] = id
		}
		data, err := json.Marshal(doc)
		require.NoError(t, err)
		l.write(t, data, "00000-a.metadata.json", "db", name)
	}
	c := l.open(t)
	load(t, c, "db", "with")
	_, err := c.Load(t.Context(), []string{"db", "without"})
	require.ErrorContains(t, err, "next-row-id")
	assert.ErrorContains(t, err, "lake.db.without")
}

func TestAFormatVersionThatNobodyKnowsIsRefused(t *testing.T) {
	t.Parallel()
	l := sqliteLab(t)
	data := testlake.NewMetadata(t, "file://"+l.dir+"/db/t", nil)
	for name, version := range map[string]string{"newer": "4", "none": "0"} {
		l.write(t, bytes.Replace(data, []byte(`"format-version":2`), []byte(`"format-version":`+version), 1), "00000-a.metadata.json", "db", name)
	}
	c := l.open(t)
	for _, name := range []string{"newer", "none"} {
		_, err := c.Load(t.Context(), []string{"db", name})
		require.ErrorIs(t, err, catalog.ErrFormatVersion, name)
		assert.ErrorContains(t, err, "lake.db."+name)
	}
}

func TestMissingOrBrokenMetadataIsNotAMissingTable(t *testing.T) {
	t.Parallel()
	l := sqliteLab(t)
	l.write(t, []byte(`{"format-version": 2`), "00000-a.metadata.json", "db", "cut")
	l.write(t, zip(t, bytes.Repeat([]byte("x"), 1000))[:20], "00000-a.gz.metadata.json", "db", "zip")
	l.put(t, []string{"db", "gone"}, "file://"+l.dir+"/none.metadata.json")
	c := l.open(t)
	for _, name := range []string{"cut", "zip", "gone"} {
		_, err := c.Load(t.Context(), []string{"db", name})
		require.Error(t, err)
		assert.NotErrorIs(t, err, catalog.ErrNotFound)
		assert.ErrorContains(t, err, fmt.Sprintf("lake.db.%s", name))
		assert.ErrorContains(t, err, ".metadata.json")
	}
	_, err := c.Load(t.Context(), []string{"db", "gone"})
	assert.ErrorIs(t, err, os.ErrNotExist)
}
