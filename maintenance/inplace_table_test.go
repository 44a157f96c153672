package maintenance_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/internal/testlake/judge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// v2Table is an unpartitioned table of format version 2 with data files of 1000 rows, of which every commit of ours is
// judged.
type v2Table struct {
	*forge.Lake
	t    *testing.T
	data []iceberg.DataFile
}

func newV2Table(t *testing.T, files int, properties iceberg.Properties) *v2Table {
	l := &v2Table{Lake: forge.New(t, forge.Options{Properties: properties}), t: t}
	for i := range files {
		l.data = append(l.data, l.DataFile(fmt.Sprintf("f%d.parquet", i), 0, nil, 1000))
	}
	l.Commit(forge.Change{Add: forge.Files(l.data...)})
	l.OnCommit(func(before, after table.Metadata) {
		snap := after.CurrentSnapshot()
		if before.SnapshotByID(snap.SnapshotID) == nil && snap.Summary.Properties["dvcompactor.plan-id"] != "" {
			require.NoError(t, judge.Commit(t, l.IO(), before, after))
		}
	})
	return l
}

// commit commits files as other engines do that say which data file they reference.
func (l *v2Table) commit(c forge.Change) {
	c.Version, c.Bytes = 3, forge.AsVersion2
	l.Commit(c)
}

func (l *v2Table) path(file int) string { return l.data[file].FilePath() }

// records of data files by their numbers.
func (l *v2Table) records(positions map[int][]int64) []forge.Record {
	byPath := map[string][]int64{}
	for file, p := range positions {
		byPath[l.path(file)] = p
	}
	return forge.Records(byPath)
}

// delete commits a position delete file about several data files.
func (l *v2Table) delete(positions map[int][]int64) iceberg.DataFile {
	f := l.PositionDeletes(0, nil, l.records(positions)...).Build()
	l.commit(forge.Change{Add: forge.Files(f)})
	return f
}

// deleteOf commits a position delete file that references the data file that it is about.
func (l *v2Table) deleteOf(file int, positions ...int64) iceberg.DataFile {
	f := l.PositionDeletes(0, nil, l.records(map[int][]int64{file: positions})...).ReferencedDataFile(l.path(file)).Build()
	l.commit(forge.Change{Add: forge.Files(f)})
	return f
}

// remove commits the removal of files.
func (l *v2Table) remove(files ...iceberg.DataFile) {
	gone := map[string]bool{}
	for _, f := range files {
		gone[f.FilePath()] = true
	}
	l.commit(forge.Change{Remove: func(f iceberg.DataFile) bool { return gone[f.FilePath()] }})
}

// compact runs with these options, and once more: the second run commits nothing.
func (l *v2Table) compact(o maintenance.Options) *maintenance.Report {
	l.t.Helper()
	r, err := maintenance.Run(l.t.Context(), l.Catalog, forge.Ident(), o)
	require.NoError(l.t, err)
	again, err := maintenance.Run(l.t.Context(), l.Catalog, forge.Ident(), o)
	require.NoError(l.t, err)
	assert.False(l.t, again.Committed, "a second run commits")
	return r
}

// race runs while something happens right before the first commit.
func (l *v2Table) race(o maintenance.Options, happens func()) *maintenance.Report {
	l.t.Helper()
	cat := &testlake.Racing{Catalog: l.Catalog, Before: func(n int) {
		if n == 1 {
			happens()
		}
	}}
	r, err := maintenance.Run(l.t.Context(), cat, forge.Ident(), o)
	require.NoError(l.t, err)
	return r
}

func (l *v2Table) read() *testlake.Deletes {
	return testlake.ReadSnapshot(l.t, l.IO(), l.Load().Metadata.CurrentSnapshot())
}

// deleted are the deleted positions by the numbers of data files.
func (l *v2Table) deleted() map[int][][2]int64 {
	out := map[int][][2]int64{}
	for path, ranges := range l.read().Positions {
		for i := range l.data {
			if l.path(i) == path && len(ranges) > 0 {
				out[i] = ranges
			}
		}
	}
	return out
}

// entries are the live position delete files, those that we wrote first.
func (l *v2Table) entries() (ours, others []iceberg.ManifestEntry) {
	manifests, err := l.Load().Metadata.CurrentSnapshot().Manifests(l.IO())
	require.NoError(l.t, err)
	for _, m := range manifests {
		if m.ManifestContent() != iceberg.ManifestContentDeletes {
			continue
		}
		for e, err := range m.Entries(l.IO(), true) {
			require.NoError(l.t, err)
			if strings.Contains(e.DataFile().FilePath(), "/dvcompactor-") {
				ours = append(ours, e)
			} else {
				others = append(others, e)
			}
		}
	}
	return ours, others
}

// sources are the live position delete files that reference a data file, oldest first.
func (l *v2Table) sources(file int) []iceberg.DataFile {
	_, others := l.entries()
	slices.SortFunc(others, func(a, b iceberg.ManifestEntry) int { return cmp.Compare(a.SequenceNum(), b.SequenceNum()) })
	var out []iceberg.DataFile
	for _, e := range others {
		if ref := e.DataFile().ReferencedDataFile(); ref != nil && *ref == l.path(file) {
			out = append(out, e.DataFile())
		}
	}
	return out
}
