package maintenance_test

import (
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inPlace are options that find work wherever there is some.
func inPlace(p maintenance.InPlace) maintenance.Options {
	o := fast(maintenance.Compact)
	o.InPlace = p
	if p.MinInputFiles == 0 {
		o.InPlace.MinInputFiles = 2
	}
	return o
}

func TestEveryFixtureOfVersion2KeepsItsDeletedPositionsInPlace(t *testing.T) {
	t.Parallel()
	tight := inPlace(maintenance.InPlace{RewriteAll: true, TargetSize: 1})
	tight.Memory, tight.Parallelism = 1, 3
	for name, o := range map[string]maintenance.Options{
		"by partition":  inPlace(maintenance.InPlace{Granularity: maintenance.ByPartition}),
		"by file":       inPlace(maintenance.InPlace{Granularity: maintenance.ByFile}),
		"everything":    inPlace(maintenance.InPlace{RewriteAll: true}),
		"all by file":   inPlace(maintenance.InPlace{Granularity: maintenance.ByFile, RewriteAll: true}),
		"without space": tight,
	} {
		for _, fixture := range testlake.Fixtures(t) {
			if strings.HasPrefix(fixture, "v2-") {
				t.Run(name+"/"+fixture, func(t *testing.T) {
					t.Parallel()
					compactInPlace(t, testlake.Copy(t, fixture), o)
				})
			}
		}
	}
}

func compactInPlace(t *testing.T, lake *testlake.Lake, o maintenance.Options) {
	for name, want := range lake.Expected {
		for ref, state := range want.Refs {
			if state.Tag {
				continue
			}
			o.Ref = ref
			r, err := maintenance.Run(t.Context(), lake.Catalog, testlake.Ident(name), o)
			require.NoError(t, err)
			assert.Equal(t, r.DigestBefore, r.DigestAfter)
			assert.Equal(t, 2, lake.Load(t, name).Metadata.Version())
			if o.InPlace.Granularity != maintenance.ByFile {
				assert.LessOrEqual(t, r.After.PositionDeleteFiles, r.Before.PositionDeleteFiles)
			}
			checkPositions(t, lake, name, ref, state)
			again, err := maintenance.Run(t.Context(), lake.Catalog, testlake.Ident(name), o)
			require.NoError(t, err)
			assert.False(t, again.Committed, "a second run commits")
		}
		for ref, state := range want.Refs {
			checkPositions(t, lake, name, ref, state)
		}
	}
}

func TestManyPositionDeleteFilesOfAPartitionBecomeOneSortedFile(t *testing.T) {
	t.Parallel()
	l := newV2Table(t, 2, nil)
	for i := range int64(4) {
		l.delete(map[int][]int64{1: {i, i + 1}, 0: {2 * i}})
	}
	l.deleteOf(0, 900)
	r := l.compact(fast(maintenance.Compact))
	require.True(t, r.Committed)
	assert.Equal(t, 1, r.After.PositionDeleteFiles)
	assert.Equal(t, int64(10), r.After.DeletedRows, "every position once")
	assert.Len(t, r.DeleteFiles, 1)
	assert.Equal(t, 2, r.DataFiles)
	assert.NotEmpty(t, r.DigestAfter)
	assert.Equal(t, map[int][][2]int64{0: {{0, 0}, {2, 2}, {4, 4}, {6, 6}, {900, 900}}, 1: {{0, 4}}}, l.deleted())
	ours, others := l.entries()
	require.Len(t, ours, 1)
	assert.Empty(t, others)
	assert.Equal(t, int64(6), ours[0].SequenceNum(), "that of the newest source")
	assert.Nil(t, ours[0].DataFile().ReferencedDataFile(), "it is about two data files")
	summary := l.Load().Metadata.CurrentSnapshot().Summary
	assert.Equal(t, table.OpReplace, summary.Operation)
	assert.Equal(t, r.DigestAfter, summary.Properties["dvcompactor.digest"])
	for key, want := range map[string]string{
		"added-delete-files": "1", "removed-delete-files": "5", "added-position-delete-files": "1", "removed-position-delete-files": "5",
		"added-position-deletes": "10", "removed-position-deletes": "13", "added-dvs": "",
	} {
		assert.Equal(t, want, summary.Properties[key], key)
	}
}

func TestByFileEachDataFileGetsOneReferencingFile(t *testing.T) {
	t.Parallel()
	l := newV2Table(t, 3, iceberg.Properties{"write.delete.granularity": "file"})
	for i := range int64(5) {
		l.delete(map[int][]int64{0: {i}, 2: {i}})
	}
	r := l.compact(fast(maintenance.Compact))
	require.True(t, r.Committed)
	ours, others := l.entries()
	assert.Empty(t, others)
	var about []string
	for _, e := range ours {
		about = append(about, *e.DataFile().ReferencedDataFile())
	}
	assert.ElementsMatch(t, []string{l.path(0), l.path(2)}, about)
	assert.Equal(t, map[int][][2]int64{0: {{0, 4}}, 2: {{0, 4}}}, l.deleted())
}

// The reference implementation rewrites such files into as many of the same size with every run (apache/iceberg#9833).
func TestOneSmallFileForEachDataFileIsLeftAloneByFile(t *testing.T) {
	t.Parallel()
	for name, referenced := range map[string]bool{"with referenced data files": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newV2Table(t, 10, nil)
			for i := range l.data {
				if referenced {
					l.deleteOf(i, 1, 2, 3)
				} else {
					l.delete(map[int][]int64{i: {1, 2, 3}})
				}
			}
			r := l.compact(inPlace(maintenance.InPlace{Granularity: maintenance.ByFile}))
			assert.False(t, r.Committed)
			if referenced {
				assert.Equal(t, 1, reasons(r.Skipped)["little-to-gain"])
			}
			r = l.compact(inPlace(maintenance.InPlace{Granularity: maintenance.ByPartition}))
			assert.Equal(t, 1, r.After.PositionDeleteFiles)
		})
	}
}

