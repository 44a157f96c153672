package check_test

import (
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake/faults"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// as lists a delete file in the entry of an earlier snapshot.
func as(f iceberg.DataFile, added *table.Snapshot) forge.Change {
	return forge.Change{Add: []forge.Added{{File: f, Seq: &added.SequenceNumber, Existing: &forge.Origin{SnapshotID: added.SnapshotID, FileSeq: added.SequenceNumber}}}}
}

// vectorThen makes a table with a deletion vector and hands on its entry and the snapshot that added it.
func vectorThen(then func(*lab, iceberg.DataFile, *table.Snapshot)) func(*testing.T) *lab {
	return func(t *testing.T) *lab {
		l := newLab(t, 3)
		f := one(l, 1)[0]
		added := l.Commit(forge.Change{Add: forge.Files(f)})
		then(l, f, added)
		return l
	}
}

func TestDeletionVectorsThatCameBack(t *testing.T) {
	t.Parallel()
	treat(t, check.Options{}, []wound{
		{"in the old entry", []string{"dv-resurrected"}, vectorThen(func(l *lab, f iceberg.DataFile, added *table.Snapshot) {
			l.replace([]iceberg.DataFile{f})
			l.Commit(as(f, added))
		})},
		{"beside the one that took its place", []string{"dv-duplicate", "dv-resurrected"}, vectorThen(func(l *lab, f iceberg.DataFile, added *table.Snapshot) {
			l.replace([]iceberg.DataFile{f}, one(l, 1, 2)...)
			l.Commit(as(f, added))
		})},
		{"added again", nil, vectorThen(func(l *lab, f iceberg.DataFile, _ *table.Snapshot) {
			l.replace([]iceberg.DataFile{f})
			l.add(f)
		})},
		{"never gone, but listed twice for a while", nil, vectorThen(func(l *lab, f iceberg.DataFile, added *table.Snapshot) {
			var first []iceberg.ManifestFile
			twice := as(f, added)
			twice.List = func(all []iceberg.ManifestFile) []iceberg.ManifestFile {
				first = all
				return all
			}
			l.Commit(twice)
			l.Commit(forge.Change{List: func(all []iceberg.ManifestFile) []iceberg.ManifestFile { return withoutNewestDeletes(first, all) }})
		})},
	})
}

// withoutNewestDeletes leaves out the delete manifest with the highest sequence number.
func withoutNewestDeletes(before, list []iceberg.ManifestFile) []iceberg.ManifestFile {
	newest := ""
	seq := int64(-1)
	for _, m := range before {
		if m.ManifestContent() == iceberg.ManifestContentDeletes && m.SequenceNum() > seq {
			newest, seq = m.FilePath(), m.SequenceNum()
		}
	}
	var out []iceberg.ManifestFile
	for _, m := range list {
		if m.FilePath() != newest {
			out = append(out, m)
		}
	}
	return out
}

// dropper is a table whose newest snapshot but n dropped a deletion vector.
func dropper(t *testing.T, n int) (l *lab, dropped *table.Snapshot) {
	l = newLab(t, 3)
	old := one(l, 1)
	l.add(old...)
	dropped = l.replace(old)
	for range n {
		l.add(l.DataFile("", 0, nil, rows))
	}
	return l, dropped
}

func TestAncestorsAreComparedAsFarAsAsked(t *testing.T) {
	t.Parallel()
	l, _ := dropper(t, 21)
	assert.Empty(t, l.check(check.Options{}).Findings, "20 unless told otherwise")
	assert.Empty(t, l.check(check.Options{History: 21}).Findings)
	assert.Equal(t, []string{"delete-dropped"}, issues(l.check(check.Options{History: 22})))
	r := l.check(check.Options{History: 1000})
	assert.Equal(t, []string{"delete-dropped"}, issues(r))
	assert.Empty(t, r.Skipped, "the first snapshot has no parent")

	l, _ = dropper(t, 0)
	assert.Empty(t, l.check(check.Options{History: -1}).Findings)
	assert.Empty(t, l.check(check.Options{Issues: []string{"dv-dangling"}}).Findings)
}

func TestAncestorsThatAreGoneEndTheComparison(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*lab, *table.Snapshot){
		"expired": func(l *lab, s *table.Snapshot) {
			l.Update(table.NewRemoveSnapshotsUpdate([]int64{s.SnapshotID}, false))
		},
		"manifest list": func(l *lab, s *table.Snapshot) { require.NoError(l.t, l.Remove(s.ManifestList)) },
		"damaged list":  func(l *lab, s *table.Snapshot) { l.Put(s.ManifestList, []byte("Obj")) },
		"manifest": func(l *lab, s *table.Snapshot) {
			manifests, err := s.Manifests(l.IO())
			require.NoError(l.t, err)
			for _, m := range manifests {
				if m.ManifestContent() == iceberg.ManifestContentDeletes {
					require.NoError(l.t, l.Remove(m.FilePath()))
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, dropped := dropper(t, 2)
			remove(l, l.Load().Metadata.SnapshotByID(*dropped.ParentSnapshotID))
			r := l.check(check.Options{})
			assert.Empty(t, r.Findings)
			if name == "expired" {
				assert.Empty(t, r.Skipped, "every table with snapshot expiry has one")
				return
			}
			require.Len(t, r.Skipped, 1)
			assert.Equal(t, "history", r.Skipped[0].Reason)
		})
	}
}

func TestAStoreThatFailsAtAnAncestorIsAnErrorAndNoDamage(t *testing.T) {
	t.Parallel()
	l, _ := dropper(t, 1)
	script, err := faults.Parse("get *snap-* #2+: fail")
	require.NoError(t, err)
	tbl, err := l.Through(script.Bucket(l.Bucket)).Load(t.Context(), forge.Ident())
	require.NoError(t, err)
	_, err = check.Run(t.Context(), tbl, check.Options{})
	assert.ErrorIs(t, err, storage.ErrPermission)
}

func TestADroppedDeleteFileThatIsGoneIsJudgedByItsEntry(t *testing.T) {
	t.Parallel()
	l, _ := dropper(t, 0)
	for _, key := range l.Keys() {
		if len(key) > 7 && key[len(key)-7:] == ".puffin" {
			require.NoError(t, l.Remove("s3://lake/"+key))
		}
	}
	r := l.check(everything())
	assert.Equal(t, []string{"delete-dropped"}, issues(r))
	require.Len(t, r.Skipped, 1)
	assert.Equal(t, "history", r.Skipped[0].Reason)
}

func TestAncestorsCostOnlyTheirManifestListsWhereNothingDiffers(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	l.add(one(l, 1)...)
	for range 5 {
		l.add(l.DataFile("", 0, nil, rows))
	}
	requests := func(history int) int64 { return l.check(check.Options{History: history}).Requests.Requests() }
	assert.EqualValues(t, 5, requests(5)-requests(-1))
}

func TestAMergeOfManifestsIsNoReasonToReadDeletes(t *testing.T) {
	t.Parallel()
	l := newLab(t, 2)
	l.add(shared(l)...)
	l.Commit(forge.Change{Merge: true})
	requests := func(history int) int64 {
		return l.check(check.Options{Level: check.Vectors, History: history}).Requests.Requests()
	}
	assert.EqualValues(t, 2, requests(1)-requests(-1), "the manifest list and the manifest of the parent")
}

func TestVectorsThatWereReplacedTogetherAreReadWithOneRequest(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	old := l.put(container{parts: []part{l.vector(0, 1), l.vector(1, 5), l.vector(2, 7)}})
	l.add(old...)
	l.replace(old, l.put(container{parts: []part{l.vector(0, 1), l.vector(1, 5), l.vector(2, 7, 8)}})...)
	requests := func(issue string) int64 {
		r := l.check(check.Options{Level: check.Vectors, Issues: []string{issue}})
		assert.Empty(t, r.Findings)
		return r.Requests.RangeGets
	}
	assert.EqualValues(t, 2, requests("delete-lost-in-rewrite")-requests("delete-dropped"), "the old vectors, and the new ones beside them")
}
