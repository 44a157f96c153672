package weed_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTablesOfAnotherServersCatalogAreMaintained(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	code, _ := l.run(t, "config check", "--connect")
	require.Zero(t, code)
	for _, tt := range []struct {
		name    string
		version int
		verb    string
		flags   []string
	}{
		{"v2", 2, "migrate", []string{"--upgrade-format"}},
		{"v3", 3, "compact", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			left := l.create(t, tt.name, tt.version)
			require.Equal(t, left, l.read(t, tt.name), "before")
			code, _ := l.run(t, "plan", "weed.db."+tt.name)
			require.Zero(t, code)
			for _, commits := range []bool{true, false} {
				code, said := l.run(t, tt.verb, append(tt.flags, "weed.db."+tt.name)...)
				require.Zero(t, code)
				require.Equal(t, commits, said["committed"])
				require.Equal(t, left, l.read(t, tt.name), "after")
			}
			code, _ = l.run(t, "check", "--read-dvs", "weed.db."+tt.name)
			require.Zero(t, code)
		})
	}
}

func TestAWriterThatIsQuickerLosesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	left := l.create(t, "race", 2)
	const other, deleted = 10_000, 7
	l.beforeCommit("race", func() {
		assert.NoError(t, l.appendAndDelete(t.Context(), "race", other, deleted))
	})
	code, said := l.run(t, "migrate", "--upgrade-format", "weed.db.race")
	require.Zero(t, code)
	require.Equal(t, true, said["committed"])
	require.EqualValues(t, 2, said["attempts"])

	want := append(left, other)
	got := l.read(t, "race")
	require.Len(t, got, len(want)-1)
	require.Subset(t, want, got)
	require.EqualValues(t, deleted, missing(want, got)%rows)

	code, said = l.run(t, "migrate", "weed.db.race")
	require.Zero(t, code)
	require.Equal(t, true, said["committed"], "the data file that changed meanwhile")
	require.Equal(t, got, l.read(t, "race"))
	code, _ = l.run(t, "check", "--read-dvs", "weed.db.race")
	require.Zero(t, code)
}

// missing returns the first of want that is not in got.
func missing(want, got []int64) int64 {
	for i, id := range want {
		if i >= len(got) || got[i] != id {
			return id
		}
	}
	return -1
}