func TestFewFilesAndLargeFilesAreLeftAloneUnlessAllAreToBeRewritten(t *testing.T) {
	t.Parallel()
	l := newV2Table(t, 1, nil)
	for i := range int64(4) {
		l.deleteOf(0, i)
	}
	r := l.compact(fast(maintenance.Compact))
	assert.False(t, r.Committed, "four are fewer than five")
	assert.Equal(t, 1, reasons(r.Skipped)["little-to-gain"])
	r = l.compact(inPlace(maintenance.InPlace{TargetSize: 1}))
	assert.False(t, r.Committed, "all are large")
	r = l.compact(inPlace(maintenance.InPlace{RewriteAll: true}))
	assert.Equal(t, 1, r.After.PositionDeleteFiles)
	assert.Equal(t, map[int][][2]int64{0: {{0, 3}}}, l.deleted())
}

func TestAFileEndsWhenItHasTheSizeToAimFor(t *testing.T) {
	t.Parallel()
	l := newV2Table(t, 8, nil)
	for i := range l.data {
		positions := make([]int64, 0, 500)
		for p := range int64(500) {
			positions = append(positions, p*p%997)
		}
		l.deleteOf(i, positions...)
	}
	size := l.read().PositionDeleteFiles
	r := l.compact(inPlace(maintenance.InPlace{TargetSize: 2 << 10, RewriteAll: true}))
	require.True(t, r.Committed)
	assert.Greater(t, r.After.PositionDeleteFiles, 1)
	assert.Less(t, r.After.PositionDeleteFiles, size)
}

// A file of five sequence numbers holds a record that names a data file before there is one: it must not begin to apply.
func TestARecordNeverComesToApplyToAYoungerDataFile(t *testing.T) {
	t.Parallel()
	l := newV2Table(t, 1, nil)
	young := l.DataFile("young.parquet", 0, nil, 1000)
	early := forge.Records(map[string][]int64{l.path(0): {1}, young.FilePath(): {7}})
	l.commit(forge.Change{Add: forge.Files(l.PositionDeletes(0, nil, early...).Build())})
	l.data = append(l.data, young)
	l.commit(forge.Change{Add: forge.Files(young)})
	for i := range int64(5) {
		l.delete(map[int][]int64{0: {10 + i}, 1: {20 + i}})
	}
	r := l.compact(fast(maintenance.Compact))
	require.True(t, r.Committed)
	assert.Equal(t, 1, r.After.PositionDeleteFiles)
	assert.Equal(t, map[int][][2]int64{0: {{1, 1}, {10, 14}}, 1: {{20, 24}}}, l.deleted(), "row 7 of the young data file is live")
}

