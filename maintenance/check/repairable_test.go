package check_test

import (
	"strconv"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lostPositions returns the positions of findings by data file.
func lostPositions(t *testing.T, r *check.Report) map[string][]int64 {
	out := map[string][]int64{}
	for _, f := range r.Findings {
		require.NotNil(t, f.Positions, "%+v", f)
		out[f.DataFile] = append(out[f.DataFile], f.Positions.ToSlice()...)
		assert.Equal(t, f.Positions.Cardinality(), *f.Rows)
	}
	return out
}

func TestPositionsThatWereLostAreToldWhenAskedFor(t *testing.T) {
	t.Parallel()
	l := newLab(t, 2)
	old := append(shared(l), l.deletesOf(l.at(0, 7), l.at(2, 7))...)
	l.add(old...)
	l.replace(old[:1])
	l.add(l.deletesOf(l.at(0, 2))...)
	l.replace(old[1:])
	for _, memory := range []int64{0, 1} {
		o := everything()
		o.Positions, o.Memory = true, memory
		want := map[string][]int64{l.path(0): {1, 7}, l.path(1): {5}, l.path(2): {7}}
		assert.Equal(t, want, lostPositions(t, l.check(o)), "with %d bytes of memory", memory)
	}
}

func TestPositionsAreNotToldUnlessTheyWereReadAndAskedFor(t *testing.T) {
	t.Parallel()
	l := after(3, vectorOf(1, 2), drops)(t)
	for _, o := range []check.Options{{Positions: true}, everything()} {
		r := l.check(o)
		require.Len(t, r.Findings, 1)
		assert.Nil(t, r.Findings[0].Positions)
	}
}

func TestTotalsAreThoseOfTheReference(t *testing.T) {
	t.Parallel()
	compared := 0
	for _, fixture := range testlake.Fixtures(t) {
		lake := testlake.Copy(t, fixture)
		for name := range lake.Expected {
			tbl := lake.Load(t, name)
			head := tbl.Metadata.CurrentSnapshot()
			if head == nil {
				continue
			}
			r, err := check.Run(t.Context(), tbl, check.Options{})
			require.NoError(t, err)
			for key, n := range r.Totals {
				if said, ok := head.Summary.Properties[key]; ok {
					assert.Equal(t, said, strconv.FormatInt(n, 10), "%s of %s in %s", key, name, fixture)
					compared++
				}
			}
		}
	}
	assert.Greater(t, compared, 60)
}

func TestThereAreNoTotalsOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	l.add(one(l, 1, 2)...)
	assert.EqualValues(t, 2, l.check(check.Options{}).Totals["total-position-deletes"])
	l.Commit(forge.Change{Add: forge.Files(l.DataFile("", 0, nil, rows)), Bytes: func(iceberg.ManifestContent, []byte) []byte { return []byte("Obj") }})
	assert.Nil(t, l.check(check.Options{}).Totals)
}
