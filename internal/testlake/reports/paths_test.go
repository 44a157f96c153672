package reports

import (
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/stretchr/testify/assert"
)

// spelling is a kind of path that almost is another one.
type spelling struct {
	live, near string // near means live, or may mean it
	apart      string // something else
}

// spellings are the near misses that the rule about dangling records knows, each with a path that is none.
func spellings() map[string]spelling {
	const key = "/t/data/a b.parquet"
	return map[string]spelling{
		"s3a for s3":                            {"s3://b" + key, "s3a://b" + key, "s3a://b/other/data/c.parquet"},
		"s3n for s3":                            {"s3://b" + key, "s3n://b" + key, "s3n://b" + key + ".crc"},
		"s3 for s3a":                            {"s3a://b" + key, "s3://b" + key, "s3://b/t/data/a.parquet"},
		"wasb for abfs":                         {"abfs://c@a.dfs.core.windows.net" + key, "wasb://c@a.dfs.core.windows.net" + key, "wasb://c@a.dfs.core.windows.net/t/data/b.parquet"},
		"wasbs for abfss and blob for dfs":      {"abfss://c@a.dfs.core.windows.net" + key, "wasbs://c@a.blob.core.windows.net" + key, "wasbs://c@a.blob.core.windows.net/data/a b.parquet2"},
		"the blob host for the dfs host":        {"abfss://c@a.dfs.core.windows.net" + key, "abfss://c@a.blob.core.windows.net" + key, "abfss://c@a.blob.core.windows.net/t/data/ab.parquet"},
		"no authority":                          {"hdfs://nn:8020" + key, key, "/t/data/A B/b.parquet"},
		"another authority":                     {"hdfs://nn:8020" + key, "hdfs://nn2" + key, "hdfs://nn2/t/data/a c.parquet"},
		"no scheme, but an authority":           {"hdfs://nn:8020" + key, "//nn:8020" + key, "//nn:8020/t/data/x.parquet"},
		"a doubled slash":                       {"s3://b" + key, "s3://b//t/data//a b.parquet", "s3://b/t/data/a /b.parquet"},
		"a doubled slash in the table":          {"s3://b/t//data/a.parquet", "s3://b/t/data/a.parquet", "s3://b/t/dataa.parquet"},
		"percent-encoding":                      {"s3://b" + key, "s3://b/t/data/a%20b.parquet", "s3://b/t/data/a%20c.parquet"},
		"percent-encoding in the table":         {"s3://b/t/data/p=1%3A2/a.parquet", "s3://b/t/data/p=1:2/a.parquet", "s3://b/t/data/p=1:3/a.parquet"},
		"one slash after file:":                 {"file:///t/data/a.parquet", "file:/t/data/a.parquet", "file:/t/data/b.parquet"},
		"three slashes after file:":             {"file:/t/data/a.parquet", "file:///t/data/a.parquet", "file:///t/data/a.parquet.tmp"},
		"no scheme for file:":                   {"file:///t/data/a.parquet", "/t/data/a.parquet", "/t/data/a.parquet/part"},
		"capital letters":                       {"s3://b" + key, "s3://b/t/data/A b.PARQUET", "s3://b/t/data/Ä b.parquet"},
		"below another table location":          {forge.Location + "/data/a.parquet", "s3://old/warehouse/t2/data/a.parquet", "s3://old/warehouse/t2/data/ba.parquet"},
		"below another location, other scheme":  {forge.Location + "/data/a.parquet", "hdfs://nn/warehouse/x/data/a.parquet", "hdfs://nn/warehouse/xdata/a.parquet"},
		"the same key in another Azure account": {"abfss://c@a.dfs.core.windows.net" + key, "abfss://c@other.dfs.core.windows.net" + key, "abfss://c@other.dfs.core.windows.net/z.parquet"},
	}
}

