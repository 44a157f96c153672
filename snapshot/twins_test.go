package snapshot

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNearMissesOfALivePath(t *testing.T) {
	t.Parallel()
	const live = "s3://b/t/data/a b.parquet"
	for name, c := range map[string]struct {
		path string
		want *Twin
	}{
		"the path itself":                     {live, &Twin{Path: live, Exact: true}},
		"scheme s3a":                          {"s3a://b/t/data/a b.parquet", &Twin{Path: live}},
		"percent-encoded":                     {"s3://b/t/data/a%20b.parquet", &Twin{Path: live}},
		"doubled slash":                       {"s3://b/t//data/a b.parquet", &Twin{Path: live}},
		"letter case":                         {"s3://b/t/data/A b.parquet", &Twin{Path: live}},
		"authority missing":                   {"/t/data/a b.parquet", &Twin{Path: live}},
		"file with one slash":                 {"file:/t/data/a b.parquet", &Twin{Path: live}},
		"another authority":                   {"hdfs://nn:8020/t/data/a b.parquet", &Twin{Path: live}},
		"relative to another table location":  {"s3://old/warehouse/db/t/data/a b.parquet", &Twin{Path: live}},
		"another file of the table":           {"s3://b/t/data/c.parquet", nil},
		"a name that only ends like it":       {"s3://b/t/data/xa b.parquet", nil},
		"a data folder without its file name": {"s3://b/t/data/", nil},
		"a broken percent sign":               {"s3://b/t/data/%zz.parquet", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			index := newTwinIndex("s3://b/t", []string{c.path})
			for _, l := range []string{"s3://b/t/data/0.parquet", live, "s3://b/t/data/z.parquet"} {
				index.see(l)
			}
			got, ok := index.found[c.path]
			if c.want == nil {
				assert.False(t, ok, "%+v", got)
			} else {
				assert.Equal(t, *c.want, got)
			}
		})
	}
}

func TestAzureHostsOfOneStoreAreNearMisses(t *testing.T) {
	t.Parallel()
	const live = "abfss://c@a.dfs.core.windows.net/t/data/f.parquet"
	for _, path := range []string{"wasbs://c@a.blob.core.windows.net/t/data/f.parquet", "abfss://c@a.blob.core.windows.net/t/data/f.parquet"} {
		index := newTwinIndex("abfss://c@a.dfs.core.windows.net/t", []string{path})
		index.see(live)
		assert.Equal(t, Twin{Path: live}, index.found[path])
	}
}

func TestTheChosenTwinDoesNotDependOnTheOrderOfManifests(t *testing.T) {
	t.Parallel()
	lives := []string{"s3://b/t/data/F.parquet", "s3://b/t/data/f%2Eparquet", "s3a://b/t/data/f.parquet"}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		index := newTwinIndex("s3://b/t", []string{"gs://x/t/data/f.parquet"})
		for _, i := range order {
			index.see(lives[i])
		}
		assert.Equal(t, Twin{Path: "s3://b/t/data/F.parquet"}, index.found["gs://x/t/data/f.parquet"])
	}
}
