package reports

import (
	"io/fs"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestATableWithAMissingObjectFailsWithItsName(t *testing.T) {
	t.Parallel()
	for name, pick := range map[string]func(l *lab) string{
		"the manifest list of the head": func(l *lab) string { return l.Load().Metadata.CurrentSnapshot().ManifestList },
		"a delete manifest":             func(l *lab) string { return l.list()[2].FilePath() },
		"a data manifest":               func(l *lab) string { return l.list()[0].FilePath() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, v2())
			f := l.files(2)
			l.deletePositions(f[0], map[string][]int64{f[0].FilePath(): {1}})
			lost := pick(l)
			require.NoError(t, l.Remove(lost))
			before := l.Keys()
			_, err := maintenance.Run(t.Context(), l.Catalog, forge.Ident(), options(maintenance.Migrate))
			require.ErrorIs(t, err, fs.ErrNotExist)
			assert.ErrorContains(t, err, lost)
			assert.Equal(t, before, l.Keys())
		})
	}
}

func TestNamesOfAnAttemptAreUsedByNoOther(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.files(2)
	l.deletePositions(f[0], map[string][]int64{f[0].FilePath(): {1}, f[1].FilePath(): {2}})
	head := l.Load().Metadata.CurrentSnapshot().SnapshotID
	p := l.plan()
	first := l.migrate().Puffins
	l.EditMetadata(func(m map[string]any) { // the same table once more, as after a roll-back
		for _, s := range m["refs"].(map[string]any) {
			s.(map[string]any)["snapshot-id"] = head
		}
		m["current-snapshot-id"] = head
	})
	kept := l.Get(first[0])
	second := l.run(options(maintenance.Compact))
	require.True(t, second.Committed)
	assert.NotEmpty(t, p.PlanID)
	assert.NotEqual(t, first, second.Puffins)
	assert.Equal(t, kept, l.Get(first[0]), "what is there is never overwritten")
}