func TestRecordsOfAlmostTheSamePathKeepTheirFileAndOthersDoNot(t *testing.T) {
	t.Parallel()
	for name, s := range spellings() {
		for _, c := range []struct {
			what, path string
			kept       int
		}{{"near miss", s.near, 1}, {"another path", s.apart, 0}} {
			t.Run(name+", "+c.what, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, v2())
				f := l.DataFile(s.live, 0, nil, 10)
				l.append(f)
				l.deletePositions(f, map[string][]int64{c.path: {1}, s.live: {2}})
				r := l.migrate()
				assert.Equal(t, c.kept, reasons(r)["path-near-miss"])
				got := l.read("main")
				assert.Equal(t, map[string][][2]int64{s.live: one(2)}, got.Positions, "an exact comparison decides what is deleted")
				assert.Equal(t, c.kept, got.PositionDeleteFiles)
				if c.kept == 1 {
					assert.Equal(t, s.live, skip(t, r, "path-near-miss").DataFile)
					assert.Contains(t, skip(t, r, "path-near-miss").Detail, c.path)
				}
			})
		}
	}
}

func TestADeletionVectorOfAlmostTheSamePathStays(t *testing.T) {
	t.Parallel()
	for name, s := range spellings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, v3())
			f, near, apart := l.DataFile(s.live, 0, nil, 10), l.DataFile(s.near, 0, nil, 10), l.DataFile(s.apart, 0, nil, 10)
			l.append(f)
			kept := l.vector(near, 1)
			gone := l.vector(apart, 1)
			r := l.compact()
			assert.Equal(t, map[string]int{"path-near-miss": 1}, reasons(r))
			assert.Equal(t, []string{kept.FilePath()}, l.livePaths())
			assert.NotContains(t, l.livePaths(), gone.FilePath())
		})
	}
}

func TestATableThatWasCopiedKeepsTheDeletesThatNameItsOldPlace(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.files(2)
	old := func(d iceberg.DataFile) string {
		return strings.Replace(d.FilePath(), forge.Location, "s3://old/warehouse/db/t", 1)
	}
	d := l.deletePositions(f[0], map[string][]int64{old(f[0]): {1, 2}, old(f[1]): {3}})
	r := l.migrate()
	assert.False(t, r.Committed)
	assert.Equal(t, 2, l.Load().Metadata.Version(), "nothing to gain is no reason to upgrade")
	assert.Contains(t, skip(t, r, "path-near-miss").Hint, "alias")
	assert.Equal(t, []string{d.FilePath()}, l.livePaths())
}

// What a location may hold, and what clients get wrong about it: #, ?, {, } and % are bytes of a key like others.
func TestOddKeysAreUsedByteForByte(t *testing.T) {
	t.Parallel()
	byNote := iceberg.NewPartitionSpec(identity(4, 1000, "da#a"))
	l := newLab(t, forge.Options{Location: "s3://lake/a table/ü+1#x%20?q={d}", Spec: &byNote})
	tuple := forge.Tuple{1000: "x%2Fy"}
	f := l.DataFile("da%23a=x%252Fy/#1?%{}.parquet", 0, tuple, 10)
	g := l.DataFile("da%23a=x%252Fy/#1?%{}%.parquet", 0, tuple, 10)
	l.append(f, g)
	l.deletePositions(f, map[string][]int64{f.FilePath(): {1}, g.FilePath(): {2}})
	l.migrate()
	got := l.read("main")
	assert.Equal(t, map[string][][2]int64{f.FilePath(): one(1), g.FilePath(): one(2)}, got.Positions)
	l.replaceVector(f, 1, 5) // and once more from the vectors that were just written
	l.compact()
	assert.Equal(t, at(1, 5), l.read("main").Positions[f.FilePath()])
	for puffin := range l.read("main").Puffins {
		assert.True(t, strings.HasPrefix(puffin, l.At+"/data/"))
	}
	before := len(l.Keys())
	l.compact()
	assert.Len(t, l.Keys(), before)
}

func TestDataFilesWhosePathsDifferInSpellingAloneAreTwo(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f, g := l.DataFile("a b.parquet", 0, nil, 10), l.DataFile("a%20b.parquet", 0, nil, 10)
	l.append(f, g)
	l.deletePositions(f, map[string][]int64{f.FilePath(): {1}, g.FilePath(): {2}})
	l.migrate()
	assert.Equal(t, map[string][][2]int64{f.FilePath(): one(1), g.FilePath(): one(2)}, l.read("main").Positions)
	l.Commit(forge.Change{Operation: table.OpDelete, Remove: named(g)})
	r := l.compact()
	assert.Equal(t, 1, reasons(r)["path-near-miss"], "the one that is gone may have been meant for the other: it stays")
	assert.Equal(t, one(1), l.read("main").Positions[f.FilePath()])
}
