package check_test

import (
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// numbered is a data file whose entry says its first row id.
func (l *lab) numbered(first int64) iceberg.DataFile {
	return l.NumberedDataFile("", 0, nil, rows, first)
}

// inManifestOf lists a data file in a new manifest, as added by the snapshot that added it.
func (l *lab) inManifestOf(i int, f iceberg.DataFile) forge.Change {
	seq := int64(i + 1)
	id := l.Load().Metadata.Snapshots()[i].SnapshotID
	return forge.Change{
		Remove: removing(l.data[i]), Add: []forge.Added{{File: f, Seq: &seq, Existing: &forge.Origin{SnapshotID: id, FileSeq: seq}}},
	}
}

// unlisted makes the list say nothing of the first row id of the oldest data manifest, so that it gets a new one.
func unlisted(list []iceberg.ManifestFile) []iceberg.ManifestFile {
	m := list[0]
	list[0] = iceberg.NewManifestFile(m.Version(), m.FilePath(), m.Length(), m.PartitionSpecID(), m.SnapshotID()).Content(m.ManifestContent()).
		SequenceNum(m.SequenceNum(), m.MinSequenceNum()).AddedFiles(m.AddedDataFiles()).AddedRows(m.AddedRows()).Build()
	return list
}

// upgradedWithoutNumbers makes a table of format version 3 whose data files have no row ids.
func upgradedWithoutNumbers(t *testing.T, first any) *lab {
	l := newLab(t, 2)
	l.EditMetadata(func(m map[string]any) {
		m["format-version"], m["next-row-id"] = 3, 0
		if first != nil {
			snapshots := m["snapshots"].([]any)
			head := snapshots[len(snapshots)-1].(map[string]any)
			head["first-row-id"], head["added-rows"] = first, 0
		}
	})
	return l
}

func TestDamagedRowIDs(t *testing.T) {
	t.Parallel()
	damaged := []string{"lineage-damage"}
	treat(t, check.Options{}, []wound{
		{"those of another data file", damaged, v3(func(l *lab) []iceberg.DataFile { return []iceberg.DataFile{l.numbered(199)} })},
		{"those after another data file", nil, v3(func(l *lab) []iceberg.DataFile { return []iceberg.DataFile{l.numbered(300)} })},
		{"a data file without rows within another", nil, v3(func(l *lab) []iceberg.DataFile {
			return []iceberg.DataFile{l.NumberedDataFile("", 0, nil, 0, 150)}
		})},
		{"beyond those that the table gave", damaged, v3(func(l *lab) []iceberg.DataFile { return []iceberg.DataFile{l.numbered(301)} })},
		{"the table forgot that it gave them", damaged, func(t *testing.T) *lab {
			l := newLab(t, 3)
			l.EditMetadata(func(m map[string]any) { m["next-row-id"] = 299 })
			return l
		}},
		{"lost in a rewritten manifest", damaged, func(t *testing.T) *lab {
			l := newLab(t, 3)
			l.Commit(l.inManifestOf(1, l.data[1]))
			return l
		}},
		{"kept in a rewritten manifest", nil, func(t *testing.T) *lab {
			l := newLab(t, 3)
			l.Commit(l.inManifestOf(1, l.NumberedDataFile(l.path(1), 0, nil, rows, 100)))
			return l
		}},
		{"kept in merged manifests", nil, func(t *testing.T) *lab {
			l := newLab(t, 3)
			l.Commit(forge.Change{Merge: true})
			return l
		}},
		{"lost in the manifest list", damaged, func(t *testing.T) *lab {
			l := newLab(t, 3)
			l.Commit(forge.Change{List: unlisted})
			return l
		}},
		{"a data file that went and came back", nil, func(t *testing.T) *lab {
			l := newLab(t, 3)
			l.Commit(forge.Change{Remove: removing(l.data[1]), Add: forge.Files(l.data[1])})
			return l
		}},
		{"a data file in two entries", []string{"data-file-twice"}, func(t *testing.T) *lab {
			l := newLab(t, 3)
			c := l.inManifestOf(1, l.NumberedDataFile(l.path(1), 0, nil, rows, 100))
			c.Remove = nil
			l.Commit(c)
			return l
		}},
		{"none since the upgrade", damaged, func(t *testing.T) *lab { return upgradedWithoutNumbers(t, 0) }},
		{"none, as no snapshot came after the upgrade", nil, func(t *testing.T) *lab { return upgradedWithoutNumbers(t, nil) }},
		{"given by the first snapshot after the upgrade", nil, func(t *testing.T) *lab {
			l := newLab(t, 2)
			l.Update(table.NewUpgradeFormatVersionUpdate(3))
			l.add(one(l, 1)...)
			return l
		}},
	})
}

func TestDataFilesWithTheSameRowIDsAreNamed(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	l.add(l.numbered(50))
	r := l.check(check.Options{})
	require.Len(t, r.Findings, 1)
	f := r.Findings[0]
	assert.Equal(t, check.None, f.Repair)
	assert.Equal(t, l.path(0), f.DataFile)
	assert.Contains(t, f.Detail, "3 live data files")
	assert.Contains(t, f.Detail, l.path(1))
	assert.NotContains(t, f.Detail, l.path(2))
	assert.NotContains(t, f.Hint, "dvcompactor repair")
	assert.True(t, r.Damaged)
}

func TestRowIDsThatAnAncestorChangedAreToldAsFarAsAsked(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	l.Commit(l.inManifestOf(1, l.data[1]))
	l.add(l.dataOf(1))
	assert.Equal(t, []string{"lineage-damage"}, issues(l.check(check.Options{History: 2})))
	assert.Empty(t, l.check(check.Options{History: 1}).Findings)
	assert.Empty(t, l.check(check.Options{History: -1}).Findings)
}

func TestDataManifestsOfAnAncestorThatCannotBeReadDoNotHideItsDeletes(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	old := one(l, 1)
	l.add(old...)
	l.replace(append(old, l.data[1]))
	for _, m := range manifestsOf(l, *l.Load().Metadata.CurrentSnapshot().ParentSnapshotID) {
		if m.ManifestContent() == iceberg.ManifestContentData && m.AddedRows() > 0 && m.SequenceNum() == 2 {
			require.NoError(t, l.Remove(m.FilePath()))
		}
	}
	r := l.check(check.Options{})
	assert.Equal(t, []string{"delete-dropped"}, issues(r))
	require.NotEmpty(t, r.Skipped)
	assert.Equal(t, "history", r.Skipped[0].Reason)
}

// manifestsOf returns the manifests of a snapshot.
func manifestsOf(l *lab, id int64) []iceberg.ManifestFile {
	manifests, err := l.Load().Metadata.SnapshotByID(id).Manifests(l.IO())
	require.NoError(l.t, err)
	return manifests
}
