package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStatesAreKeptForNamesOfAnyKind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	names := []string{"c.db.t", "c.db.T", "c.db.a/b", "c.db.../../etc", "c.db.ü", "c.db.\x00", "c.db." + strings.Repeat("x", 2000), "c.d\nb.t", "c.db.t%2F"}
	states := NewObjects(openStore(t), dir+"/")
	for _, check := range []bool{false, true} {
		for _, name := range names {
			require.NoError(t, states.Save(t.Context(), Key{name, check}, Record{Paused: name + itoa(b2i(check))}))
		}
	}
	again := NewObjects(openStore(t), dir)
	for _, check := range []bool{false, true} {
		for _, name := range names {
			r, ok, err := again.Load(t.Context(), Key{name, check})
			require.NoError(t, err, "%q", name)
			assert.True(t, ok)
			assert.Equal(t, name+itoa(b2i(check)), r.Paused)
		}
	}
	_, ok, err := again.Load(t.Context(), Key{"c.db.unknown", false})
	require.NoError(t, err)
	assert.False(t, ok)
}

func TestAnObjectThatIsNoRecordOfTheTableIsAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	states := NewObjects(openStore(t), dir)
	require.NoError(t, states.Save(t.Context(), Key{"c.db.t", false}, Record{}))
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	for name, text := range map[string]string{
		"cut short": `{"table": "c.db.t", "slot": "2026-`, "empty": "", "of another table": `{"table": "c.db.u", "check": false, "slot": "2026-06-01T12:00:00Z"}`,
	} {
		require.NoError(t, os.WriteFile(files[0], []byte(text), 0o600))
		_, _, err := states.Load(t.Context(), Key{"c.db.t", false})
		require.ErrorIs(t, err, ErrDamagedState, name)
		assert.ErrorContains(t, err, files[0], name)
	}
}

func TestAnOrderStandsWhateverIsSavedAtTheSameTime(t *testing.T) {
	t.Parallel()
	k := Key{"c.db.t", false}
	for name, states := range map[string]States{"memory": NewMemory(), "objects": NewObjects(openStore(t), t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, states.Save(t.Context(), k, Record{Failures: 1}))
			before, _, err := states.Load(t.Context(), k)
			require.NoError(t, err)
			require.NoError(t, states.Order(t.Context(), k, "moving house"))
			before.Failures = 2
			require.NoError(t, states.Save(t.Context(), k, before), "by a daemon that has not seen the order")
			r, ok, err := states.Load(t.Context(), k)
			require.NoError(t, err)
			assert.True(t, ok)
			assert.Equal(t, Record{Failures: 2, Ordered: "moving house"}, r)
			require.NoError(t, states.Order(t.Context(), k, ""))
			require.NoError(t, states.Save(t.Context(), k, r), "by a daemon that has not seen that it is taken back")
			r, _, err = states.Load(t.Context(), k)
			require.NoError(t, err)
			assert.Equal(t, Record{Failures: 2}, r)
		})
	}
}

func TestATableThatNobodyRanYetCanBePausedAndResumed(t *testing.T) {
	t.Parallel()
	states := NewObjects(openStore(t), t.TempDir())
	k := Key{"c.db.t", true}
	require.NoError(t, states.Order(t.Context(), k, "moving house"))
	r, ok, err := states.Load(t.Context(), k)
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, "moving house", r.Blocked())
	require.NoError(t, states.Order(t.Context(), k, ""))
	_, ok, err = states.Load(t.Context(), k)
	require.NoError(t, err)
	assert.False(t, ok)
}