// Records of an old data file and of a young one come into one file, which has to be new enough for the young one.
func TestAFileAboutDataFilesOfSeveralAgesAppliesToEachOfThem(t *testing.T) {
	t.Parallel()
	l := newV2Table(t, 1, nil)
	l.deleteOf(0, 1)
	l.deleteOf(0, 2)
	young := l.DataFile("young.parquet", 0, nil, 1000)
	l.data = append(l.data, young)
	l.commit(forge.Change{Add: forge.Files(young)})
	l.deleteOf(1, 3)
	l.deleteOf(1, 4)
	r := l.compact(inPlace(maintenance.InPlace{Granularity: maintenance.ByPartition}))
	require.True(t, r.Committed)
	assert.Equal(t, 1, r.After.PositionDeleteFiles)
	assert.Equal(t, map[int][][2]int64{0: {{1, 2}}, 1: {{3, 4}}}, l.deleted())
	ours, _ := l.entries()
	assert.Equal(t, int64(6), ours[0].SequenceNum(), "that of the newest source")
}

func TestFilesOfDataFilesThatAreGoneGoWhateverTheirNumber(t *testing.T) {
	t.Parallel()
	l := newV2Table(t, 3, nil)
	l.deleteOf(0, 1)
	l.deleteOf(1, 2)
	l.deleteOf(2, 3)
	l.remove(l.data[1])
	p, err := maintenance.MakePlan(t.Context(), l.Load(), fast(maintenance.Compact))
	require.NoError(t, err)
	require.Len(t, p.Partitions, 1)
	assert.Equal(t, 1, p.Partitions[0].InPlace.Dangling)
	assert.Zero(t, *p.Partitions[0].InPlace.FilesAfter)
	r := l.compact(fast(maintenance.Compact))
	assert.True(t, r.Committed)
	assert.Equal(t, 2, r.After.PositionDeleteFiles)
	assert.Empty(t, r.DeleteFiles)
}

func TestDanglingRecordsGoWhenAllIsRewritten(t *testing.T) {
	t.Parallel()
	for _, by := range []maintenance.Granularity{maintenance.ByFile, maintenance.ByPartition} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			l := newV2Table(t, 2, nil)
			l.delete(map[int][]int64{0: {1}, 1: {2}})
			l.remove(l.data[1])
			assert.False(t, l.compact(inPlace(maintenance.InPlace{Granularity: by})).Committed)
			r := l.compact(inPlace(maintenance.InPlace{Granularity: by, RewriteAll: true}))
			assert.True(t, r.Committed)
			assert.Equal(t, int64(1), r.After.DeletedRows)
			assert.Equal(t, map[int][][2]int64{0: {{1, 1}}}, l.deleted())
		})
	}
}

func TestMemoryThatEndsWithinAPartitionDoesNotEndItsFile(t *testing.T) {
	t.Parallel()
	const partitions, files = 20, 3
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1000, Name: "region", Transform: iceberg.IdentityTransform{}})
	l := judged(t, forge.Options{Spec: &spec})
	want := map[string][][2]int64{}
	for p := range int32(partitions) {
		tuple := forge.Tuple{1000: p}
		var data []iceberg.DataFile
		for range files {
			data = append(data, l.DataFile("", 0, tuple, 1000))
		}
		l.Commit(forge.Change{Add: forge.Files(data...)})
		for i := range int64(2) {
			var records []forge.Record
			for _, f := range data {
				records = append(records, forge.Record{Path: f.FilePath(), Pos: 10 * i})
				want[f.FilePath()] = [][2]int64{{0, 0}, {10, 10}}
			}
			l.Commit(forge.Change{Add: forge.Files(l.PositionDeletes(0, tuple, records...).Build())})
		}
	}
	o := inPlace(maintenance.InPlace{Granularity: maintenance.ByPartition})
	o.Parallelism, o.Memory = 4, 2*(files+1)*300 // so much that one more than the data files of a partition fit
	r, err := maintenance.Run(t.Context(), l.Catalog, forge.Ident(), o)
	require.NoError(t, err)
	assert.Equal(t, partitions, r.After.PositionDeleteFiles)
	assert.Equal(t, want, testlake.ReadSnapshot(t, l.IO(), l.Load().Metadata.CurrentSnapshot()).Positions)
}
