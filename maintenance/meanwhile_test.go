package maintenance_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "modernc.org/sqlite" // database/sql driver "sqlite"
)

// meanwhile is a table of two data files, a shared position delete file, then one more for the second, to which something
// happens between plan and commit.
type meanwhile struct {
	t    *testing.T
	lake *testlake.Lake
	f    []iceberg.DataFile
	ids  []int64 // of the snapshots, oldest first
}

func newMeanwhile(t *testing.T) *meanwhile {
	lake, f := ownTable(t, 2, 2)
	deletePositions(t, lake, f[0], map[string][]int64{f[0].FilePath(): {1}, f[1].FilePath(): {2}})
	deletePositions(t, lake, f[0], map[string][]int64{f[1].FilePath(): {3}})
	m := &meanwhile{t: t, lake: lake, f: f}
	for _, s := range lake.Load(t, "t").Metadata.Snapshots() {
		m.ids = append(m.ids, s.SnapshotID)
	}
	return m
}

// run migrates, and lets something happen before the first commit.
func (m *meanwhile) run(ref string, happens func()) (*maintenance.Report, error) {
	o := fast(maintenance.Migrate)
	o.Ref = ref
	cat := &testlake.Racing{Catalog: m.lake.Catalog, Before: func(n int) {
		if n == 1 {
			happens()
		}
	}}
	return maintenance.Run(m.t.Context(), cat, testlake.Ident("t"), o)
}

func (m *meanwhile) append() {
	_, err := lakewriter.Append(m.t.Context(), mustLoad(m.t, m.lake), 2, 9000, 10)
	require.NoError(m.t, err)
}

// exec changes the catalog's database behind everybody's back.
func (m *meanwhile) exec(statement string) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(m.lake.Dir, "catalog.db")+"?_pragma=busy_timeout(10000)")
	require.NoError(m.t, err)
	_, err = db.Exec(statement)
	require.NoError(m.t, err)
	require.NoError(m.t, db.Close())
}

func (m *meanwhile) setMain(id int64) {
	update(m.t, m.lake, table.NewSetSnapshotRefUpdate("main", id, table.BranchRef, 0, 0, 0))
}

const dropTable = "DELETE FROM iceberg_tables WHERE table_name = 't'"

func TestWhatHappensMeanwhileAndDoesNotMatterCostsAnotherAttemptAtMost(t *testing.T) {
	t.Parallel()
	for name, happens := range map[string]func(*meanwhile){
		"the snapshot of the plan expires": func(m *meanwhile) {
			m.append()
			update(m.t, m.lake, table.NewRemoveSnapshotsUpdate(m.ids, false))
		},
		"the format is upgraded": func(m *meanwhile) { update(m.t, m.lake, table.NewUpgradeFormatVersionUpdate(3)) },
		"the spec evolves": func(m *meanwhile) {
			spec := iceberg.NewPartitionSpecID(1, iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1000, Name: "region", Transform: iceberg.IdentityTransform{}})
			update(m.t, m.lake, table.NewAddPartitionSpecUpdate(&spec, false), table.NewSetDefaultSpecUpdate(-1))
		},
		"a column is added": func(m *meanwhile) {
			fields := append(lakewriter.Schema().Fields(), iceberg.NestedField{ID: 4, Name: "more", Type: iceberg.PrimitiveTypes.String})
			update(m.t, m.lake, table.NewAddSchemaUpdate(iceberg.NewSchema(1, fields...)), table.NewSetCurrentSchemaUpdate(-1))
		},
		"a tag is set": func(m *meanwhile) {
			update(m.t, m.lake, table.NewSetSnapshotRefUpdate("eod", m.ids[0], table.TagRef, 0, 0, 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMeanwhile(t)
			r, err := m.run("main", func() { happens(m) })
			require.NoError(t, err)
			assert.True(t, r.Committed)
			assert.LessOrEqual(t, r.Attempts, 2)
			assert.Empty(t, r.Dropped)
			assert.Equal(t, name != "the format is upgraded", r.UpgradedFormat)
			got := m.lake.Read(t, "t", "main")
			assert.Equal(t, [][2]int64{{1, 1}}, got.Positions[m.f[0].FilePath()])
			assert.Equal(t, [][2]int64{{2, 3}}, got.Positions[m.f[1].FilePath()])
			assert.Zero(t, got.PositionDeleteFiles)
		})
	}
}

