package check_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recorded makes a table of two partitions with a deletion vector, whose manifest list says something else of the delete
// manifest than is true.
func recorded(change func(m iceberg.ManifestFile, b *iceberg.ManifestBuilder)) func(*testing.T) *lab {
	return func(t *testing.T) *lab {
		l := newRegions(t, 3)
		l.Commit(forge.Change{Add: forge.Files(one(l, 1)...), Record: func(m iceberg.ManifestFile, b *iceberg.ManifestBuilder) {
			if m.ManifestContent() == iceberg.ManifestContentDeletes {
				change(m, b)
			}
		}})
		return l
	}
}

// summary is a partition summary of one field.
func summary(lower, upper []byte, null bool) []iceberg.FieldSummary {
	return []iceberg.FieldSummary{{ContainsNull: null, LowerBound: &lower, UpperBound: &upper}}
}

func TestFaultsOfManifests(t *testing.T) {
	t.Parallel()
	number := func(n byte) []byte { return []byte{n, 0, 0, 0} }
	treat(t, check.Options{}, []wound{
		{"recorded as it is", nil, recorded(func(iceberg.ManifestFile, *iceberg.ManifestBuilder) {})},
		{"no entry counted", []string{"manifest-summary"}, recorded(func(_ iceberg.ManifestFile, b *iceberg.ManifestBuilder) { b.AddedFiles(0) })},
		{"an entry too many counted", []string{"manifest-summary"}, recorded(func(_ iceberg.ManifestFile, b *iceberg.ManifestBuilder) { b.ExistingFiles(1) })},
		{"wrong number of records", []string{"manifest-summary"}, recorded(func(_ iceberg.ManifestFile, b *iceberg.ManifestBuilder) { b.AddedRows(7) })},
		{"unknown counts", nil, recorded(func(_ iceberg.ManifestFile, b *iceberg.ManifestBuilder) { b.AddedFiles(-1).AddedRows(-1) })},
		{"a partition that is excluded", []string{"manifest-summary"}, recorded(func(_ iceberg.ManifestFile, b *iceberg.ManifestBuilder) {
			b.Partitions(summary(number(2), number(9), false))
		})},
		{"a partition above the bounds", []string{"manifest-summary"}, recorded(func(_ iceberg.ManifestFile, b *iceberg.ManifestBuilder) {
			b.Partitions(summary(number(0), number(0), false))
		})},
		{"bounds that say that all is null", []string{"manifest-summary"}, recorded(func(_ iceberg.ManifestFile, b *iceberg.ManifestBuilder) {
			b.Partitions([]iceberg.FieldSummary{{ContainsNull: true}})
		})},
		{"bounds that are too wide", nil, recorded(func(_ iceberg.ManifestFile, b *iceberg.ManifestBuilder) {
			b.Partitions(summary(number(0), number(9), true))
		})},
		{"no summaries", nil, recorded(func(_ iceberg.ManifestFile, b *iceberg.ManifestBuilder) { b.Partitions(nil) })},
		{"a null that is excluded", []string{"manifest-summary"}, func(t *testing.T) *lab {
			l := newRegions(t, 3)
			l.Commit(forge.Change{Add: forge.Files(l.DataFile("", 0, forge.Tuple{1000: nil}, rows)), Record: func(m iceberg.ManifestFile, b *iceberg.ManifestBuilder) {
				b.Partitions(summary(number(1), number(2), false))
			}})
			return l
		}},
		{"a sequence number too large", []string{"manifest-summary"}, recorded(func(m iceberg.ManifestFile, b *iceberg.ManifestBuilder) {
			b.SequenceNum(m.SequenceNum(), 99)
		})},
		{"a header that says data", []string{"manifest-content"}, func(t *testing.T) *lab { return headed(t, "\x08data") }},
		{"a header that says deletes", nil, func(t *testing.T) *lab { return headed(t, "\x0edeletes") }},
		{"wrong totals", []string{"summary-drift"}, func(t *testing.T) *lab {
			l := newLab(t, 3)
			l.Commit(forge.Change{Add: forge.Files(one(l, 1)...), Summary: map[string]string{"total-delete-files": "7"}})
			return l
		}},
		{"right totals", nil, func(t *testing.T) *lab {
			l := newLab(t, 3)
			l.Commit(forge.Change{Add: forge.Files(one(l, 1, 2)...), Summary: map[string]string{
				"total-delete-files": "1", "total-position-deletes": "2", "total-data-files": "3", "total-records": "300", "total-equality-deletes": "0"}})
			return l
		}},
	})
}

