package check_test

import (
	"fmt"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// removing says whether an entry is one of some: deletion vectors by what they are about, since they share paths.
func removing(files ...iceberg.DataFile) func(iceberg.DataFile) bool {
	return func(f iceberg.DataFile) bool {
		for _, g := range files {
			if f.FilePath() == g.FilePath() && (f.ReferencedDataFile() == nil || *f.ReferencedDataFile() == *g.ReferencedDataFile()) {
				return true
			}
		}
		return false
	}
}

// rewrite commits a snapshot that says of itself that it changes no rows.
func (l *lab) rewrite(old []iceberg.DataFile, files ...iceberg.DataFile) *table.Snapshot {
	return l.Commit(forge.Change{Operation: table.OpReplace, Add: forge.Files(files...), Remove: removing(old...)})
}

// rewritten makes a table of which data file 0 has two deleted rows, and hands the vector on.
func rewritten(then func(l *lab, vector iceberg.DataFile)) func(*testing.T) *lab {
	return func(t *testing.T) *lab {
		l := newLab(t, 3)
		vector := one(l, 1, 2)
		l.add(vector...)
		then(l, vector[0])
		return l
	}
}

func (l *lab) dataOf(n int64) iceberg.DataFile { return l.DataFile("", 0, nil, n) }

func TestSnapshotsThatMayNotChangeRowsAndDo(t *testing.T) {
	t.Parallel()
	changed := []string{"rows-resurrected"}
	treat(t, check.Options{}, []wound{
		{"deleted rows are in the new data file", changed, rewritten(func(l *lab, v iceberg.DataFile) {
			l.rewrite([]iceberg.DataFile{l.data[0], v}, l.dataOf(rows))
		})},
		{"deleted rows are in the new data file, and the old vector stays", []string{"dv-dangling", "rows-resurrected"}, rewritten(func(l *lab, _ iceberg.DataFile) {
			l.rewrite([]iceberg.DataFile{l.data[0]}, l.dataOf(rows))
		})},
		{"the new data file lacks rows", changed, rewritten(func(l *lab, v iceberg.DataFile) {
			l.rewrite([]iceberg.DataFile{l.data[0], v}, l.dataOf(rows-3))
		})},
		{"rows came with nothing gone", changed, rewritten(func(l *lab, _ iceberg.DataFile) { l.rewrite(nil, l.dataOf(1)) })},
		{"some snapshots ago", changed, rewritten(func(l *lab, v iceberg.DataFile) {
			l.rewrite([]iceberg.DataFile{l.data[0], v}, l.dataOf(rows))
			l.add(l.dataOf(1))
			l.Commit(forge.Change{Merge: true, Operation: table.OpReplace})
		})},
		{"a vector took the place of a larger one", changed, rewritten(func(l *lab, v iceberg.DataFile) { l.rewrite([]iceberg.DataFile{v}, one(l, 1)...) })},
		{"a vector took the place of a smaller one", changed, rewritten(func(l *lab, v iceberg.DataFile) { l.rewrite([]iceberg.DataFile{v}, one(l, 1, 2, 3)...) })},
		{"a vector where there was none", changed, func(t *testing.T) *lab {
			l := newLab(t, 3)
			l.rewrite(nil, one(l, 1)...)
			return l
		}},
	})
}

func TestSnapshotsThatChangeNoRowsOrMay(t *testing.T) {
	t.Parallel()
	treat(t, check.Options{}, []wound{
		{"a sound rewrite", nil, rewritten(func(l *lab, v iceberg.DataFile) { l.rewrite([]iceberg.DataFile{l.data[0], v}, l.dataOf(rows-2)) })},
		{"a sound rewrite that leaves the vector", []string{"dv-dangling"}, rewritten(func(l *lab, _ iceberg.DataFile) {
			l.rewrite([]iceberg.DataFile{l.data[0]}, l.dataOf(rows-2))
		})},
		{"a sound rewrite whose old vector goes later", nil, rewritten(func(l *lab, v iceberg.DataFile) {
			l.rewrite([]iceberg.DataFile{l.data[0]}, l.dataOf(rows-2))
			l.rewrite([]iceberg.DataFile{v})
		})},
		{"two data files that became three", nil, rewritten(func(l *lab, v iceberg.DataFile) {
			l.rewrite([]iceberg.DataFile{l.data[0], l.data[1], v}, l.dataOf(100), l.dataOf(97), l.dataOf(1))
		})},
		{"a new data file that has a vector at once", nil, rewritten(func(l *lab, v iceberg.DataFile) {
			l.data = append(l.data, l.dataOf(rows))
			p := l.vector(3, 5, 6)
			location, size, at := l.puffin(container{parts: []part{p}})
			l.rewrite([]iceberg.DataFile{l.data[0], v}, l.data[3], l.entry(3, location, size, at[0], p).Build())
		})},
		{"a data file of which all rows were deleted", nil, func(t *testing.T) *lab {
			l := newLab(t, 3)
			all := make([]int64, rows)
			for i := range all {
				all[i] = int64(i)
			}
			f := one(l, all...)
			l.add(f...)
			l.rewrite([]iceberg.DataFile{l.data[0], f[0]})
			return l
		}},
		{"a snapshot that may change rows", nil, rewritten(func(l *lab, v iceberg.DataFile) { l.replace([]iceberg.DataFile{l.data[0], v}, l.dataOf(7)) })},
		{"beside position deletes, which have to be read", nil, func(t *testing.T) *lab {
			l := newLab(t, 2)
			l.add(l.deletesOf(l.at(1, 1))...)
			l.rewrite([]iceberg.DataFile{l.data[0]}, l.dataOf(99))
			return l
		}},
		{"beside equality deletes", nil, func(t *testing.T) *lab {
			l := newLab(t, 2)
			l.add(l.EqualityDeletes(0, nil, 1))
			l.rewrite([]iceberg.DataFile{l.data[0]}, l.dataOf(99))
			return l
		}},
		{"manifests that were merged", nil, rewritten(func(l *lab, _ iceberg.DataFile) { l.Commit(forge.Change{Merge: true, Operation: table.OpReplace}) })},
		{"a vector in another Puffin file", nil, rewritten(func(l *lab, v iceberg.DataFile) { l.rewrite([]iceberg.DataFile{v}, one(l, 1, 2)...) })},
		{"a smaller vector that is mended", nil, rewritten(func(l *lab, v iceberg.DataFile) {
			small := one(l, 1)
			l.rewrite([]iceberg.DataFile{v}, small...)
			l.replace(small, one(l, 1, 2)...)
		})},
		{"a smaller vector that a repair wrote", nil, rewritten(func(l *lab, v iceberg.DataFile) {
			l.Commit(forge.Change{Operation: table.OpReplace, Add: forge.Files(one(l, 1)...), Remove: removing(v), Summary: map[string]string{maintenance.RepairKey: "1"}})
		})},
		{"two vectors of a data file that became one", nil, rewritten(func(l *lab, v iceberg.DataFile) {
			second := one(l, 2, 3)
			l.add(second...)
			l.rewrite([]iceberg.DataFile{v, second[0]}, one(l, 1, 2, 3)...)
		})},
		{"a rewrite of a data file with two vectors that share a position", nil, rewritten(func(l *lab, v iceberg.DataFile) {
			second := one(l, 2, 3)
			l.add(second...)
			l.rewrite([]iceberg.DataFile{v, second[0], l.data[0]}, l.dataOf(rows-3))
		})},
		{"a vector of a data file that is gone", nil, rewritten(func(l *lab, v iceberg.DataFile) {
			l.replace([]iceberg.DataFile{l.data[0]})
			l.rewrite([]iceberg.DataFile{v}, one(l, 1)...)
			l.Commit(forge.Change{Remove: func(f iceberg.DataFile) bool { return f.ContentType() != iceberg.EntryContentData }})
		})},
		{"a data file that was live in two entries", nil, func(t *testing.T) *lab {
			l := newLab(t, 3)
			l.add(l.data[0])
			l.rewrite([]iceberg.DataFile{l.data[0]}, l.dataOf(rows))
			return l
		}},
	})
}

func TestASmallerVectorThatIsReadIsSaidToHaveLostPositions(t *testing.T) {
	t.Parallel()
	l := rewritten(func(l *lab, v iceberg.DataFile) { l.rewrite([]iceberg.DataFile{v}, one(l, 1)...) })(t)
	assert.Equal(t, []string{"delete-lost-in-rewrite"}, issues(l.check(everything())))
	o := everything()
	o.Issues = []string{"rows-resurrected"}
	assert.Equal(t, []string{"rows-resurrected"}, issues(l.check(o)))
}

func TestChangedRowsAreCounted(t *testing.T) {
	t.Parallel()
	var s *table.Snapshot
	l := rewritten(func(l *lab, v iceberg.DataFile) { s = l.rewrite([]iceberg.DataFile{l.data[0], v}, l.dataOf(rows)) })(t)
	r := l.check(check.Options{})
	require.Len(t, r.Findings, 1)
	f := r.Findings[0]
	assert.EqualValues(t, 2, *f.Rows)
	assert.Equal(t, s.ManifestList, f.Location)
	assert.Contains(t, f.Detail, fmt.Sprintf("snapshot %d ", s.SnapshotID))
	assert.True(t, r.Damaged)
	l.add(l.dataOf(1))
	assert.Empty(t, l.check(check.Options{History: 1}).Findings, "it is no longer looked at")
	assert.Empty(t, l.check(check.Options{History: -1}).Findings)
}
