package check_test

import (
	"fmt"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// replace commits delete files in the place of others.
func (l *lab) replace(old []iceberg.DataFile, files ...iceberg.DataFile) *table.Snapshot {
	return l.Commit(forge.Change{Add: forge.Files(files...), Remove: func(f iceberg.DataFile) bool {
		for _, o := range old {
			if f.FilePath() == o.FilePath() {
				return true
			}
		}
		return false
	}})
}

// deletesOf writes a position delete file and returns it as a list.
func (l *lab) deletesOf(records ...forge.Record) []iceberg.DataFile {
	return []iceberg.DataFile{l.deletes(records...).Build()}
}

// bounded writes a position delete file of data file i whose bounds say so.
func (l *lab) bounded(i int, positions ...int64) []iceberg.DataFile {
	var records []forge.Record
	for _, p := range positions {
		records = append(records, l.at(i, p))
	}
	return []iceberg.DataFile{forge.Bounds(l.deletes(records...), l.path(i), l.path(i)).Build()}
}

// after makes a table of a format version with delete files that a function then replaces.
func after(version int, first func(*lab) []iceberg.DataFile, then func(*lab, []iceberg.DataFile)) func(*testing.T) *lab {
	return func(t *testing.T) *lab {
		l := newLab(t, version)
		old := first(l)
		l.add(old...)
		then(l, old)
		return l
	}
}

func vectorOf(positions ...int64) func(*lab) []iceberg.DataFile {
	return func(l *lab) []iceberg.DataFile { return one(l, positions...) }
}

func boundedTo(i int, positions ...int64) func(*lab) []iceberg.DataFile {
	return func(l *lab) []iceberg.DataFile { return l.bounded(i, positions...) }
}

func shared(l *lab) []iceberg.DataFile { return l.deletesOf(l.at(0, 1), l.at(0, 2), l.at(1, 5)) }

// migrated replaces delete files with deletion vectors after the upgrade to format version 3.
func migrated(vectors func(*lab) []part) func(*lab, []iceberg.DataFile) {
	return func(l *lab, old []iceberg.DataFile) {
		l.Update(table.NewUpgradeFormatVersionUpdate(3))
		l.replace(old, l.put(container{parts: vectors(l)})...)
	}
}

func drops(l *lab, old []iceberg.DataFile) { l.replace(old) }

func TestDroppedDeletesThatManifestsShow(t *testing.T) {
	t.Parallel()
	lost := []string{"delete-dropped"}
	treat(t, check.Options{}, []wound{
		{"a vector", lost, after(3, vectorOf(1, 2), drops)},
		{"a vector, some snapshots ago", lost, after(3, vectorOf(1, 2), func(l *lab, old []iceberg.DataFile) {
			l.replace(old)
			l.add(l.DataFile("", 0, nil, rows))
			l.Commit(forge.Change{Merge: true})
		})},
		{"a vector beside that of another data file", lost, after(3, vectorOf(1), func(l *lab, old []iceberg.DataFile) {
			p := l.vector(1, 3)
			location, size, at := l.puffin(container{parts: []part{p}})
			l.replace(old, l.entry(1, location, size, at[0], p).Build())
		})},
		{"a position delete file of one data file", lost, after(2, boundedTo(0, 1, 2), drops)},
		{"a vector for another", nil, after(3, vectorOf(1), func(l *lab, old []iceberg.DataFile) { l.replace(old, one(l, 1, 2)...) })},
		{"a vector that was deleted again later", nil, after(3, vectorOf(1), func(l *lab, old []iceberg.DataFile) {
			l.replace(old)
			l.add(one(l, 1)...)
		})},
		{"a vector with its data file", nil, after(3, vectorOf(1), func(l *lab, old []iceberg.DataFile) { l.replace(append(old, l.data[0])) })},
		{"a vector whose data file goes later", nil, after(3, vectorOf(1), func(l *lab, old []iceberg.DataFile) {
			l.replace(old)
			l.replace([]iceberg.DataFile{l.data[0]})
		})},
		{"a vector of a data file that went before", nil, after(3, vectorOf(1), func(l *lab, old []iceberg.DataFile) {
			l.replace([]iceberg.DataFile{l.data[0]})
			l.replace(old)
		})},
		{"a vector whose data file was added anew", nil, after(3, vectorOf(1), func(l *lab, old []iceberg.DataFile) {
			l.replace(append(old, l.data[0]))
			l.add(l.data[0])
		})},
		{"a vector whose data file was added anew with its old sequence number", nil, after(3, vectorOf(1), func(l *lab, old []iceberg.DataFile) {
			seq := int64(1)
			l.replace(append(old, l.data[0]))
			l.Commit(forge.Change{Add: []forge.Added{{File: l.data[0], Seq: &seq}}})
		})},
		{"a vector without positions", nil, after(3, vectorOf(), drops)},
		{"one that is merged into another manifest", nil, after(3, vectorOf(1), func(l *lab, _ []iceberg.DataFile) { l.Commit(forge.Change{Merge: true}) })},
		{"a position delete file of a data file to which it is too old", nil, after(2, func(l *lab) []iceberg.DataFile { return l.bounded(0, 1) }, func(l *lab, old []iceberg.DataFile) {
			l.replace([]iceberg.DataFile{l.data[0]})
			l.add(l.data[0])
			l.replace(old)
		})},
		{"position delete files for a larger one", nil, after(2, boundedTo(0, 1), func(l *lab, old []iceberg.DataFile) {
			l.replace(old, l.deletesOf(l.at(0, 1), l.at(1, 1))...)
		})},
		{"one of many data files, which only records tell", nil, after(2, shared, drops)},
		{"a migration", nil, after(2, boundedTo(0, 1), migrated(func(l *lab) []part { return []part{l.vector(0, 1)} }))},
		{"an equality delete file, of which nobody knows", nil, after(2, func(l *lab) []iceberg.DataFile { return []iceberg.DataFile{l.EqualityDeletes(0, nil, 1)} }, drops)},
	})
}

func TestDroppedDeletesThatRecordsShow(t *testing.T) {
	t.Parallel()
	lost, rewritten := []string{"delete-dropped"}, []string{"delete-lost-in-rewrite"}
	treat(t, everything(), []wound{
		{"a vector", lost, after(3, vectorOf(1, 2), drops)},
		{"a vector, and another was begun from nothing", lost, after(3, vectorOf(1, 2), func(l *lab, old []iceberg.DataFile) {
			l.replace(old)
			l.add(one(l, 2, 3)...)
		})},
		{"a vector that was deleted again later", nil, after(3, vectorOf(1, 2), func(l *lab, old []iceberg.DataFile) {
			l.replace(old)
			l.add(one(l, 1, 2, 3)...)
		})},
		{"a vector of positions that the data file does not have", nil, after(3, vectorOf(rows, rows+1), drops)},
		{"one of many data files", lost, after(2, shared, drops)},
		{"one of many data files, of which some records stay", rewritten, after(2, shared, func(l *lab, old []iceberg.DataFile) {
			l.replace(old, l.deletesOf(l.at(0, 1), l.at(1, 5))...)
		})},
		{"one of many data files, for two files", nil, after(2, shared, func(l *lab, old []iceberg.DataFile) {
			l.replace(old, append(l.deletesOf(l.at(0, 1), l.at(0, 2)), l.deletesOf(l.at(1, 5))...)...)
		})},
		{"one of many data files that went with one of them", lost, after(2, shared, func(l *lab, old []iceberg.DataFile) { l.replace(append(old, l.data[1])) })},
		{"one of many data files that went with all of them", nil, after(2, shared, func(l *lab, old []iceberg.DataFile) {
			l.replace(append(old, l.data[0], l.data[1]))
		})},
		{"a migration", nil, after(2, shared, migrated(func(l *lab) []part { return []part{l.vector(0, 1, 2), l.vector(1, 5)} }))},
		{"a migration that lost a record", rewritten, after(2, shared, migrated(func(l *lab) []part { return []part{l.vector(0, 1), l.vector(1, 5)} }))},
		{"a vector for another that lacks a position", rewritten, after(3, vectorOf(1, 2), func(l *lab, old []iceberg.DataFile) { l.replace(old, one(l, 2, 3)...) })},
		{"a vector for another that lacks a position, which was deleted again later", nil, after(3, vectorOf(1, 2), func(l *lab, old []iceberg.DataFile) {
			lacking := one(l, 2, 3)
			l.replace(old, lacking...)
			l.replace(lacking, one(l, 1, 2, 3)...)
		})},
		{"a vector for another that lacks a position that the data file does not have", nil, after(3, vectorOf(1, rows), func(l *lab, old []iceberg.DataFile) {
			l.replace(old, one(l, 1)...)
		})},
		{"a vector for one that cannot be read", []string{"dv-corrupt"}, after(3, vectorOf(1, 2), func(l *lab, old []iceberg.DataFile) {
			p := l.vector(0, 2, 3)
			p.blob[len(p.blob)-1]++
			l.replace(old, l.put(container{parts: []part{p}})...)
		})},
		{"one of a data file, and a vector of another data file was added", lost, after(3, vectorOf(1), func(l *lab, old []iceberg.DataFile) {
			p := l.vector(1, 3)
			location, size, at := l.puffin(container{parts: []part{p}})
			l.replace(old, l.entry(1, location, size, at[0], p).Build())
		})},
		{"a position delete file, and another was added in another partition", lost, func(t *testing.T) *lab {
			l := newRegions(t, 2)
			old := l.deletesOf(l.at(0, 1))
			l.add(old...)
			l.replace(old, l.PositionDeletes(0, in(2), l.at(1, 1)).Build())
			return l
		}},
		{"a position delete file, and another was added in its partition", rewritten, func(t *testing.T) *lab {
			l := newRegions(t, 2)
			old := l.deletesOf(l.at(0, 1))
			l.add(old...)
			l.replace(old, l.deletesOf(l.at(0, 2))...)
			return l
		}},
		{"a migration that forgot a data file", lost, after(2, shared, migrated(func(l *lab) []part { return []part{l.vector(0, 1, 2)} }))},
	})
}

func TestADroppedDeleteFileNamesItsRows(t *testing.T) {
	t.Parallel()
	l := newLab(t, 2)
	old := append(shared(l), l.deletesOf(l.at(2, 7))...)
	l.add(old...)
	dropper := l.replace(old, l.deletesOf(l.at(0, 1))...)
	o := everything()
	o.Memory = 1 // each file is compared by itself
	r := l.check(o)
	require.Len(t, r.Findings, 3, "%+v", r.Findings)
	for i, f := range r.Findings {
		assert.Equal(t, l.path(i), f.DataFile)
		assert.Equal(t, old[i/2].FilePath(), f.Location)
		assert.EqualValues(t, 1, *f.Rows)
		assert.Contains(t, f.Detail, fmt.Sprint(dropper.SnapshotID))
	}
	assert.True(t, r.Damaged)
}

func TestALostPositionIsOfTheSnapshotThatLostIt(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	chain := [][]iceberg.DataFile{one(l, 1, 2), one(l, 2, 3), one(l, 2, 3, 4)}
	l.add(chain[0]...)
	culprit := l.replace(chain[0], chain[1]...)
	l.replace(chain[1], chain[2]...)
	o := everything()
	o.Positions = true
	r := l.check(o)
	require.Equal(t, []string{"delete-lost-in-rewrite"}, issues(r))
	f := r.Findings[0]
	assert.Equal(t, []int64{1}, f.Positions.ToSlice())
	assert.Equal(t, chain[0][0].FilePath(), f.Location)
	assert.Contains(t, f.Detail, fmt.Sprintf("snapshot %d ", culprit.SnapshotID))
	assert.Empty(t, l.check(check.Options{}).Findings, "manifests do not show it")
	o.Issues = []string{"delete-dropped"}
	assert.Empty(t, l.check(o).Findings)

	l = newLab(t, 3)
	chain = [][]iceberg.DataFile{one(l, 1), one(l, 1, 2), one(l, 2)}
	l.add(chain[0]...)
	l.replace(chain[0], chain[1]...)
	l.replace(chain[1], chain[2]...)
	r = l.check(everything())
	require.Len(t, r.Findings, 1, "%+v", r.Findings)
	assert.Equal(t, chain[1][0].FilePath(), r.Findings[0].Location, "the one before still had it")
}

func TestTheBytesOfAVectorMayGoOnAsThoseOfAnotherDataFile(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	vectors := l.put(container{parts: []part{l.vector(0, 1), l.vector(1, 5)}})
	l.add(vectors...)
	l.Commit(forge.Change{Remove: removing(vectors...), Add: forge.Files(l.VectorEntry(vectors[1]).ReferencedDataFile(l.path(0)).Build())})
	assert.Equal(t, []string{"delete-dropped"}, damaging(l.check(check.Options{})), "data file 1 has none any more")
	assert.Equal(t, []string{"delete-dropped", "dv-misbound"}, damaging(l.check(everything())))
}

func TestADataFileMayLosePositionsInTwoWays(t *testing.T) {
	t.Parallel()
	l := newLab(t, 2)
	old := append(l.deletesOf(l.at(0, 1), l.at(0, 2)), l.deletesOf(l.at(0, 3))...)
	l.add(old...)
	l.replace(old[:1], l.deletesOf(l.at(0, 1))...)
	l.replace(old[1:])
	o := everything()
	o.Positions = true
	byIssue := map[string][]int64{}
	for _, f := range l.check(o).Findings {
		byIssue[f.Issue] = f.Positions.ToSlice()
	}
	assert.Equal(t, map[string][]int64{"delete-dropped": {3}, "delete-lost-in-rewrite": {2}}, byIssue)
}

func TestARollBackIsNoLoss(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	before := l.Load().Metadata.CurrentSnapshot().SnapshotID
	l.add(one(l, 1)...)
	l.Update(table.NewSetSnapshotRefUpdate("main", before, table.BranchRef, -1, -1, -1))
	l.add(l.DataFile("", 0, nil, rows))
	assert.Empty(t, l.check(everything()).Findings)
}
