package crash

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dvcompactor/dvcompactor/internal/daemon"
)

// small mounts a file system of a few megabytes for the time of a test.
func small(t *testing.T) string {
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a small file system needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(folder, syscall.MNT_DETACH)) })
	return folder
}

// fill takes all space that is left, and returns what gives it back.
func fill(t *testing.T, folder string) func() {
	path := filepath.Join(folder, "ballast")
	f, err := os.Create(path)
	require.NoError(t, err)
	for size := 1 << 16; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			size /= 2
		}
	}
	require.NoError(t, f.Close())
	return func() { require.NoError(t, os.Remove(path)) }
}

func fullState(t *testing.T, binary string) {
	b := newBed(t)
	folder := small(t)
	b.states = states(t, folder)
	due(t, b.states, name)
	b.plain = b.scheduled(t, "small.yaml", b.config, compacting(rare), folder)
	free := fill(t, folder)
	s := serve(t, binary, b.plain)
	s.eventually("it tried again", func() bool { return len(s.said("tables are not remembered yet")) > 1 })
	assert.Contains(t, s.said("the run is not remembered yet")[0]["error"], "no space left")
	assert.Equal(t, 1, s.runs(daemon.ResultDone))
	assert.Len(t, s.said("run finished"), 1, "it knows that it made the run")
	assert.True(t, s.isReady(), "it works")
	_, metrics := s.ask("/metrics")
	assert.NotContains(t, metrics, `dvcompactor_bucket_operation_failures_total{op="put"} 0`)
	assert.Empty(t, results(t, b.states, name))
	free()
	s.eventually("it is remembered", func() bool { return len(results(t, b.states, name)) == 1 })
	s.stop()
	b.compacted(t)
	b.idle(t, binary)
}

func fullTable(t *testing.T, binary string) {
	dir := small(t)
	m := newMany(t, dir, 1)
	known := states(t, m.folder)
	due(t, known, full(m.tables[0]))
	config := m.scheduled(t, "daemon.yaml", m.config, compacting("@every 1s"), m.folder, ", failures: 1000")
	free := fill(t, dir)
	files := m.lake.Files(t)
	s := serve(t, binary, config)
	s.eventually("the run fails", func() bool { return s.runs(daemon.ResultFailed) > 0 })
	assert.Contains(t, s.said("run finished")[0]["error"], "no space left")
	s.eventually("it is counted", func() bool {
		_, metrics := s.ask("/metrics")
		return !strings.Contains(metrics, `dvcompactor_runs_total{action="compact",result="failed"} 0`)
	})
	assert.True(t, s.isReady(), "the catalog answers")
	assert.Equal(t, m.before[m.tables[0]].Positions, m.lake.Read(t, m.tables[0], "main").Positions)
	s.stop()
	assert.Equal(t, files, m.lake.Files(t), "nothing was left behind")
	s = serve(t, binary, config)
	s.eventually("the run fails again", func() bool { return s.runs(daemon.ResultFailed) > 0 })
	free()
	s.eventually("a run is done", func() bool { return s.runs(daemon.ResultDone) > 0 })
	s.stop()
	m.eachOnce(t)
}
