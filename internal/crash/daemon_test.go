package crash

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dvcompactor/dvcompactor/internal/daemon"
	"github.com/dvcompactor/dvcompactor/internal/testlake/judge"
)

// name is the only table of a lab.
const name = "lake.db.t"

// The daemon, as processes of their own that are stopped, killed, replaced and doubled.
func TestADaemonIsStoppedKilledReplacedAndDoubled(t *testing.T) {
	t.Parallel()
	binary := build(t)
	for what, test := range map[string]func(*testing.T, string){
		"stopped while it uploads it takes back what it uploaded":       stoppedInAnUpload,
		"stopped while it commits it ends the commit":                   stoppedInACommit,
		"told to stop twice it ends at once":                            stoppedTwice,
		"killed anywhere the next one makes the run":                    killedAnywhere,
		"it takes a new configuration, and none with a mistake":         hungUp,
		"two at once are kept apart by the lease":                       keptApart,
		"two at once that the lease does not keep apart do no harm":     notKeptApart,
		"replaced while it works each run is made once":                 replaced,
		"several that run once make each run once":                      onceAtOnce,
		"without space for what it remembers it runs on and catches up": fullState,
		"without space for the table it fails and recovers":             fullTable,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			test(t, binary)
		})
	}
}

// bed is a lake with a table to compact and what daemons remember of it, where the run is due.
type bed struct {
	*lab
	before *state
	states daemon.States
	plain  string // configuration that leads straight to the lake
}

func newBed(t *testing.T) *bed {
	l := remoteLab(t, "v3-upgraded-mixed")
	folder := filepath.Join(l.dir, "state")
	b := &bed{lab: l, before: l.look(t), states: states(t, folder)}
	due(t, b.states, name)
	b.plain = l.scheduled(t, "plain-daemon.yaml", l.config, compacting(rare), folder)
	return b
}

// held starts a daemon whose run waits at a request.
func (b *bed) held(t *testing.T, binary, op, part string, after bool) (*served, *gate) {
	config, g := b.gated(t, op, part, after)
	s := serve(t, binary, b.scheduled(t, "gated-daemon.yaml", config, compacting(rare), filepath.Join(b.dir, "state")))
	g.wait(s)
	return s, g
}

// compacted demands that one commit has compacted the table, rightly, and that nothing else was left behind.
func (b *bed) compacted(t *testing.T) {
	t.Helper()
	after := b.look(t)
	after.sameAs(t, b.before)
	require.NotEqual(t, b.before.head, after.head)
	assert.Len(t, after.main.Puffins, 1)
	assert.Empty(t, after.orphans)
	assert.Len(t, after.positions, len(b.before.positions)+1, "one commit")
}

// untouched demands that the table is what it was and nothing was left behind.
func (b *bed) untouched(t *testing.T) {
	t.Helper()
	now := b.look(t)
	now.sameAs(t, b.before)
	assert.Equal(t, b.before.head, now.head)
	assert.Empty(t, now.orphans)
}

// rewriteLease has the lease of the table say something else.
func (b *bed) rewriteLease(t *testing.T, expires time.Time) {
	tbl, closed := b.load(t)
	defer closed()
	n := 0
	for o, err := range tbl.Store.List(t.Context(), prefix+"t/metadata/dvcompactor/lease-main.") {
		require.NoError(t, err)
		text := `{"owner": "somebody", "expires": "` + expires.UTC().Format(time.RFC3339) + `"}`
		require.NoError(t, tbl.Store.WriteFile(t.Context(), o.Location, []byte(text)))
		n++
	}
	require.Equal(t, 1, n, "there is a lease")
}

// next starts a daemon that is to make the run, and ends it.
func (b *bed) next(t *testing.T, binary string) {
	t.Helper()
	s := serve(t, binary, b.plain)
	s.eventually("the run ends", func() bool { return s.runs(daemon.ResultDone)+s.runs(daemon.ResultNothing) == 1 })
	s.eventually("it is remembered", func() bool { return len(results(t, b.states, name)) > 0 })
	s.stop()
}

// idle starts a daemon that has nothing to do.
func (b *bed) idle(t *testing.T, binary string) {
	t.Helper()
	s := serve(t, binary, b.plain)
	s.eventually("it knows the table", func() bool {
		_, status := s.ask("/status")
		return strings.Contains(status, `"next_run": "20`)
	})
	s.stop()
	assert.Empty(t, s.said("run finished"))
}

func stoppedInAnUpload(t *testing.T, binary string) {
	b := newBed(t)
	s, _ := b.held(t, binary, "put", "/snap-", false)
	s.signal(syscall.SIGTERM)
	require.Zero(t, s.exit())
	b.untouched(t)
	assert.Equal(t, []daemon.Result{daemon.ResultInterrupted}, results(t, b.states, name))
	b.next(t, binary)
	b.compacted(t)
	assert.Equal(t, []daemon.Result{daemon.ResultInterrupted, daemon.ResultDone}, results(t, b.states, name))
	b.idle(t, binary)
}

func stoppedInACommit(t *testing.T, binary string) {
	b := newBed(t)
	s, g := b.held(t, binary, "commit", "", false)
	s.stopping()
	code, _ := s.ask("/-/healthy")
	assert.Equal(t, http.StatusOK, code, "nobody is to kill it for being slow")
	g.open()
	require.Zero(t, s.exit())
	b.compacted(t)
	assert.Equal(t, []daemon.Result{daemon.ResultDone}, results(t, b.states, name))
	b.idle(t, binary)
}

