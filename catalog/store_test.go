package catalog_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/cloudserver"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake/s3server"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// far is a catalog whose table db.t is not on the local disk but below s3://lake/.
type far struct {
	catalog catalog.Closer
	s3      *s3server.Server // nil for memory
	// clientMetadata says that the client reads and writes metadata files, not the catalog.
	clientMetadata bool
	prefix         string // of its locations, if not s3://lake/
}

var farAway = map[string]func(*testing.T) *far{
	"SQLite with a storage mapping":          mappedS3,
	"REST with s3 properties for each table": vendedS3,
	"SQLite and memory":                      mappedMemory,
	"SQLite and Google Cloud Storage":        mappedGCS,
	"SQLite and Azure":                       mappedAzure,
}

const (
	farRoot  = "s3://lake/"
	farTable = farRoot + "wh/t"
)

func mappedS3(t *testing.T) *far {
	s := s3server.New(t, "lake")
	return &far{catalog: mapped(t, s.MountURL("lake")), s3: s, clientMetadata: true}
}

func mappedMemory(t *testing.T) *far {
	return &far{catalog: mapped(t, "mem://"), clientMetadata: true}
}

func mappedGCS(t *testing.T) *far {
	return &far{catalog: mapped(t, "gs://lake?anonymous=true&endpoint="+cloudserver.NewGCS(t).URL), clientMetadata: true}
}

func mappedAzure(t *testing.T) *far {
	server := cloudserver.NewAzure(t)
	return &far{catalog: mappedWith(t, server.MountURL("lake"), server.Properties()), clientMetadata: true}
}

func mapped(t *testing.T, mountURL string) catalog.Closer { return mappedWith(t, mountURL, nil) }

// mappedWith makes db.t through the store that the catalog gives to a table which is there already: memory has no other way.
func mappedWith(t *testing.T, mountURL string, properties map[string]string) catalog.Closer {
	l := sqliteLab(t)
	l.create(t, nil, "db", "seed")
	c := opener(catalog.Options{
		Name: catalogName, Type: "sql", URI: "sqlite://" + l.dir + "/catalog.db", Mounts: []storage.Mount{{Prefix: "s3://lake/", URL: mountURL}}, Properties: properties,
	})(t)
	first := farTable + "/metadata/00000-a.metadata.json"
	require.NoError(t, load(t, c, "db", "seed").Store.WriteFile(t.Context(), first, testlake.NewMetadata(t, farTable, nil)))
	l.put(t, testlake.Ident("t"), first)
	return c
}

func vendedS3(t *testing.T) *far {
	s := s3server.New(t, "lake", "other")
	mounts := []storage.Mount{{Prefix: "s3://lake/", URL: s.MountURL("lake")}}
	server := restcatalog.New(t, restcatalog.Options{Credential: "id:secret", Mounts: mounts, Config: s.Properties()})
	store, err := storage.Open(t.Context(), storage.Options{Mounts: mounts})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	first := farTable + "/metadata/00000-a.metadata.json"
	require.NoError(t, store.WriteFile(t.Context(), first, testlake.NewMetadata(t, farTable, nil)))
	server.Put(t, testlake.Ident("t"), first)
	return &far{catalog: opener(catalog.Options{Name: catalogName, Type: "rest", URI: server.URL, Credential: "id:secret"})(t), s3: s}
}

// read reads the table's live deletes in a local copy of everything.
func (f *far) read(t *testing.T) *testlake.Deletes {
	lake := &testlake.Lake{Dir: t.TempDir(), Prefix: cmp.Or(f.prefix, "s3://lake/"), Catalog: f.catalog}
	testlake.Download(t, load(t, f.catalog, "db", "t").Store, lake.Prefix, lake.Dir)
	return lake.Read(t, "t", "main")
}

// gets counts the whole and the ranged reads of what the server saw, by the end of the key.
func gets(requests []s3server.Request, suffix string) (whole, ranged map[string]int) {
	whole, ranged = map[string]int{}, map[string]int{}
	for _, r := range requests {
		switch {
		case r.Method != http.MethodGet || !strings.HasSuffix(r.Key, suffix):
		case r.Range == "":
			whole[r.Key]++
		default:
			ranged[r.Key]++
		}
	}
	return whole, ranged
}

func methods(requests []s3server.Request) map[string]int {
	out := map[string]int{}
	for _, r := range requests {
		out[r.Method]++
	}
	return out
}

func TestMigrateAndCompactOnObjectStores(t *testing.T) {
	t.Parallel()
	for name, start := range farAway {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			writeDeletes(t, f.catalog)
			want := f.read(t)
			require.Equal(t, 2, want.PositionDeleteFiles)

			run(t, f, migrate())
			got := f.read(t)
			assert.Equal(t, want.Positions, got.Positions)
			assert.Zero(t, got.PositionDeleteFiles)

			scatter(t, f.catalog, 6)
			want = f.read(t)
			require.Len(t, want.Puffins, 6)
			compactWithFewRequests(t, f)
			got = f.read(t)
			assert.Equal(t, want.Positions, got.Positions)
			assert.Len(t, got.Puffins, 1)
		})
	}
}

