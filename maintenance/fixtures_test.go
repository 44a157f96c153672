package maintenance_test

import (
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mayKeep are fixtures of which some position delete files cannot be converted: paths that only almost exist.
var mayKeep = map[string]bool{"v2-weird-paths": true, "v2-dangling": true}

func TestEveryFixtureKeepsItsDeletedPositions(t *testing.T) {
	t.Parallel()
	everyFixture(t, maintenance.Options{})
}

// With next to no memory every data file is merged in a pass of its own, and position delete files are read again.
func TestEveryFixtureKeepsItsDeletedPositionsInManyPasses(t *testing.T) {
	t.Parallel()
	everyFixture(t, maintenance.Options{Memory: 1, Parallelism: 3})
}

func everyFixture(t *testing.T, o maintenance.Options) {
	for _, fixture := range testlake.Fixtures(t) {
		t.Run(fixture, func(t *testing.T) {
			t.Parallel()
			lake := testlake.Copy(t, fixture)
			for name, want := range lake.Expected {
				for ref, state := range want.Refs {
					if !state.Tag {
						migrateAndCompact(t, lake, name, ref, o)
						checkPositions(t, lake, name, ref, state)
						checkOrder(t, lake, name, ref)
						if !mayKeep[fixture] {
							assert.Zero(t, lake.Read(t, name, ref).PositionDeleteFiles, "live position delete files at %s", ref)
						}
					}
				}
				for ref, state := range want.Refs {
					checkPositions(t, lake, name, ref, state)
				}
			}
		})
	}
}

func migrateAndCompact(t *testing.T, lake *testlake.Lake, name, ref string, o maintenance.Options) {
	o.Ref, o.UpgradeFormat = ref, true
	for _, o.Action = range []maintenance.Action{maintenance.Migrate, maintenance.Compact} {
		r, err := maintenance.Run(t.Context(), lake.Catalog, testlake.Ident(name), o)
		require.NoError(t, err)
		assert.Equal(t, r.DigestBefore, r.DigestAfter)
		assert.NotNil(t, r.Skipped, "a list, also in JSON")
		assert.LessOrEqual(t, r.After.PuffinFiles+r.After.PositionDeleteFiles, r.Before.PuffinFiles+r.Before.PositionDeleteFiles)
		again, err := maintenance.Run(t.Context(), lake.Catalog, testlake.Ident(name), o)
		require.NoError(t, err)
		assert.False(t, again.Committed, "a second %s commits", o.Action)
	}
}

// checkOrder checks that the blobs of a Puffin file that we wrote are listed by one manifest, in the order the file has
// them.
func checkOrder(t *testing.T, lake *testlake.Lake, name, ref string) {
	t.Helper()
	manifests, err := lake.Load(t, name).Metadata.SnapshotByName(ref).Manifests(lake.IO())
	require.NoError(t, err)
	listedBy := map[string]string{}
	last := map[string]int64{}
	for _, m := range manifests {
		for e, err := range m.Entries(lake.IO(), true) {
			require.NoError(t, err)
			f := e.DataFile()
			if f.ContentOffset() == nil || !strings.Contains(f.FilePath(), "/dvcompactor-") {
				continue
			}
			assert.Greater(t, *f.ContentOffset(), last[f.FilePath()], "%s in %s", f.FilePath(), m.FilePath())
			last[f.FilePath()] = *f.ContentOffset()
			if by := listedBy[f.FilePath()]; by != "" {
				assert.Equal(t, by, m.FilePath(), "another manifest lists blobs of %s", f.FilePath())
			}
			listedBy[f.FilePath()] = m.FilePath()
		}
	}
}

// checkPositions compares what is deleted now with what the Java reference read before.
func checkPositions(t *testing.T, lake *testlake.Lake, name, ref string, want testlake.ExpectedState) {
	t.Helper()
	got := lake.Read(t, name, ref)
	assert.Equal(t, want.EqualityDeleteFiles, got.EqualityDeleteFiles)
	assert.Len(t, got.Positions, len(want.DataFiles))
	for _, f := range want.DataFiles {
		assert.Equal(t, f.DeletedRanges, got.Positions[f.Path], "%s@%s: deleted positions of %s", name, ref, f.Path)
		if f.FirstRowID != nil {
			assert.Equal(t, f.FirstRowID, got.FirstRowIDs[f.Path])
		}
	}
}
