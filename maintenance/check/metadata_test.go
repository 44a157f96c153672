package check_test

import (
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/stretchr/testify/assert"
)

// wound is a table and the faults that a check has to find in it, and no others.
type wound struct {
	name  string
	found []string
	make  func(*testing.T) *lab
}

// treat makes every table and checks it.
func treat(t *testing.T, o check.Options, wounds []wound) {
	for _, w := range wounds {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			want := w.found
			if want == nil {
				want = []string{}
			}
			r := w.make(t).check(o)
			assert.Equal(t, want, issues(r), "%+v", r.Findings)
		})
	}
}

// v3 makes a table of format version 3 and commits what a function returns.
func v3(add func(l *lab) []iceberg.DataFile) func(*testing.T) *lab {
	return func(t *testing.T) *lab {
		l := newLab(t, 3)
		l.add(add(l)...)
		return l
	}
}

// v2 is v3 for format version 2.
func v2(add func(l *lab) []iceberg.DataFile) func(*testing.T) *lab {
	return func(t *testing.T) *lab {
		l := newLab(t, 2)
		l.add(add(l)...)
		return l
	}
}

// one puts a Puffin file with a vector for data file 0.
func one(l *lab, positions ...int64) []iceberg.DataFile {
	return l.put(container{parts: []part{l.vector(0, positions...)}})
}

func gone(f iceberg.DataFile) func(iceberg.DataFile) bool {
	return func(g iceberg.DataFile) bool { return g.FilePath() == f.FilePath() }
}

func TestFaultsOfDeletionVectorsThatManifestsShow(t *testing.T) {
	t.Parallel()
	treat(t, check.Options{}, []wound{
		{"a healthy one", nil, v3(func(l *lab) []iceberg.DataFile { return one(l, 1, 2) })},
		{"two for a data file", []string{"dv-duplicate"}, v3(func(l *lab) []iceberg.DataFile {
			l.add(one(l, 1)...)
			return one(l, 2)
		})},
		{"one that took the place of another", nil, func(t *testing.T) *lab {
			l := newLab(t, 3)
			old := one(l, 1)
			l.add(old...)
			l.Commit(forge.Change{Add: forge.Files(one(l, 1, 2)...), Remove: gone(old[0])})
			return l
		}},
		{"one in two entries", []string{"dv-listed-twice"}, v3(func(l *lab) []iceberg.DataFile {
			f := one(l, 1)
			return append(f, f...)
		})},
		{"two of one Puffin file", nil, v3(func(l *lab) []iceberg.DataFile {
			return l.put(container{parts: []part{l.vector(0, 1), l.vector(1, 1)}})
		})},
		{"of a data file that is gone", []string{"dv-dangling"}, func(t *testing.T) *lab {
			l := newLab(t, 3)
			l.add(one(l, 1)...)
			l.Commit(forge.Change{Remove: gone(l.data[0])})
			return l
		}},
		{"of a data file under almost the same path", []string{"path-near-miss"}, v3(func(l *lab) []iceberg.DataFile {
			f := one(l, 1)[0]
			return []iceberg.DataFile{l.VectorEntry(f).ReferencedDataFile("s3a" + l.path(0)[2:]).Build()}
		})},
		{"older than its data file", []string{"dv-sequence"}, func(t *testing.T) *lab {
			l := newLab(t, 3)
			seq := int64(1)
			f := l.put(container{parts: []part{l.vector(0, 1), l.vector(1, 1)}})
			l.Commit(forge.Change{Add: []forge.Added{{File: f[1], Seq: &seq}}})
			return l
		}},
		{"as old as its data file", nil, func(t *testing.T) *lab {
			l := newLab(t, 3)
			seq := int64(1)
			l.Commit(forge.Change{Add: []forge.Added{{File: one(l, 1)[0], Seq: &seq}}})
			return l
		}},
		{"without an offset", []string{"dv-fields-missing"}, v3(func(l *lab) []iceberg.DataFile {
			f := one(l, 1)[0]
			return []iceberg.DataFile{l.Entry(0, nil, iceberg.EntryContentPosDeletes, f.FilePath(), iceberg.PuffinFile, 1, f.FileSizeBytes()).ReferencedDataFile(l.path(0)).Build()}
		})},
		{"in format version 2", []string{"dv-in-v2"}, func(t *testing.T) *lab {
			l := newLab(t, 3)
			l.add(one(l, 1)...)
			l.EditMetadata(func(m map[string]any) { m["format-version"] = 2; delete(m, "next-row-id") })
			return l
		}},
		{"without positions", []string{"dv-empty"}, v3(func(l *lab) []iceberg.DataFile { return one(l) })},
		{"of all rows", []string{"file-fully-deleted"}, v3(func(l *lab) []iceberg.DataFile {
			all := make([]int64, rows)
			for i := range all {
				all[i] = int64(i)
			}
			return one(l, all...)
		})},
		{"of all rows but one", nil, v3(func(l *lab) []iceberg.DataFile {
			all := make([]int64, rows-1)
			for i := range all {
				all[i] = int64(i)
			}
			return one(l, all...)
		})},
		{"with a sort order", []string{"entry-extras"}, v3(func(l *lab) []iceberg.DataFile {
			p := l.vector(0, 1)
			location, size, at := l.puffin(container{parts: []part{p}})
			return []iceberg.DataFile{l.entry(0, location, size, at[0], p).SortOrderID(1).Build()}
		})},
		{"of another partition", []string{"dv-partition"}, func(t *testing.T) *lab {
			l := newRegions(t, 3)
			f := one(l, 1)[0]
			l.add(l.Entry(0, in(2), iceberg.EntryContentPosDeletes, f.FilePath(), iceberg.PuffinFile, 1, f.FileSizeBytes()).
				ReferencedDataFile(l.path(0)).ContentOffset(*f.ContentOffset()).ContentSizeInBytes(*f.ContentSizeInBytes()).Build())
			return l
		}},
		{"of its own partition", nil, func(t *testing.T) *lab {
			l := newRegions(t, 3)
			l.add(one(l, 1)...)
			return l
		}},
	})
}

