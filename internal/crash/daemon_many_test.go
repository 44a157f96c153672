package crash

import (
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/daemon"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
)

// many is a lake of local files with several tables that have something to compact.
type many struct {
	*lab
	lake   *testlake.Lake
	tables []string
	before map[string]*testlake.Deletes
	folder string // of what daemons remember
}

const vectorsPerTable = 3

// newMany makes a lake in a folder that is there.
func newMany(t *testing.T, dir string, tables int) *many {
	_, err := lakewriter.CreateLake(t.Context(), dir, testlake.CatalogName)
	require.NoError(t, err)
	m := &many{lake: testlake.Open(t, dir), folder: t.TempDir(), before: map[string]*testlake.Deletes{}}
	m.lab = &lab{dir: dir, options: catalog.Options{Type: "sql", URI: "sqlite://" + filepath.Join(dir, "catalog.db")}}
	m.config = m.configure(t, "dvc.yaml", m.options.URI, "file://"+dir)
	for i := range tables {
		table := fmt.Sprintf("t%d", i)
		require.NoError(t, lakewriter.CreateTable(t.Context(), dir, testlake.CatalogName, table, 3, nil))
		m.tables = append(m.tables, table)
		m.wear(t, table)
		m.before[table] = m.lake.Read(t, table, "main")
	}
	return m
}

// wear appends data files with a deletion vector each, in Puffins of their own.
func (m *many) wear(t *testing.T, name string) {
	tbl, err := lakewriter.Load(t.Context(), m.lake.Catalog, testlake.Ident(name))
	require.NoError(t, err)
	for i := range int64(vectorsPerTable) {
		tbl, err = lakewriter.Append(t.Context(), tbl, 0, i*10, 10)
		require.NoError(t, err)
	}
	files, err := lakewriter.DataFiles(t.Context(), tbl, "main")
	require.NoError(t, err)
	for i, f := range files {
		tbl, err = lakewriter.ReplaceVector(t.Context(), tbl, "main", f, []int64{int64(i), 7})
		require.NoError(t, err)
	}
}

// full is the name of a table with its catalog.
func full(table string) string { return testlake.CatalogName + ".db." + table }

// daemon returns the configuration of a daemon.
func (m *many) daemon(t *testing.T, name, schedule string) string {
	return m.scheduled(t, name, m.config, compacting(schedule), m.folder)
}

// eachOnce demands that one commit has compacted each table, rightly.
func (m *many) eachOnce(t *testing.T) {
	t.Helper()
	for _, table := range m.tables {
		after := m.lake.Read(t, table, "main")
		assert.Equal(t, m.before[table].Positions, after.Positions, table)
		assert.Len(t, after.Puffins, 1, table)
		ours := 0
		for _, snap := range m.lake.Load(t, table).Metadata.Snapshots() {
			if snap.Summary != nil && snap.Summary.Properties["dvcompactor.plan-id"] != "" {
				ours++
			}
		}
		assert.Equal(t, 1, ours, "commits to %s", table)
	}
}

// isDone tells whether what is remembered of each table has one run that did something.
func (m *many) isDone(t *testing.T) bool {
	known := states(t, m.folder)
	for _, table := range m.tables {
		done := 0
		for _, r := range results(t, known, full(table)) {
			done += map[daemon.Result]int{daemon.ResultDone: 1}[r]
		}
		if done != 1 {
			return false
		}
	}
	return true
}

// replaced replaces a daemon as a Deployment does: the next one is there before the first one is told to stop.
func replaced(t *testing.T, binary string) {
	const tables = 8
	m := newMany(t, t.TempDir(), tables)
	known := states(t, m.folder)
	for _, table := range m.tables {
		due(t, known, full(table))
	}
	config := m.daemon(t, "daemon.yaml", rare)
	first := serve(t, binary, config)
	first.eventually("it is at work", func() bool { return first.runs(daemon.ResultDone) >= 1 })
	second := serve(t, binary, config)
	second.eventually("it is ready", second.isReady)
	first.signal(syscall.SIGTERM)
	require.Zero(t, first.exit())
	second.eventually("all is done", func() bool { return m.isDone(t) })
	second.stop()
	assert.Equal(t, tables, first.runs(daemon.ResultDone)+second.runs(daemon.ResultDone))
	assert.Zero(t, first.runs(daemon.ResultNothing)+second.runs(daemon.ResultNothing), "no run is made twice")
	m.eachOnce(t)
}

// onceAtOnce lets a scheduler start three jobs at the same time, and one more.
func onceAtOnce(t *testing.T, binary string) {
	m := newMany(t, t.TempDir(), 4)
	config := m.daemon(t, "daemon.yaml", "@yearly")
	argv := []string{binary, "serve", "--once", "-c", config, "--log-level", "error"}
	var jobs sync.WaitGroup
	for range 3 {
		jobs.Go(func() {
			p := newProcess(t.Context(), m.dir, argv)
			p.run(t)
			assert.Contains(t, []int{0, 11}, p.cmd.ProcessState.ExitCode(), "%s%s", &p.stdout, &p.stderr) // 11: all that was due was locked
		})
	}
	jobs.Wait()
	p := newProcess(t.Context(), m.dir, argv)
	p.run(t)
	assert.Zero(t, p.cmd.ProcessState.ExitCode(), "%s", &p.stderr)
	assert.True(t, m.isDone(t))
	m.eachOnce(t)
}
