package check_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
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
}

func newVictim(t *testing.T) *victim {
	l := newLab(t, 2)
	l.add(l.deletes(l.at(0, 1), l.at(0, 3), l.at(1, 5), l.at(2, 7)).Build())
	l.Update(table.NewUpgradeFormatVersionUpdate(3))
	many := make([]int64, 0, rows)
	for i := range int64(rows / 2) {
		many = append(many, 2*i+1)
	}
	v := &victim{lab: l, vectors: l.put(container{parts: []part{l.vector(0, many...), l.vector(1, 2, 4)}})}
	v.vectors[1] = l.put(container{parts: []part{l.vector(0, 1), l.vector(1, 5, 9)}})[1]
	l.add(v.vectors...)
	for _, key := range l.Keys() {
		if !strings.HasSuffix(key, ".json") {
			v.objects = append(v.objects, "s3://lake/"+key)
		}
	}
	require.Equal(t, []string{}, issues(l.check(everything())))
	return v
}

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
}

func TestRandomChangesOfAnyObjectNeverLookHealthyWhenAVectorIsChanged(t *testing.T) {
	require.NoError(t, positiondelete.BoundCodecs())
	v := newVictim(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		location := v.objects[r.IntN(len(v.objects))]
		v.hurt(t, location, func(b []byte) []byte {
			switch r.IntN(4) {
			case 0:
				return b[:r.IntN(len(b))]
			case 1:
				return append(b, byte(r.Uint32()))
			}
			for range 1 + r.IntN(3) {
				b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
			}
			return b
		})
	}
}

func TestEveryBitOfAVectorCounts(t *testing.T) {
	v := newVictim(t)
	d := v.vectors[0]
	for at := *d.ContentOffset(); at < *d.ContentOffset()+*d.ContentSizeInBytes(); at++ {
		v.hurt(t, d.FilePath(), func(b []byte) []byte { b[at] ^= 1 << (at % 8); return b })
	}
}

func FuzzChangedObject(f *testing.F) {
	f.Add(uint(0), uint(0), byte(1))
	f.Add(uint(7), uint(300), byte(255))
	f.Fuzz(func(t *testing.T, object, at uint, mask byte) {
		v := newVictim(t)
		location := v.objects[object%uint(len(v.objects))]
		v.hurt(t, location, func(b []byte) []byte {
			b[at%uint(len(b))] ^= mask
			return b
		})
	})
}