func TestFaultsOfDeleteFilesThatManifestsShow(t *testing.T) {
	t.Parallel()
	treat(t, check.Options{}, []wound{
		{"a healthy one", nil, v2(func(l *lab) []iceberg.DataFile { return []iceberg.DataFile{l.deletes(l.at(0, 1)).Build()} })},
		{"older than every data file", []string{"delete-aged"}, func(t *testing.T) *lab {
			l := newLab(t, 2)
			l.add(l.deletes(l.at(0, 1)).Build())
			l.Commit(forge.Change{Add: forge.Files(l.DataFile("", 0, nil, rows)), Remove: func(f iceberg.DataFile) bool { return f.ContentType() == iceberg.EntryContentData }})
			return l
		}},
		{"as old as a data file", nil, func(t *testing.T) *lab {
			l := newLab(t, 2)
			f := l.DataFile("", 0, nil, rows)
			l.Commit(forge.Change{Remove: func(f iceberg.DataFile) bool { return f.ContentType() == iceberg.EntryContentData },
				Add: forge.Files(f, l.deletes(forge.Record{Path: f.FilePath(), Pos: 1}).Build())})
			return l
		}},
		{"an equality delete as old as every data file", []string{"delete-aged"}, func(t *testing.T) *lab {
			l := newLab(t, 2)
			l.Commit(forge.Change{Remove: func(iceberg.DataFile) bool { return true }, Add: forge.Files(l.DataFile("", 0, nil, rows), l.EqualityDeletes(0, nil, 1))})
			return l
		}},
		{"an equality delete younger than a data file", nil, v2(func(l *lab) []iceberg.DataFile { return []iceberg.DataFile{l.EqualityDeletes(0, nil, 1)} })},
		// iceberg-go writes referenced_data_file in format version 3 only
		{"bound to a data file of another partition", []string{"delete-after-upgrade", "delete-partition"}, func(t *testing.T) *lab {
			l := newRegions(t, 3)
			l.add(l.deletes(l.at(1, 1)).ReferencedDataFile(l.path(1)).Build())
			return l
		}},
		{"bound to a data file of its own partition", []string{"delete-after-upgrade"}, func(t *testing.T) *lab {
			l := newRegions(t, 3)
			l.add(l.deletes(l.at(0, 1)).ReferencedDataFile(l.path(0)).Build())
			return l
		}},
		{"added in format version 3", []string{"delete-after-upgrade"}, v3(func(l *lab) []iceberg.DataFile { return []iceberg.DataFile{l.deletes(l.at(0, 1)).Build()} })},
		{"added before the upgrade", nil, func(t *testing.T) *lab {
			l := newLab(t, 2)
			l.add(l.deletes(l.at(0, 1)).Build())
			l.Update(table.NewUpgradeFormatVersionUpdate(3))
			l.add(l.put(container{parts: []part{l.vector(0, 1)}})...)
			return l
		}},
		{"with inverted bounds", []string{"delete-bounds"}, v2(func(l *lab) []iceberg.DataFile {
			return []iceberg.DataFile{forge.Bounds(l.deletes(l.at(0, 1)), "t", "s").Build()}
		})},
		{"with equal bounds that were cut", []string{"delete-bounds"}, v2(func(l *lab) []iceberg.DataFile {
			return []iceberg.DataFile{forge.Bounds(l.deletes(l.at(0, 1)), l.path(0)[:16], l.path(0)[:16]).Build()}
		})},
		{"with equal bounds", nil, v2(func(l *lab) []iceberg.DataFile {
			return []iceberg.DataFile{forge.Bounds(l.deletes(l.at(0, 1)), l.path(0), l.path(0)).Build()}
		})},
		{"with bounds that were cut and rounded", nil, v2(func(l *lab) []iceberg.DataFile {
			return []iceberg.DataFile{forge.Bounds(l.deletes(l.at(0, 1)), l.path(0)[:16], l.path(0)[:15]+"b").Build()}
		})},
		{"a data file in two entries", []string{"data-file-twice"}, func(t *testing.T) *lab {
			l := newLab(t, 2)
			l.add(l.data[0])
			return l
		}},
	})
}
