package reports

import (
	"fmt"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDeletesOfAPathThatWasAddedAnewDoNotApplyToTheOldRows(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.DataFile("x.parquet", 0, nil, 100)
	l.append(f)
	old := l.deletePositions(f, map[string][]int64{f.FilePath(): {1}})
	l.Commit(forge.Change{Operation: table.OpDelete, Remove: named(f)})
	l.append(f) // the same path, other rows
	l.deletePositions(f, map[string][]int64{f.FilePath(): {2}})
	r := l.migrate()
	assert.Equal(t, map[string][][2]int64{f.FilePath(): one(2)}, l.read("main").Positions)
	assert.NotContains(t, l.livePaths(), old.FilePath())
	assert.Zero(t, r.After.PositionDeleteFiles)
	for _, entries := range l.liveDeletes() {
		assert.EqualValues(t, 5, entries[0].SequenceNum(), "as the delete that applies, not newer")
	}
}

func TestDeleteFilesThatApplyToNothingGo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]func(l *lab){
		"the data file was rewritten": func(l *lab) {
			f := l.files(1)[0]
			l.deletePositions(f, map[string][]int64{f.FilePath(): {1}})
			l.Commit(forge.Change{Operation: table.OpReplace, Remove: named(f), Add: forge.Files(l.DataFile("", 0, nil, 999))})
		},
		"all rows were deleted and the data file is gone": func(l *lab) {
			f := l.DataFile("", 0, nil, 2)
			l.append(f)
			l.deletePositions(f, map[string][]int64{f.FilePath(): {0, 1}})
			l.Commit(forge.Change{Operation: table.OpDelete, Remove: named(f)})
		},
		"one of a data file that is gone, while an older one keeps the partition old": func(l *lab) {
			a, b := l.DataFile("", 0, nil, 10), l.DataFile("", 0, nil, 10)
			l.append(a)
			l.append(b)
			l.delete(l.PositionDeletes(0, nil, forge.Record{Path: b.FilePath(), Pos: 1}).ReferencedDataFile(b.FilePath()).Build())
			l.Commit(forge.Change{Operation: table.OpDelete, Remove: named(b)})
		},
		"the data file was rewritten in the same commit": func(l *lab) {
			f := l.files(1)[0]
			d := l.PositionDeletes(0, nil, forge.Record{Path: f.FilePath(), Pos: 1}).Build()
			l.Commit(forge.Change{Add: forge.Files(d, l.DataFile("", 0, nil, 999)), Remove: named(f)})
		},
		"and many at once": func(l *lab) {
			for range 20 {
				l.delete(l.PositionDeletes(0, nil, forge.Record{Path: "s3://lake/t/data/gone.parquet", Pos: 1}).Build())
			}
		},
	} {
		for _, version := range []int{2, 3} {
			t.Run(fmt.Sprintf("%s, version %d", name, version), func(t *testing.T) {
				t.Parallel()
				l := newLab(t, forge.Options{Version: version})
				l.files(1)
				c(l)
				keys := len(l.Keys())
				l.tidy(version)
				got := l.read("main")
				assert.Zero(t, got.PositionDeleteFiles)
				assert.Zero(t, got.DVs)
				for _, key := range l.Keys()[keys:] {
					assert.NotContains(t, key, "puffin", "no vector, no file")
				}
			})
		}
	}
}

func TestAnEqualityDeleteOfTheSameCommitAsItsDataStillDoesNotApply(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.DataFile("", 0, nil, 10)
	eq := l.EqualityDeletes(0, nil, 1)
	l.Commit(forge.Change{Add: forge.Files(f, eq, l.PositionDeletes(0, nil, forge.Record{Path: f.FilePath(), Pos: 3}).Build())})
	l.migrate()
	entry := l.liveDeletes()[eq.FilePath()]
	require.Len(t, entry, 1)
	assert.EqualValues(t, 1, entry[0].SequenceNum())
	got := l.read("main")
	assert.EqualValues(t, 1, got.Entries[f.FilePath()].SequenceNum())
	assert.Equal(t, one(3), got.Positions[f.FilePath()])
	assert.Equal(t, 1, got.EqualityDeleteFiles)
}

// merges rewrites the manifest of spec 0 by replacing the deletion vector of f.
func (l *lab) merges(f iceberg.DataFile, positions ...int64) {
	l.t.Helper()
	l.replaceVector(f, positions...)
	l.files(1)
	require.True(l.t, l.compact().Committed)
}

func TestAnExplicitOlderSequenceNumberOutlivesEveryMerge(t *testing.T) {
	t.Parallel()
	l := newLab(t, v3())
	f := l.files(6) // sequence numbers 1 to 6
	three := int64(3)
	older := l.EqualityDeletes(0, nil, 1)
	vectors := l.DeletionVectors(forge.Vector{Data: f[0], Positions: []int64{1}}, forge.Vector{Data: f[1], Positions: []int64{2}})
	// In one manifest with vectors, which is written anew when they are replaced: alone they would be left where they are.
	added := l.Commit(forge.Change{Operation: table.OpDelete, Add: append(forge.Files(vectors...), forge.Added{File: older, Seq: &three})})
	for round := range 3 {
		l.merges(f[1], 2, int64(10+round))
		e := l.liveDeletes()[older.FilePath()]
		require.Len(t, e, 1)
		assert.Equal(t, iceberg.EntryStatusEXISTING, e[0].Status())
		assert.EqualValues(t, 3, e[0].SequenceNum())
		assert.EqualValues(t, added.SequenceNumber, *e[0].FileSequenceNum())
		assert.Equal(t, added.SnapshotID, e[0].SnapshotID())
		assert.EqualValues(t, 3, l.manifestOf(older.FilePath()).MinSequenceNum())
	}
}

// manifestOf returns the manifest of main that lists a live delete file.
func (l *lab) manifestOf(path string) iceberg.ManifestFile {
	manifests, err := l.Load().Metadata.SnapshotByName("main").Manifests(l.io)
	require.NoError(l.t, err)
	for _, m := range manifests {
		for e, err := range m.Entries(l.io, true) {
			require.NoError(l.t, err)
			if e.DataFile().FilePath() == path {
				return m
			}
		}
	}
	require.Fail(l.t, "not live", path)
	return nil
}