func run(t *testing.T, f *far, o maintenance.Options) *maintenance.Report {
	r, err := maintenance.Run(t.Context(), f.catalog, testlake.Ident("t"), o)
	require.NoError(t, err)
	require.True(t, r.Committed)
	again, err := maintenance.Run(t.Context(), f.catalog, testlake.Ident("t"), o)
	require.NoError(t, err)
	require.False(t, again.Committed)
	return r
}

// scatter gives data files a deletion vector each, in a Puffin of its own, until there are n.
func scatter(t *testing.T, c catalog.Catalog, n int) {
	ctx := t.Context()
	tbl, err := lakewriter.Load(ctx, c, testlake.Ident("t"))
	require.NoError(t, err)
	for i := range n - 2 {
		tbl, err = lakewriter.Append(ctx, tbl, 1, int64(1000+100*i), 100)
		require.NoError(t, err)
	}
	files, err := lakewriter.DataFiles(ctx, tbl, "main")
	require.NoError(t, err)
	old, err := lakewriter.DeleteFiles(ctx, tbl, "main")
	require.NoError(t, err)
	var add []iceberg.DataFile
	for i, file := range files {
		dv, err := lakewriter.DeletionVectors(ctx, tbl, map[string][]int64{file.FilePath(): {int64(i), 10 + int64(i)}}, file)
		require.NoError(t, err)
		add = append(add, dv...)
	}
	_, err = lakewriter.Delta(ctx, tbl, "main", add, old)
	require.NoError(t, err)
}

func compactWithFewRequests(t *testing.T, f *far) {
	o := migrate()
	o.Action, o.UpgradeFormat = maintenance.Compact, false
	tbl := load(t, f.catalog, "db", "t")
	before := tbl.Store.Stats()
	if f.s3 != nil {
		f.s3.Take()
	}
	_, err := maintenance.MakePlan(t.Context(), tbl, o)
	require.NoError(t, err)
	planning := tbl.Store.Stats().Sub(before)
	assert.EqualValues(t, planning.Gets, planning.Requests(), "planning reads whole manifests and nothing else")
	if f.s3 != nil {
		seen := f.s3.Take()
		assert.Equal(t, map[string]int{http.MethodGet: int(planning.Gets)}, methods(seen))
		whole, _ := gets(seen, "")
		for key, n := range whole {
			assert.Equal(t, 1, n, "reads of %s", key)
		}
	}
	before = tbl.Store.Stats()
	r, err := maintenance.Run(t.Context(), f.catalog, testlake.Ident("t"), o)
	require.NoError(t, err)
	require.True(t, r.Committed)
	metadata := 0
	if f.clientMetadata {
		metadata = 1
	}
	assert.EqualValues(t, 6+1+1, r.Requests.RangeGets, "one for each deletion vector, two for the new Puffin: its vectors and its footer")
	assert.EqualValues(t, 1, r.Requests.Heads, "the size of the new Puffin")
	assert.EqualValues(t, 0, r.Requests.Retries)
	assert.EqualValues(t, 1+1+1+1+metadata, r.Requests.Puts, "Puffin, live and tombstone manifest, list, metadata")
	if f.s3 == nil {
		return
	}
	all := tbl.Store.Stats().Sub(before)
	seen := f.s3.Take()
	whole, ranged := gets(seen, ".puffin")
	assert.Empty(t, whole)
	assert.Len(t, ranged, 6+1)
	for key, n := range ranged {
		want := 1
		if slices.Contains(r.Puffins, farRoot+key) {
			want = 2
		}
		assert.Equal(t, want, n, "reads of %s", key)
	}
	serverMetadata := 1 - metadata
	assert.Equal(t, map[string]int{
		http.MethodGet: int(all.Gets + all.RangeGets), http.MethodHead: int(all.Heads), http.MethodPut: int(all.Puts) + serverMetadata,
	}, methods(seen), "what the report counts is what the server saw")
}

// A table may have its data in another bucket than its metadata.
func TestObjectsInAnotherBucketAreNotLookedForInTheBucketOfTheMetadata(t *testing.T) {
	t.Parallel()
	f := vendedS3(t)
	store := load(t, f.catalog, "db", "t").Store
	for _, bucket := range []string{"lake", "other"} {
		require.NoError(t, store.WriteFile(t.Context(), "s3://"+bucket+"/same", []byte("in "+bucket)))
	}
	for _, bucket := range []string{"lake", "other"} {
		location := fmt.Sprintf("s3://%s/same", bucket)
		data, err := store.ReadFile(t.Context(), location)
		require.NoError(t, err)
		assert.Equal(t, "in "+bucket, string(data))
		part, err := store.ReadRange(t.Context(), location, 3, int64(len(bucket)))
		require.NoError(t, err)
		assert.Equal(t, bucket, string(part))
		require.NoError(t, store.Remove(t.Context(), location))
	}
	assert.Equal(t, store.Stats(), load(t, f.catalog, "db", "t").Store.Stats(), "connections and counters outlive a load")
}
