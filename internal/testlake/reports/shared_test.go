package reports

import (
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/faults"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A delete file that three data files share stays as long as one of them has no deletion vector that holds its rows. The
// others must not lose theirs, whatever keeps the third one out.
func TestASharedDeleteFileStaysUntilItsLastDataFileIsCovered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		spoil  func(l *lab, f iceberg.DataFile) // keeps f out
		mend   func(l *lab, f iceberg.DataFile) // and then not any more; nil where nobody can
	}{
		"an unreadable deletion vector": {"dv-corrupt", func(l *lab, f iceberg.DataFile) {
			bad := l.blob(3)
			bad[len(bad)-1] ^= 1
			l.delete(l.puffin(f, bad, "1", 1).Build())
		}, func(l *lab, f iceberg.DataFile) { l.replaceVector(f, 3) }},
		"an incomplete deletion vector": {"dv-incomplete", func(l *lab, f iceberg.DataFile) { l.vector(f, 30) },
			func(l *lab, f iceberg.DataFile) { l.replaceVector(f, 3, 30) }},
		"two deletion vectors": {"dv-duplicate", func(l *lab, f iceberg.DataFile) { l.vector(f, 3); l.vector(f, 3, 4) },
			func(l *lab, f iceberg.DataFile) { l.replaceVector(f, 3, 4) }},
		"a deletion vector that is not there": {"dv-missing", func(l *lab, f iceberg.DataFile) {
			require.NoError(l.t, l.Remove(l.vector(f, 3).FilePath()))
		}, func(l *lab, f iceberg.DataFile) { l.replaceVector(f, 3) }},
		"a deletion vector older than the data file": {"dv-sequence", func(l *lab, f iceberg.DataFile) {
			seq := int64(0)
			d := l.DeletionVectors(forge.Vector{Data: f, Positions: []int64{3}})[0]
			l.Commit(forge.Change{Add: []forge.Added{{File: d, Seq: &seq}}})
		}, func(l *lab, f iceberg.DataFile) { l.replaceVector(f, 3) }},
		"a deletion vector of another partition": {"dv-partition", func(l *lab, f iceberg.DataFile) {
			d := l.DeletionVectors(forge.Vector{Data: f, Positions: []int64{3}})[0]
			wrong := l.Entry(0, forge.Tuple{1000: int32(99)}, iceberg.EntryContentPosDeletes, d.FilePath(), iceberg.PuffinFile, 1, d.FileSizeBytes())
			l.delete(wrong.ReferencedDataFile(f.FilePath()).ContentOffset(*d.ContentOffset()).ContentSizeInBytes(*d.ContentSizeInBytes()).Build())
		}, func(l *lab, f iceberg.DataFile) { l.replaceVector(f, 3) }},
		"a position beyond the last row": {"position-out-of-range", func(l *lab, f iceberg.DataFile) {
			l.deletePositions(f, map[string][]int64{f.FilePath(): {100}})
		}, nil},
		"the path listed twice": {"data-file-twice", func(l *lab, f iceberg.DataFile) { l.append(f) }, nil},
		"the path listed twice, in two partitions": {"data-file-twice", func(l *lab, f iceberg.DataFile) {
			here := forge.Tuple{1000: int32(-1)}
			again := l.DataFile(f.FilePath(), 0, here, 100)
			l.append(again)
			l.deletePositions(again, map[string][]int64{f.FilePath(): {4}})
		}, nil},
		"a damaged ORC file about it": {"delete-unreadable", func(l *lab, f iceberg.DataFile) {
			l.delete(l.DeleteBytes(0, f.Partition(), iceberg.OrcFile, 1, []byte("ORC")).ReferencedDataFile(f.FilePath()).Build())
		}, func(l *lab, f iceberg.DataFile) {
			l.Commit(forge.Change{Remove: func(d iceberg.DataFile) bool { return d.FileFormat() == iceberg.OrcFile }})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			byRegion := iceberg.NewPartitionSpec(identity(2, 1000, "region"))
			l := newDamagedLab(t, forge.Options{Version: 3, Spec: &byRegion})
			tuple := forge.Tuple{1000: int32(5)}
			f := []iceberg.DataFile{l.DataFile("", 0, tuple, 100), l.DataFile("", 0, tuple, 100), l.DataFile("", 0, tuple, 100)}
			l.append(f...)
			shared := l.deletePositions(f[0], map[string][]int64{f[0].FilePath(): {1}, f[1].FilePath(): {2}, f[2].FilePath(): {3}})
			l.deletePositions(f[0], map[string][]int64{f[0].FilePath(): {11}}) // something to gain for the first alone
			c.spoil(l, f[2])
			r := l.compact()
			assert.True(t, r.Committed)
			assert.NotZero(t, reasons(r)[c.reason], "%+v", r.Skipped)
			assert.Contains(t, l.livePaths(), shared.FilePath())
			got := l.read("main")
			assert.Equal(t, at(1, 11), got.Positions[f[0].FilePath()])
			assert.Equal(t, one(2), got.Positions[f[1].FilePath()], "from the shared file still")
			if c.mend == nil {
				return
			}
			c.mend(l, f[2])
			l.compact()
			assert.NotContains(t, l.livePaths(), shared.FilePath())
			got = l.read("main")
			assert.Zero(t, got.PositionDeleteFiles)
			assert.Equal(t, at(1, 11), got.Positions[f[0].FilePath()])
			assert.Equal(t, one(2), got.Positions[f[1].FilePath()])
		})
	}
}