// headed makes a table whose delete manifest says another content in its header, given with its length as Avro has it.
func headed(t *testing.T, content string) *lab {
	l := newLab(t, 3)
	l.Commit(forge.Change{Add: forge.Files(one(l, 1)...), Bytes: func(c iceberg.ManifestContent, data []byte) []byte {
		if c != iceberg.ManifestContentDeletes {
			return data
		}
		return bytes.Replace(data, []byte("\x0econtent\x0edeletes"), []byte("\x0econtent"+content), 1)
	}})
	return l
}

// manifestOf returns the location of a live manifest of the table.
func manifestOf(l *lab, content iceberg.ManifestContent) string {
	manifests, err := l.Load().Metadata.CurrentSnapshot().Manifests(l.IO())
	require.NoError(l.t, err)
	for _, m := range manifests {
		if m.ManifestContent() == content {
			return m.FilePath()
		}
	}
	require.Fail(l.t, "no manifest")
	return ""
}

func TestAManifestThatCannotBeReadIsAFindingAndTheRestIsChecked(t *testing.T) {
	t.Parallel()
	for name, hurt := range map[string]func(l *lab, location string){
		"gone":    func(l *lab, location string) { require.NoError(l.t, l.Remove(location)) },
		"garbage": func(l *lab, location string) { l.Put(location, []byte("garbage")) },
		"empty":   func(l *lab, location string) { l.Put(location, nil) },
		"cut":     func(l *lab, location string) { data := l.Get(location); l.Put(location, data[:len(data)-20]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 3)
			l.add(one(l, 1)...)
			l.Commit(forge.Change{Add: forge.Files(one(l, 2)...), Summary: map[string]string{"total-data-files": "3", "total-delete-files": "2"}})
			hurt(l, manifestOf(l, iceberg.ManifestContentData))
			r := l.check(everything())
			assert.Equal(t, []string{"dv-duplicate", "manifest-unreadable"}, issues(r), "%+v", r.Findings)

			hurt(l, manifestOf(l, iceberg.ManifestContentDeletes))
			r = l.check(everything())
			assert.Equal(t, []string{"manifest-unreadable"}, issues(r), "the other deletion vector is alone now: %+v", r.Findings)
			assert.EqualValues(t, 1, r.Checked.DeletionVectors)

			hurt(l, l.Load().Metadata.CurrentSnapshot().ManifestList)
			r = l.check(everything())
			require.Equal(t, []string{"manifest-unreadable"}, issues(r))
			assert.Contains(t, r.Findings[0].Location, "/snap-")
		})
	}
}

func TestWithoutAllDataManifestsNothingIsCalledDangling(t *testing.T) {
	t.Parallel()
	l := newLab(t, 2)
	l.add(l.deletes(l.at(0, 1), l.at(1, 1)).Build())
	l.Update(table.NewUpgradeFormatVersionUpdate(3))
	l.add(one(l, 1)...)
	manifests, err := l.Load().Metadata.CurrentSnapshot().Manifests(l.IO())
	require.NoError(t, err)
	for _, m := range manifests {
		if m.ManifestContent() == iceberg.ManifestContentData {
			require.NoError(t, l.Remove(m.FilePath()))
		}
	}
	assert.Equal(t, []string{"manifest-unreadable"}, issues(l.check(everything())))
}

func TestAnEntryThatSaysTheImpossibleIsLeftOutAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	f := l.put(container{parts: []part{l.vector(0, 1), l.vector(1, 1)}})
	huge := l.Entry(0, nil, iceberg.EntryContentPosDeletes, f[0].FilePath(), iceberg.PuffinFile, 1<<60, f[0].FileSizeBytes()).
		ReferencedDataFile(l.path(0)).ContentOffset(4).ContentSizeInBytes(*f[0].ContentSizeInBytes()).Build()
	l.add(huge, f[1])
	r := l.check(everything())
	require.Equal(t, []string{"manifest-unreadable"}, issues(r), "%+v", r.Findings)
	assert.True(t, strings.Contains(r.Findings[0].Detail, "record_count"), r.Findings[0].Detail)
	assert.EqualValues(t, 1, r.Checked.DeletionVectors)
}