func TestABranchThatGoesBackMeanwhileIsMigratedAsItIsThen(t *testing.T) {
	t.Parallel()
	m := newMeanwhile(t)
	r, err := m.run("main", func() { m.setMain(m.ids[2]) }) // without the second position delete file
	require.NoError(t, err)
	a, b := m.f[0].FilePath(), m.f[1].FilePath()
	assert.Equal(t, map[string][][2]int64{a: {{1, 1}}, b: {{2, 2}}}, m.lake.Read(t, "t", "main").Positions)
	assert.Equal(t, []string{b}, r.Dropped)
	assert.False(t, r.Committed, "the file that is left is about a data file that was dropped")
	r = run(t, m.lake, fast(maintenance.Migrate))
	assert.True(t, r.Committed)
	assert.Equal(t, map[string][][2]int64{a: {{1, 1}}, b: {{2, 2}}}, m.lake.Read(t, "t", "main").Positions)
}

func TestABranchThatMovesToAnotherLineageMeanwhileGetsNothingThatDoesNotFit(t *testing.T) {
	t.Parallel()
	m := newMeanwhile(t)
	_, err := m.run("main", func() {
		m.setMain(m.ids[0]) // the first data file alone, and then other deletes of it
		deletePositions(t, m.lake, m.f[0], map[string][]int64{m.first(): {500}})
	})
	require.NoError(t, err)
	assert.Equal(t, map[string][][2]int64{m.first(): {{500, 500}}}, m.lake.Read(t, "t", "main").Positions)
	run(t, m.lake, fast(maintenance.Migrate))
	assert.Equal(t, map[string][][2]int64{m.first(): {{500, 500}}}, m.lake.Read(t, "t", "main").Positions)
}

// first is the data file of the first snapshot.
func (m *meanwhile) first() string {
	tbl := m.lake.Load(m.t, "t")
	for path := range m.lake.ReadSnapshot(m.t, tbl.Metadata.SnapshotByID(m.ids[0])).Positions {
		return path
	}
	return ""
}

func TestWhatEndsARunMeanwhileLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		happens func(*meanwhile)
		want    error
	}{
		"the branch is dropped": {func(m *meanwhile) { update(m.t, m.lake, table.NewRemoveSnapshotRefUpdate("dev")) }, maintenance.ErrNoRef},
		"the branch becomes a tag": {func(m *meanwhile) {
			update(m.t, m.lake, table.NewRemoveSnapshotRefUpdate("dev"), table.NewSetSnapshotRefUpdate("dev", m.ids[3], table.TagRef, 0, 0, 0))
		}, maintenance.ErrRefusedTable},
		"the owner opts out": {func(m *meanwhile) {
			m.append()
			update(m.t, m.lake, table.NewSetPropertiesUpdate(iceberg.Properties{"dvcompactor.enabled": "false"}))
		}, maintenance.ErrOptedOut},
		"the table is dropped": {func(m *meanwhile) { m.exec(dropTable) }, catalog.ErrNotFound},
		"the table is replaced": {func(m *meanwhile) {
			m.exec(dropTable)
			require.NoError(m.t, lakewriter.CreateTable(m.t.Context(), m.lake.Dir, testlake.CatalogName, "t", 2, nil))
		}, maintenance.ErrRefusedTable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMeanwhile(t)
			update(t, m.lake, table.NewSetSnapshotRefUpdate("dev", m.ids[3], table.BranchRef, 0, 0, 0))
			want := m.lake.Files(t)
			r, err := m.run("dev", func() {
				ours := m.lake.Files(t)
				c.happens(m)
				want = append(want, newIn(m.lake.Files(t), ours)...)
			})
			require.ErrorIs(t, err, c.want)
			require.NotErrorIs(t, err, maintenance.ErrConflicts)
			require.NotErrorIs(t, err, catalog.ErrUnknown)
			assert.False(t, r.Committed)
			assert.ElementsMatch(t, want, m.lake.Files(t))
		})
	}
}

func newIn(after, before []string) []string {
	return slices.DeleteFunc(after, func(file string) bool { return slices.Contains(before, file) })
}