func TestASharedDeleteFileIsReadAgainInEveryPassAndGoesAfterTheLast(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.files(5)
	positions := map[string][]int64{}
	for i, d := range f {
		positions[d.FilePath()] = []int64{int64(i)}
	}
	d := l.deletePositions(f[0], positions)
	o := options(maintenance.Migrate)
	o.Memory = 1 // every data file is a pass of its own
	o.TargetPuffinSize = 1
	r := l.run(o)
	assert.Zero(t, r.After.PositionDeleteFiles)
	got := l.read("main")
	for i, f := range f {
		assert.Equal(t, one(int64(i)), got.Positions[f.FilePath()])
	}
	assert.NotContains(t, l.livePaths(), d.FilePath())
}

func TestAStoreThatFailsInTheMiddleChangesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.files(3)
	positions := map[string][]int64{}
	for i, d := range f {
		positions[d.FilePath()] = []int64{int64(i)}
	}
	d := l.deletePositions(f[0], positions)
	before := l.Keys()
	s, err := faults.Parse("put *.puffin #2+: fail")
	require.NoError(t, err)
	o := options(maintenance.Migrate)
	o.Memory, o.TargetPuffinSize = 1, 1
	_, err = maintenance.Run(t.Context(), s.Catalog(l.Through(s.Bucket(l.Bucket))), forge.Ident(), o)
	require.Error(t, err)
	assert.Equal(t, []string{d.FilePath()}, l.livePaths())
	assert.Equal(t, before, l.Keys(), "what was uploaded is removed")
	l.migrate()
	assert.Zero(t, l.read("main").PositionDeleteFiles)
}

func TestAForeignDeleteFileAcrossDataFilesGoesAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.files(4)
	positions := map[string][]int64{}
	for i, d := range f {
		positions[d.FilePath()] = []int64{int64(i), int64(i) + 100}
	}
	l.deletePositions(f[0], positions)
	r := l.migrate()
	assert.Equal(t, 4, r.DataFiles)
	assert.Zero(t, r.After.PositionDeleteFiles)
	assert.Equal(t, 1, r.After.PuffinFiles)
}

func TestDeletesOfOneDataFileAreNotGivenToItsNeighbours(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := []iceberg.DataFile{l.DataFile("", 0, nil, 10), l.DataFile("", 0, nil, 10), l.DataFile("", 0, nil, 10)}
	l.append(f...)
	d := l.PositionDeletes(0, nil, forge.Record{Path: f[1].FilePath(), Pos: 4}).Build()
	l.Commit(forge.Change{Operation: table.OpDelete, Add: forge.Files(d), List: func(m []iceberg.ManifestFile) []iceberg.ManifestFile {
		return []iceberg.ManifestFile{m[1], m[0]} // delete manifests first
	}})
	l.migrate()
	assert.Equal(t, map[string][][2]int64{f[0].FilePath(): {}, f[1].FilePath(): one(4), f[2].FilePath(): {}}, l.read("main").Positions)
}

// A delete file that two entries list, as of two snapshots or in two partitions, goes when neither is needed.
func TestADeleteFileInTwoEntriesStaysWhileOneOfThemIsNeeded(t *testing.T) {
	t.Parallel()
	byRegion := iceberg.NewPartitionSpec(identity(2, 1000, "region"))
	here, there := forge.Tuple{1000: int32(1)}, forge.Tuple{1000: int32(2)}
	for name, tuple := range map[string]forge.Tuple{"of two snapshots": here, "in two partitions": there} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newDamagedLab(t, forge.Options{Version: 3, Spec: &byRegion})
			l.OnCommit(nil) // the judge tells delete files apart by their names
			l.unjudged = true
			f, g := l.DataFile("", 0, here, 100), l.DataFile("", 0, tuple, 100)
			d := l.PositionDeletes(0, here, forge.Record{Path: f.FilePath(), Pos: 1}, forge.Record{Path: g.FilePath(), Pos: 2}).Build()
			again := l.Entry(0, tuple, iceberg.EntryContentPosDeletes, d.FilePath(), iceberg.ParquetFile, 2, d.FileSizeBytes()).Build()
			l.append(f)
			l.delete(d)
			l.append(g)
			l.delete(again)
			bad := l.blob(2)
			bad[len(bad)-1] ^= 1
			l.delete(l.puffin(g, bad, "1", 1).Build())
			l.compact()
			assert.Contains(t, l.livePaths(), d.FilePath(), "the damaged vector does not say which rows it deletes, this file does")
			l.replaceVector(g, 2)
			l.compact()
			assert.NotContains(t, l.livePaths(), d.FilePath())
			assert.Equal(t, map[string][][2]int64{f.FilePath(): one(1), g.FilePath(): one(2)}, l.read("main").Positions)
		})
	}
}

func TestADeleteFileThatIsListedOnceMoreMeanwhileStays(t *testing.T) {
	t.Parallel()
	byRegion := iceberg.NewPartitionSpec(identity(2, 1000, "region"))
	l := newLab(t, forge.Options{Version: 3, Spec: &byRegion})
	f, g := l.DataFile("", 0, forge.Tuple{1000: int32(1)}, 100), l.DataFile("", 0, forge.Tuple{1000: int32(2)}, 100)
	d := l.PositionDeletes(0, f.Partition(), forge.Record{Path: f.FilePath(), Pos: 1}, forge.Record{Path: g.FilePath(), Pos: 2}).Build()
	l.append(f, g)
	l.delete(d)
	again := l.Entry(0, g.Partition(), iceberg.EntryContentPosDeletes, d.FilePath(), iceberg.ParquetFile, 2, d.FileSizeBytes()).Build()
	first := int64(1)
	r := l.race(options(maintenance.Compact), func() {
		l.Commit(forge.Change{Add: []forge.Added{{File: again, Seq: &first}}})
	})
	assert.False(t, r.Committed)
	assert.Equal(t, map[string][][2]int64{f.FilePath(): one(1), g.FilePath(): one(2)}, l.read("main").Positions)
}