func stoppedTwice(t *testing.T, binary string) {
	b := newBed(t)
	s, _ := b.held(t, binary, "commit", "", false)
	s.stopping()
	s.signal(syscall.SIGTERM)
	require.Equal(t, 128+int(syscall.SIGTERM), s.exit())
	assert.Equal(t, b.before.head, b.head(t))

	quick := serve(t, binary, b.plain)
	quick.eventually("it meets the lease of the dead", func() bool { return quick.runs(daemon.ResultLocked) > 0 })
	quick.stop()
	assert.Empty(t, results(t, b.states, name), "the run is still due")
	b.rewriteLease(t, time.Now().Add(-time.Second))
	b.next(t, binary)
	after := b.look(t)
	after.sameAs(t, b.before)
	assert.Len(t, after.main.Puffins, 1)
	b.idle(t, binary)
}

func killedAnywhere(t *testing.T, binary string) {
	for _, at := range []struct {
		op, part string
		after    bool
		want     daemon.Result // of the next run
	}{
		{"put", "/dvcompactor/lease-", false, daemon.ResultDone},
		{"put", ".puffin", true, daemon.ResultDone},
		{"put", "/snap-", false, daemon.ResultDone},
		{"commit", "", false, daemon.ResultDone},
		{"commit", "", true, daemon.ResultNothing},
	} {
		b := newBed(t)
		s, _ := b.held(t, binary, at.op, at.part, at.after)
		s.signal(syscall.SIGKILL)
		require.Equal(t, -1, s.exit())
		if at.part != "/dvcompactor/lease-" {
			b.rewriteLease(t, time.Now().Add(-time.Second))
		}
		b.next(t, binary)
		after := b.look(t)
		after.sameAs(t, b.before)
		assert.Len(t, after.main.Puffins, 1, "%+v", at)
		assert.Len(t, after.positions, len(b.before.positions)+1, "%+v: one commit", at)
		assert.Equal(t, []daemon.Result{at.want}, results(t, b.states, name), "%+v", at)
		b.idle(t, binary)
	}
}

func hungUp(t *testing.T, binary string) {
	b := newBed(t)
	s := serve(t, binary, b.plain)
	s.eventually("the run ends", func() bool { return s.runs(daemon.ResultDone) == 1 })
	good, err := os.ReadFile(b.plain)
	require.NoError(t, err)
	metric := func(line string) func() bool {
		return func() bool {
			_, text := s.ask("/metrics")
			return strings.Contains(text, line)
		}
	}
	require.NoError(t, os.WriteFile(b.plain, append(good, "mistake: true\n"...), 0o600))
	s.signal(syscall.SIGHUP)
	s.eventually("the mistake is noticed", metric("dvcompactor_config_last_reload_successful 0"))
	assert.True(t, s.isReady())
	_, status := s.ask("/status")
	assert.Contains(t, status, `"policy": "p"`)
	require.NoError(t, os.WriteFile(b.plain, []byte(strings.Replace(string(good), "name: p,", "name: q,", 1)), 0o600))
	s.signal(syscall.SIGHUP)
	s.eventually("the new one is in effect", func() bool {
		_, status := s.ask("/status")
		return strings.Contains(status, `"policy": "q"`)
	})
	s.eventually("it is said", metric("dvcompactor_config_last_reload_successful 1"))
	assert.Len(t, s.said("run finished"), 1, "a reload makes nothing due")
	s.stop()
	b.compacted(t)
}

func keptApart(t *testing.T, binary string) {
	b := newBed(t)
	first, g := b.held(t, binary, "commit", "", false)
	others := states(t, filepath.Join(b.dir, "other-state"))
	due(t, others, name)
	second := serve(t, binary, b.scheduled(t, "second.yaml", b.config, compacting(rare), filepath.Join(b.dir, "other-state")))
	second.eventually("it meets the lease", func() bool { return second.runs(daemon.ResultLocked) > 0 })
	assert.Contains(t, second.said("run finished")[0]["error"], "holds it until")
	assert.Equal(t, b.before.head, b.head(t))
	g.open()
	first.eventually("the run ends", func() bool { return first.runs(daemon.ResultDone) == 1 })
	first.stop()
	second.stop()
	b.compacted(t)
}

func notKeptApart(t *testing.T, binary string) {
	for _, at := range []struct {
		op, part string
		expires  time.Duration
	}{
		{"put", "/snap-", -time.Second},     // the holder was stopped for a while
		{"commit", "", 48 * time.Hour},      // the clock of the holder is wrong
		{"put", ".puffin", -24 * time.Hour}, // that of the other one is
	} {
		b := newBed(t)
		tbl, closed := b.load(t)
		first, g := b.held(t, binary, at.op, at.part, false)
		b.rewriteLease(t, time.Now().Add(at.expires))
		second := serve(t, binary, b.plain)
		second.eventually("it works on the table, too", func() bool { return second.runs(daemon.ResultDone) == 1 })
		winner := b.head(t)
		g.open()
		first.eventually("the run of the other ends", func() bool { return len(first.said("run finished")) == 1 })
		first.stop()
		second.stop()
		assert.Equal(t, 1, first.runs(daemon.ResultNothing), "%+v: %v", at, first.said("run finished"))
		assert.Equal(t, winner, b.head(t), "%+v", at)
		now, closedToo := b.load(t)
		require.NoError(t, judge.Commit(t, now.Store.FileIO(t.Context()), tbl.Metadata, now.Metadata), "%+v", at)
		closed()
		closedToo()
		b.compacted(t)
	}
}
