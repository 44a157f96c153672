package maintenance_test

import (
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func measure(t *testing.T, l *forge.Lake) maintenance.Measures {
	p, err := maintenance.MakePlan(t.Context(), l.Load(), maintenance.Options{Action: maintenance.Compact})
	require.NoError(t, err)
	return p.Measure()
}

func TestMeasuresOfPositionDeleteFiles(t *testing.T) {
	t.Parallel()
	l := forge.New(t, forge.Options{})
	assert.Equal(t, maintenance.Measures{}, measure(t, l), "of a table without snapshots")
	a, b, c := l.DataFile("a.parquet", 0, nil, 100), l.DataFile("b.parquet", 0, nil, 100), l.DataFile("c.parquet", 0, nil, 200)
	l.Commit(forge.Change{Add: forge.Files(a, b)})
	assert.Equal(t, maintenance.Measures{}, measure(t, l), "of a table without deletes")
	records := func(positions map[string][]int64) *iceberg.DataFileBuilder {
		return l.PositionDeletes(0, nil, forge.Records(positions)...)
	}
	common := records(map[string][]int64{a.FilePath(): {1, 2}, b.FilePath(): {3}}).Build()
	own := records(map[string][]int64{a.FilePath(): {4}}).ReferencedDataFile(a.FilePath()).Build()
	l.Commit(forge.Change{Add: forge.Files(common, own)})
	l.Commit(forge.Change{Add: forge.Files(c)}) // younger than these deletes
	m := measure(t, l)
	assert.Equal(t, 2, m.DeleteFiles)
	assert.Equal(t, 2, m.MostDeleteFilesPerDataFile, "a has both")
	assert.InDelta(t, 4.0/400, m.DeletedRowRatio, 1e-9)
	l.Commit(forge.Change{Add: forge.Files(records(map[string][]int64{c.FilePath(): {1, 2}}).Build())})
	m = measure(t, l)
	assert.Equal(t, 3, m.DeleteFiles)
	assert.Equal(t, 3, m.MostDeleteFilesPerDataFile, "what applies is not known before it is read, so what may apply counts")
	assert.InDelta(t, 6.0/400, m.DeletedRowRatio, 1e-9)
	assert.Zero(t, m.PuffinFiles)
	assert.Zero(t, m.DeadPuffinRatio)
}

func TestMeasuresOfPuffinFiles(t *testing.T) {
	t.Parallel()
	l := forge.New(t, forge.Options{Version: 3})
	a, b := l.DataFile("a.parquet", 0, nil, 100), l.DataFile("b.parquet", 0, nil, 100)
	l.Commit(forge.Change{Add: forge.Files(a, b)})
	both := l.DeletionVectors(forge.Vector{Data: a, Positions: []int64{1, 2, 3}}, forge.Vector{Data: b, Positions: []int64{4}})
	l.Commit(forge.Change{Add: forge.Files(both...)})
	m := measure(t, l)
	assert.Equal(t, 2, m.DeleteFiles)
	assert.Equal(t, 1, m.PuffinFiles)
	assert.Equal(t, 1, m.MostDeleteFilesPerDataFile)
	assert.InDelta(t, 4.0/200, m.DeletedRowRatio, 1e-9)
	assert.Zero(t, m.DeadPuffinRatio, "a footer is not dead")

	more := l.DeletionVectors(forge.Vector{Data: a, Positions: []int64{1, 2, 3, 5}})
	gone := both[0]
	l.Commit(forge.Change{Add: forge.Files(more...), Remove: func(f iceberg.DataFile) bool {
		return f.FilePath() == gone.FilePath() && *f.ContentOffset() == *gone.ContentOffset()
	}})
	m = measure(t, l)
	assert.Equal(t, 2, m.PuffinFiles)
	assert.InDelta(t, 5.0/200, m.DeletedRowRatio, 1e-9)
	assert.Positive(t, m.DeadPuffinRatio)
	assert.Less(t, m.DeadPuffinRatio, 1.0)
	dead, all := float64(*gone.ContentSizeInBytes()), float64(gone.FileSizeBytes()+more[0].FileSizeBytes())
	assert.GreaterOrEqual(t, m.DeadPuffinRatio, dead/all)
}

func TestADataFileThatIsYoungerThanDeletesDoesNotCountThem(t *testing.T) {
	t.Parallel()
	l := forge.New(t, forge.Options{Version: 3})
	old, young := l.DataFile("old.parquet", 0, nil, 100), l.DataFile("young.parquet", 0, nil, 100)
	l.Commit(forge.Change{Add: forge.Files(old)})
	for pos := range int64(2) {
		l.Commit(forge.Change{Add: forge.Files(l.PositionDeletes(0, nil, forge.Record{Path: old.FilePath(), Pos: pos}).Build())})
	}
	l.Commit(forge.Change{Add: forge.Files(young)})
	l.Commit(forge.Change{Add: forge.Files(l.PositionDeletes(0, nil, forge.Record{Path: young.FilePath()}).ReferencedDataFile(young.FilePath()).Build())})
	assert.Equal(t, 2, measure(t, l).MostDeleteFilesPerDataFile, "old has two, young has its own and not those")
}

func forecast(t *testing.T, l *forge.Lake, o maintenance.Options) maintenance.Forecast {
	p, err := maintenance.MakePlan(t.Context(), l.Load(), o)
	require.NoError(t, err)
	return p.Forecast
}

func TestAForecastCountsWhatReadersOpenNowAndAtMostAfterwards(t *testing.T) {
	t.Parallel()
	l := forge.New(t, forge.Options{Version: 3})
	a, b, c := l.DataFile("a.parquet", 0, nil, 100), l.DataFile("b.parquet", 0, nil, 100), l.DataFile("c.parquet", 0, nil, 100)
	l.Commit(forge.Change{Add: forge.Files(a, b, c)})
	assert.Equal(t, maintenance.Forecast{}, forecast(t, l, maintenance.Options{Action: maintenance.Migrate}))
	common := l.PositionDeletes(0, nil, forge.Records(map[string][]int64{a.FilePath(): {1, 2}, b.FilePath(): {3}})...).Build()
	own := l.PositionDeletes(0, nil, forge.Records(map[string][]int64{a.FilePath(): {4}})...).ReferencedDataFile(a.FilePath()).Build()
	l.Commit(forge.Change{Add: forge.Files(common, own)})
	young := l.DataFile("young.parquet", 0, nil, 100)
	l.Commit(forge.Change{Add: forge.Files(young)})
	dv := l.DeletionVectors(forge.Vector{Data: c, Positions: []int64{7}})[0]
	l.Commit(forge.Change{Add: forge.Files(dv)})

	f := forecast(t, l, maintenance.Options{Action: maintenance.Migrate})
	size, ownSize := common.FileSizeBytes(), own.FileSizeBytes()
	assert.Equal(t, maintenance.Reading{
		DeleteEntries: 3,
		Requests:      2 + 1 + 1, // a: both; b: the common one; c: its deletion vector hides it; the young one: none
		Bytes:         2*size + ownSize + *dv.ContentSizeInBytes(),
		StoredBytes:   size + ownSize + dv.FileSizeBytes(),
	}, f.Before)
	assert.Equal(t, int64(3), f.After.Requests)
	assert.Equal(t, int64(3), f.After.DeleteEntries)
	r, err := maintenance.Run(t.Context(), l.Catalog, testlake.Ident("t"), maintenance.Options{Action: maintenance.Migrate})
	require.NoError(t, err)
	require.True(t, r.Committed)
	after := forecast(t, l, maintenance.Options{Action: maintenance.Migrate})
	assert.LessOrEqual(t, after.Before.Requests, f.After.Requests)
	assert.LessOrEqual(t, after.Before.Bytes, f.After.Bytes)
	assert.LessOrEqual(t, after.Before.DeleteEntries, f.After.DeleteEntries)
	assert.Equal(t, after.Before, after.After, "nothing is left to gain")
}

func TestNoFixtureCostsItsReadersMoreThanTheForecastSaid(t *testing.T) {
	t.Parallel()
	for _, fixture := range testlake.Fixtures(t) {
		t.Run(fixture, func(t *testing.T) {
			t.Parallel()
			lake := testlake.Copy(t, fixture)
			for name := range lake.Expected {
				for _, action := range []maintenance.Action{maintenance.Migrate, maintenance.Compact} {
					o := maintenance.Options{Action: action, UpgradeFormat: action == maintenance.Migrate}
					said, err := maintenance.MakePlan(t.Context(), lake.Load(t, name), o)
					require.NoError(t, err)
					_, err = maintenance.Run(t.Context(), lake.Catalog, testlake.Ident(name), o)
					require.NoError(t, err)
					after, err := maintenance.MakePlan(t.Context(), lake.Load(t, name), o)
					require.NoError(t, err)
					if !mayKeep[fixture] { // contents may say that a delete file stays
						assert.LessOrEqual(t, after.Forecast.Before.Requests, said.Forecast.After.Requests)
						assert.LessOrEqual(t, float64(after.Forecast.Before.Bytes), 1.1*float64(said.Forecast.After.Bytes))
						assert.LessOrEqual(t, after.Forecast.Before.DeleteEntries, said.Forecast.After.DeleteEntries)
					}
					assert.Equal(t, after.Forecast.Before, after.Forecast.After, "nothing is left to do")
				}
			}
		})
	}
}
