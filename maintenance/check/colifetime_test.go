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

// halfRetired makes a table with a Puffin file of two vectors, of which the first is replaced.
func halfRetired(t *testing.T) (l *lab, vectors []iceberg.DataFile) {
	l = newLab(t, 3)
	vectors = l.put(container{parts: []part{l.vector(0, 1), l.vector(1, 5)}})
	l.add(vectors...)
	l.Commit(forge.Change{Operation: table.OpDelete, Remove: removing(vectors[0]), Add: forge.Files(one(l, 1, 2)...)})
	return l, vectors
}

func TestAnEntryThatSaysNotWhichBytesItIsIsNoNeighbour(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	vectors := l.put(container{parts: []part{l.vector(0, 1), l.vector(1, 5)}})
	l.add(vectors...)
	lacking := l.Entry(0, nil, iceberg.EntryContentPosDeletes, vectors[0].FilePath(), iceberg.PuffinFile, 1, vectors[0].FileSizeBytes()).ReferencedDataFile(l.path(0))
	l.Commit(forge.Change{Remove: removing(vectors[0]), Add: forge.Files(lacking.Build())})
	r := l.check(check.Options{})
	assert.Equal(t, []string{"dv-fields-missing"}, damaging(r))
	assert.Equal(t, 1, count(r, "puffin-colifetime"), "%+v", r.Findings)
}

// expire removes all snapshots but the head.
func (l *lab) expire() {
	meta := l.Load().Metadata
	var ids []int64
	for _, s := range meta.Snapshots() {
		if s.SnapshotID != meta.CurrentSnapshot().SnapshotID {
			ids = append(ids, s.SnapshotID)
		}
	}
	l.Update(table.NewRemoveSnapshotsUpdate(ids, false))
}

// forget commits a snapshot without the manifests that only have removed entries.
func (l *lab) forget() {
	l.Commit(forge.Change{Merge: true, Forget: true})
	l.Commit(forge.Change{Merge: true, Forget: true})
}

func TestALiveVectorBesideARemovedOneIsARiskAndNoDamage(t *testing.T) {
	t.Parallel()
	l, vectors := halfRetired(t)
	r := l.check(everything())
	require.Equal(t, []string{"puffin-colifetime"}, issues(r))
	require.Len(t, r.Findings, 1)
	f := r.Findings[0]
	assert.Equal(t, check.Risk, f.Effect)
	assert.Equal(t, check.Safe, f.Repair)
	assert.Equal(t, l.path(1), f.DataFile)
	assert.Equal(t, vectors[1].FilePath(), f.Location)
	assert.Equal(t, *vectors[1].ContentOffset(), *f.Offset)
	assert.EqualValues(t, 1, *f.Rows)
	assert.Contains(t, f.Detail, l.path(0))
	assert.False(t, f.Damaged())
	assert.False(t, r.Damaged)
}

func TestAVectorIsRemovedAsLongAsTheTableRemembersIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then  func(*lab)
		o     check.Options
		found bool
	}{
		"an ancestor and a removed entry":   {func(*lab) {}, check.Options{}, true},
		"an ancestor, but no removed entry": {(*lab).forget, check.Options{}, true},
		"a removed entry, but no ancestor":  {(*lab).expire, check.Options{}, true},
		"neither":                           {func(l *lab) { l.forget(); l.expire() }, check.Options{}, false},
		"an ancestor that is not looked at": {(*lab).forget, check.Options{History: 1}, false},
		"nothing is looked at":              {func(*lab) {}, check.Options{History: -1}, false},
		"something else is looked for":      {func(*lab) {}, check.Options{Issues: []string{"delete-dropped"}}, false},
		"the rest was written anew":         {(*lab).repack, check.Options{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, _ := halfRetired(t)
			c.then(l)
			want := []string{}
			if c.found {
				want = append(want, "puffin-colifetime")
			}
			assert.Equal(t, want, issues(l.check(c.o)))
		})
	}
}

// repack writes the vector of data file 1 anew.
func (l *lab) repack() {
	p := l.vector(1, 5)
	location, size, at := l.puffin(container{parts: []part{p}})
	l.Commit(forge.Change{Operation: table.OpReplace, Add: forge.Files(l.entry(1, location, size, at[0], p).Build()), Remove: func(f iceberg.DataFile) bool {
		return f.ReferencedDataFile() != nil && *f.ReferencedDataFile() == l.path(1)
	}})
}

func TestPuffinFilesThatAreNoneOfBothAreNoRisk(t *testing.T) {
	t.Parallel()
	treat(t, check.Options{}, []wound{
		{"a dead blob that no snapshot had", nil, v3(func(l *lab) []iceberg.DataFile {
			return l.put(container{parts: []part{l.vector(0, 1), l.vector(1, 5)}})[:1]
		})},
		{"a vector that was replaced in another file", nil, func(t *testing.T) *lab {
			l := newLab(t, 3)
			old := one(l, 1)
			l.add(old...)
			l.replace(old, l.put(container{parts: []part{l.vector(0, 1), l.vector(1, 5)}})...)
			return l
		}},
		{"a manifest of two vectors that was written anew", nil, func(t *testing.T) *lab {
			l := newLab(t, 3)
			l.add(l.put(container{parts: []part{l.vector(0, 1), l.vector(1, 5)}})...)
			l.Commit(forge.Change{Merge: true})
			return l
		}},
	})
}
