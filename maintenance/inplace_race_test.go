package maintenance_test

import (
	"testing"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// raced is a table with three position delete files of each of three data files.
func raced(t *testing.T) *v2Table {
	l := newV2Table(t, 3, nil)
	for i := range int64(3) {
		for f := range l.data {
			l.deleteOf(f, i)
		}
	}
	return l
}

func TestAWriterThatDeletesMoreRowsMeanwhileDoesNotHoldUpInPlace(t *testing.T) {
	t.Parallel()
	l := raced(t)
	r := l.race(inPlace(maintenance.InPlace{}), func() { l.deleteOf(0, 500) })
	assert.True(t, r.Committed)
	assert.Equal(t, 2, r.Attempts)
	assert.Empty(t, r.Dropped)
	assert.Equal(t, 2, r.After.PositionDeleteFiles, "ours and the new one")
	assert.Equal(t, map[int][][2]int64{0: {{0, 2}, {500, 500}}, 1: {{0, 2}}, 2: {{0, 2}}}, l.deleted())
}

func TestAFileThatSomebodyRemovedMeanwhileIsNotBroughtBack(t *testing.T) {
	t.Parallel()
	for by, left := range map[maintenance.Granularity]int{maintenance.ByFile: 2 + 2, maintenance.ByPartition: 8} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			l := raced(t)
			gone := l.deleteOf(1, 600)
			r := l.race(inPlace(maintenance.InPlace{Granularity: by}), func() { l.remove(gone, l.sources(1)[0]) })
			assert.Equal(t, []string{l.path(1)}, r.Dropped)
			assert.Equal(t, map[int][][2]int64{0: {{0, 2}}, 1: {{1, 2}}, 2: {{0, 2}}}, l.deleted())
			assert.Equal(t, left, l.read().PositionDeleteFiles)
			assert.Equal(t, by == maintenance.ByFile, r.Committed)
		})
	}
}

func TestADataFileThatGoesMeanwhileCostsNothing(t *testing.T) {
	t.Parallel()
	for by, left := range map[maintenance.Granularity]int{maintenance.ByFile: 2, maintenance.ByPartition: 1} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			l := raced(t)
			r := l.race(inPlace(maintenance.InPlace{Granularity: by}), func() { l.remove(l.data[1]) })
			assert.True(t, r.Committed)
			assert.Equal(t, 2, r.DataFiles)
			assert.Equal(t, map[int][][2]int64{0: {{0, 2}}, 2: {{0, 2}}}, l.deleted())
			assert.Equal(t, left, l.read().PositionDeleteFiles)
		})
	}
}

// The same path with another sequence number: records that did not apply to it must not come back with a larger one.
func TestADataFileThatComesBackYoungerKeepsTheFileOutOfTheCommit(t *testing.T) {
	t.Parallel()
	l := raced(t)
	r := l.race(inPlace(maintenance.InPlace{}), func() {
		l.remove(l.data[1])
		young := int64(6) // between the first and the last source of what was merged
		l.commit(forge.Change{Add: []forge.Added{{File: l.data[1], Seq: &young}}})
	})
	assert.False(t, r.Committed)
	assert.Equal(t, []string{l.path(1)}, r.Dropped)
	assert.Equal(t, [][2]int64{{1, 2}}, l.deleted()[1], "the sources of sequence numbers 6 and above apply to it")
}

func TestATableThatIsUpgradedMeanwhileGetsNoPositionDeleteFiles(t *testing.T) {
	t.Parallel()
	l := raced(t)
	before := l.Keys()
	r := l.race(inPlace(maintenance.InPlace{}), func() {
		l.Update(table.NewUpgradeFormatVersionUpdate(3))
		l.deleteOf(0, 500)
	})
	assert.False(t, r.Committed)
	assert.Len(t, r.Dropped, 3)
	ours, _ := l.entries()
	assert.Empty(t, ours)
	for _, key := range l.Keys() {
		assert.NotContains(t, key, "dvcompactor-", "what was written is removed")
	}
	require.NotEmpty(t, before)
}
