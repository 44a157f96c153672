package check_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// victim is a healthy table with everything a check reads: manifests, two Puffin files, a position delete file.
type victim struct {
	*lab
	objects []string
	vectors []iceberg.DataFile
	right   map[string][][2]int64 // deleted positions by data file, as another reader sees them
	sound   int                   // changed objects in which nothing was found, and of which that reader thinks the same
}

func newVictim(t *testing.T) *victim {
	l := newLab(t, 2)
	l.add(l.deletes(l.at(0, 1), l.at(0, 3), l.at(1, 5), l.at(2, 7)).Build())
	return l.victim()
}

// newPartitionedVictim is a victim with two partitions, a position delete file in each, an equality delete file and
// manifests that were merged.
func newPartitionedVictim(t *testing.T) *victim {
	l := newRegions(t, 2)
	l.data = append(l.data, l.DataFile("", 0, in(1), rows), l.DataFile("", 0, in(2), rows))
	l.add(l.data[2], l.data[3], l.EqualityDeletes(0, in(2), 1), l.PositionDeletes(0, in(2), l.at(1, 5), l.at(3, 6)).Build())
	l.add(l.deletes(l.at(0, 1), l.at(0, 3), l.at(2, 7)).Build())
	l.Commit(forge.Change{Merge: true})
	return l.victim()
}

// victim upgrades a table and adds deletion vectors of data files 0 and 1, the first of them twice.
func (l *lab) victim() *victim {
	l.Update(table.NewUpgradeFormatVersionUpdate(3))
	many := make([]int64, 0, rows)
	for i := range int64(rows / 2) {
		many = append(many, 2*i+1)
	}
	old := l.put(container{parts: []part{l.vector(0, 1, 3)}})
	l.add(old...)
	v := &victim{lab: l, vectors: l.put(container{parts: []part{l.vector(0, many...), l.vector(1, 2, 4)}})}
	v.vectors[1] = l.put(container{parts: []part{l.vector(0, 1), l.vector(1, 5, 9)}})[1]
	l.replace(old, v.vectors...)
	for _, key := range l.Keys() {
		if !strings.HasSuffix(key, ".json") {
			v.objects = append(v.objects, "s3://lake/"+key)
		}
	}
	require.Equal(l.t, []string{}, issues(l.check(everything())))
	v.right = v.read()
	require.Len(l.t, v.right, len(l.data))
	return v
}

// read reads what is deleted with another reader. It is nil when that one refuses.
func (v *victim) read() (positions map[string][][2]int64) {
	defer func() {
		if p := recover(); p != nil && p != any(refused{}) {
			panic(p)
		}
	}()
	return testlake.ReadSnapshot(refused{}, v.IO(), v.Load().Metadata.CurrentSnapshot()).Positions
}

// refused is how a reader refuses.
type refused struct{}

// Errorf implements require.TestingT.
func (refused) Errorf(string, ...any) {}

// FailNow implements require.TestingT.
func (r refused) FailNow() { panic(r) }

// changed says whether the bytes of a deletion vector no longer hold the positions that were there before.
func (v *victim) changed(before []byte, location string, after []byte) bool {
	for _, d := range v.vectors {
		if d.FilePath() != location {
			continue
		}
		from, n := *d.ContentOffset(), *d.ContentSizeInBytes()
		if int64(len(after)) < from+n {
			return true
		}
		at := puffin.DeletionVectorRange{RecordCount: d.Count()}
		was, err := puffin.DecodeDeletionVector(before[from:from+n], at)
		require.NoError(v.t, err)
		is, err := puffin.DecodeDeletionVector(after[from:from+n], at)
		if err != nil || !slices.Equal(was.ToSlice(), is.ToSlice()) {
			return true
		}
	}
	return false
}

// hurt changes an object, checks, and puts the object back.
func (v *victim) hurt(t *testing.T, location string, edit func([]byte) []byte) {
	before := v.Get(location)
	after := edit(slices.Clone(before))
	v.Put(location, after)
	defer v.Put(location, before)
	r, err := check.Run(t.Context(), v.Load(), everything())
	require.NoError(t, err, "damage is a finding and no error")
	if v.changed(before, location, after) {
		assert.True(t, r.Damaged, "%s: the positions of a deletion vector are others and nothing is found", location)
	}
	if len(r.Findings)+len(r.Skipped) > 0 || strings.HasSuffix(location, ".parquet") { // whose pages have no checksums
		return
	}
	if is := v.read(); is != nil {
		v.sound++
		assert.Equal(t, v.right, is, "%s: other rows are deleted and nothing is found", location)
	}
}

// victims make every victim by name.
func victims() map[string]func(*testing.T) *victim {
	return map[string]func(*testing.T) *victim{"whole": newVictim, "partitioned": newPartitionedVictim}
}

func TestRandomChangesOfAnyObjectNeverLookHealthyWhenOtherRowsAreDeleted(t *testing.T) {
	require.NoError(t, positiondelete.BoundCodecs())
	for name, victim := range victims() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := victim(t)
			r := rand.New(rand.NewPCG(1, 2))
			for range testlake.Size(300, 60) {
				v.hurt(t, v.objects[r.IntN(len(v.objects))], func(b []byte) []byte { return spoil(r, b) })
			}
			assert.Positive(t, v.sound, "some changes are of bytes that mean nothing")
		})
	}
}

// spoil cuts an object, makes it longer, or changes some of its bytes or bits.
func spoil(r *rand.Rand, b []byte) []byte {
	switch r.IntN(5) {
	case 0:
		return b[:r.IntN(len(b))]
	case 1:
		return append(b, byte(r.Uint32()))
	case 2:
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		return b
	}
	for range 1 + r.IntN(3) {
		b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
	}
	return b
}

func TestEveryBitOfAVectorCounts(t *testing.T) {
	v := newVictim(t)
	d := v.vectors[0]
	for at := *d.ContentOffset(); at < *d.ContentOffset()+*d.ContentSizeInBytes(); at++ {
		v.hurt(t, d.FilePath(), func(b []byte) []byte { b[at] ^= 1 << (at % 8); return b })
	}
}

func FuzzChangedObject(f *testing.F) {
	f.Add(false, uint(0), uint(0), byte(1))
	f.Add(true, uint(7), uint(300), byte(255))
	f.Fuzz(func(t *testing.T, partitioned bool, object, at uint, mask byte) {
		v := victims()["whole"](t)
		if partitioned {
			v = victims()["partitioned"](t)
		}
		location := v.objects[object%uint(len(v.objects))]
		v.hurt(t, location, func(b []byte) []byte {
			b[at%uint(len(b))] ^= mask
			return b
		})
	})
}
