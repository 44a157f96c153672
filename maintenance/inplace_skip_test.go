package maintenance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAFileThatReferencesAlmostALivePathStaysWithoutBeingRead(t *testing.T) {
	t.Parallel()
	l := newV2Table(t, 1, nil)
	near := strings.Replace(l.path(0), "s3://", "s3a://", 1)
	for _, records := range [][]forge.Record{{{Path: near, Pos: 1}}, {{Path: l.path(0), Pos: 2}}, {{Path: l.path(0), Pos: 3}}} {
		l.commit(forge.Change{Add: forge.Files(l.PositionDeletes(0, nil, records...).ReferencedDataFile(records[0].Path).Build())})
	}
	r := l.compact(inPlace(maintenance.InPlace{}))
	assert.True(t, r.Committed)
	assert.Equal(t, 1, reasons(r.Skipped)["path-near-miss"])
	assert.Equal(t, 2, r.After.PositionDeleteFiles)
	p, err := maintenance.MakePlan(t.Context(), l.Load(), inPlace(maintenance.InPlace{}))
	require.NoError(t, err)
	assert.False(t, p.Work)
}

func TestAnUnreadableFileHoldsUpOnlyWhatItWasFoundToBeAbout(t *testing.T) {
	t.Parallel()
	l := newV2Table(t, 2, nil)
	l.delete(map[int][]int64{0: {5}, 1: {-1}}) // the records of data file 0 come first
	for i := range int64(3) {
		l.deleteOf(0, i)
		l.deleteOf(1, i)
	}
	o := inPlace(maintenance.InPlace{Granularity: maintenance.ByFile})
	r, err := maintenance.Run(t.Context(), l.Catalog, forge.Ident(), o)
	require.NoError(t, err)
	assert.False(t, r.Committed)
	assert.Equal(t, 3, reasons(r.Skipped)["delete-unreadable"], "the file and both data files")

	other := newV2Table(t, 2, nil)
	other.delete(map[int][]int64{0: {-1, 5}})
	for i := range int64(3) {
		other.deleteOf(0, i)
		other.deleteOf(1, i)
	}
	other.OnCommit(nil) // the reader of the judge does not read the damaged file
	r, err = maintenance.Run(t.Context(), other.Catalog, forge.Ident(), o)
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.Equal(t, 5, r.After.PositionDeleteFiles, "of data file 1 one instead of three")
}

func TestAReviewedPlanIsAppliedWithItsOwnOptions(t *testing.T) {
	t.Parallel()
	l := newV2Table(t, 2, nil)
	for i := range int64(2) {
		l.delete(map[int][]int64{0: {i}, 1: {i}})
	}
	p, err := maintenance.MakePlan(t.Context(), l.Load(), inPlace(maintenance.InPlace{Granularity: maintenance.ByFile}))
	require.NoError(t, err)
	require.True(t, p.Work)
	other, err := maintenance.MakePlan(t.Context(), l.Load(), inPlace(maintenance.InPlace{}))
	require.NoError(t, err)
	assert.NotEqual(t, other.Fingerprint, p.Fingerprint)
	r, err := maintenance.Apply(t.Context(), l.Catalog, forge.Ident(), p, maintenance.Options{})
	require.NoError(t, err)
	assert.Len(t, r.DeleteFiles, 2, "by file, as it was planned")
	_, err = maintenance.Apply(t.Context(), l.Catalog, forge.Ident(), p, maintenance.Options{})
	require.ErrorIs(t, err, maintenance.ErrStale)
}

func TestAnUnknownGranularityIsAnError(t *testing.T) {
	t.Parallel()
	l := newV2Table(t, 1, nil)
	_, err := maintenance.MakePlan(t.Context(), l.Load(), inPlace(maintenance.InPlace{Granularity: "row"}))
	require.ErrorContains(t, err, `"row"`)
}

func TestHotPositionDeleteFilesStayWithTheirDataFiles(t *testing.T) {
	t.Parallel()
	l := newV2Table(t, 3, nil)
	for i := range int64(3) {
		l.deleteOf(0, i)
		l.deleteOf(1, i)
		l.deleteOf(2, i)
	}
	moment := l.Load().Metadata.CurrentSnapshot().TimestampMs
	l.deleteOf(0, 100)
	l.delete(map[int][]int64{1: {100}})
	o := inPlace(maintenance.InPlace{Granularity: maintenance.ByFile})
	o.CoolDown, o.Now = time.Hour, func() time.Time { return time.UnixMilli(moment).Add(time.Hour) }
	r := l.compact(o)
	assert.True(t, r.Committed)
	files, locations := skippedFor(r.Skipped, "cool-down")
	assert.Equal(t, []string{l.path(0), l.path(1)}, files)
	assert.Len(t, locations, 2)
	_, others := l.entries()
	assert.Len(t, others, 3+3+2, "only those of data file 2 were rewritten")
}

func TestWhatAPlanForecastsIsWhatComesOfIt(t *testing.T) {
	t.Parallel()
	for _, by := range []maintenance.Granularity{maintenance.ByFile, maintenance.ByPartition} {
		l := newV2Table(t, 3, nil)
		for i := range int64(3) {
			l.deleteOf(0, i)
			l.deleteOf(1, i)
		}
		o := inPlace(maintenance.InPlace{Granularity: by})
		p, err := maintenance.MakePlan(t.Context(), l.Load(), o)
		require.NoError(t, err)
		l.compact(o)
		now, err := maintenance.MakePlan(t.Context(), l.Load(), o)
		require.NoError(t, err)
		assert.Equal(t, now.Forecast.Before.DeleteEntries, p.Forecast.After.DeleteEntries)
		assert.Equal(t, now.Forecast.Before.Requests, p.Forecast.After.Requests)
		assert.Less(t, p.Forecast.After.Requests, p.Forecast.Before.Requests)
	}
}

func TestInPlaceWorksOnThePartitionsThatAPredicateTakes(t *testing.T) {
	t.Parallel()
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1000, Name: "region", Transform: iceberg.IdentityTransform{}})
	l := forge.New(t, forge.Options{Spec: &spec})
	for region := range int32(2) {
		tuple := forge.Tuple{1000: region}
		f := l.DataFile("", 0, tuple, 1000)
		l.Commit(forge.Change{Add: forge.Files(f)})
		for pos := range int64(3) {
			l.Commit(forge.Change{Add: forge.Files(l.PositionDeletes(0, tuple, forge.Record{Path: f.FilePath(), Pos: pos}).Build())})
		}
	}
	o := inPlace(maintenance.InPlace{})
	o.Where = "region = 1"
	r, err := maintenance.Run(t.Context(), l.Catalog, forge.Ident(), o)
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.Equal(t, 3+1, r.After.PositionDeleteFiles)
}
