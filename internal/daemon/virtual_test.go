package daemon

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// era is the whole daemon with its own loop, on a REST catalog that it speaks to over HTTP, in a time that passes when nobody
// has anything to do: hours take as long as what happens in them.
type era struct {
	t       *testing.T
	rest    *restcatalog.Server
	cat     catalog.Closer
	config  *config.Config
	states  States
	metrics *Metrics
	log     *observer.ObservedLogs
	logger  *zap.Logger
	work    func(ctx context.Context, j Job) Run
	clock   atomic.Int64 // by how much the daemon's clock is ahead of the time

	mu   sync.Mutex
	made map[Key][]time.Time // slots of the runs that came to their end

	daemon *Daemon
	dead   *atomic.Bool
	ctx    context.Context
	stop   context.CancelFunc
	abort  context.CancelFunc
	ended  chan struct{}
}

var errDead = errors.New("the process is no more")

// away is what a server does that cannot be reached.
func away(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// closing lets each connection end with its answer: one that is kept open would look like something that goes on.
func closing(healthy http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		healthy.ServeHTTP(w, r)
	})
}

// inEra runs a test in a time of its own, which begins at start. The test begins and ends daemons, but not at a moment at which
// they speak to a server: a connection that is just being made would be kept, and time would stand still. Servers are made before, so that they are not part of it.
func inEra(t *testing.T, start string, rest *restcatalog.Server, mounts []storage.Mount, test func(e *era), policies ...config.Policy) {
	rest.Use(closing)
	synctest.Test(t, func(t *testing.T) {
		core, log := observer.New(zapcore.ErrorLevel)
		e := &era{t: t, rest: rest, states: NewMemory(), metrics: NewMetrics("1"), log: log, made: map[Key][]time.Time{}}
		e.clock.Store(int64(time.Until(at(t, start))))
		c := &config.Config{Policies: policies, Daemon: config.DefaultDaemon(), Catalogs: map[string]config.Catalog{"c": {Name: "c"}}}
		e.config = c
		var err error
		e.cat, err = catalog.Open(t.Context(), catalog.Options{Name: "c", Type: "rest", URI: rest.URL, Mounts: mounts, Observe: e.metrics.Request})
		require.NoError(t, err)
		e.work = func(ctx context.Context, _ Job) Run { return e.sleep(ctx, time.Minute) }
		e.logger = zap.New(core)
		test(e)
		require.NoError(t, e.cat.Close())
	})
}

// now is the time on the daemon's clock.
func (e *era) now() time.Time { return time.Now().Add(time.Duration(e.clock.Load())) }

// turn puts the daemon's clock forward, or back.
func (e *era) turn(by time.Duration) { e.clock.Add(int64(by)) }

// sleep is a run that takes some time.
func (e *era) sleep(ctx context.Context, d time.Duration) Run {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return Run{Result: ResultInterrupted, Error: ctx.Err().Error()}
	case <-timer.C:
		return Run{Result: ResultDone, Committed: true}
	}
}

// begin starts a daemon with what was remembered by those before.
func (e *era) begin() {
	dead := &atomic.Bool{}
	e.dead = dead
	runner := jobRunner(func(ctx context.Context, j Job) Run {
		run := Run{Started: e.now(), Policy: j.Policy.Name, Action: j.Policy.Action}
		did := e.work(ctx, j)
		did.Started, did.Policy, did.Action = run.Started, run.Policy, run.Action
		if did.Result.ended() && !dead.Load() {
			e.mu.Lock()
			e.made[j.Key] = append(e.made[j.Key], j.Slot.UTC())
			e.mu.Unlock()
		}
		return did
	})
	e.daemon = New(Options{
		Config: e.config, Catalogs: []string{"c"}, List: e.list, Runner: runner, States: mortal{e.states, dead}, Log: e.logger, Metrics: e.metrics, Now: e.now,
	})
	var aborted context.Context
	e.ctx, e.stop = context.WithCancel(e.t.Context())
	aborted, e.abort = context.WithCancel(context.WithoutCancel(e.ctx))
	d, ctx, ended := e.daemon, e.ctx, make(chan struct{})
	e.ended = ended
	go func() {
		defer close(ended)
		_, _ = d.Run(ctx, aborted) // that it was aborted
	}()
}

// jobRunner is a runner made of a function.
type jobRunner func(ctx context.Context, j Job) Run

// Run implements Runner.
func (f jobRunner) Run(ctx context.Context, j Job) Run { return f(ctx, j) }

func (e *era) list(ctx context.Context, name string) ([]string, error) {
	tables, err := e.cat.List(ctx, nil)
	out := make([]string, 0, len(tables))
	for _, id := range tables {
		out = append(out, name+"."+id[0]+"."+id[1])
	}
	return out, err
}

// end stops the daemon as SIGTERM does.
func (e *era) end() {
	e.stop()
	<-e.ended
	e.abort()
	synctest.Wait()
}

// restart replaces the daemon.
func (e *era) restart() {
	e.end()
	e.begin()
}

// kill ends the daemon as SIGKILL does: nothing of what goes on is remembered. Then another one begins.
func (e *era) kill() {
	e.dead.Store(true)
	e.abort()
	e.end()
	e.begin()
}

// mortal are states that end with a process.
type mortal struct {
	States
	dead *atomic.Bool
}

// Load implements States.
func (m mortal) Load(ctx context.Context, k Key) (Record, bool, error) {
	if m.dead.Load() {
		return Record{}, false, errDead
	}
	return m.States.Load(ctx, k)
}

// Save implements States.
func (m mortal) Save(ctx context.Context, k Key, r Record) error {
	if m.dead.Load() {
		return errDead
	}
	return m.States.Save(ctx, k, r)
}

// slots are those for which a table had a run that came to its end.
func (e *era) slots(table string) []time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.made[Key{Table: table}])
}

// eachOnce demands that every table had one run for each slot of a policy.
func (e *era) eachOnce(p *config.Policy, tables []string, from, to time.Time) {
	for _, table := range tables {
		s, err := NewSchedule(p, table)
		require.NoError(e.t, err)
		var want []time.Time
		for slot := s.Slot(from); !slot.After(to); slot = s.Slot(slot) {
			want = append(want, slot.UTC())
		}
		require.NotEmpty(e.t, want)
		if !assert.Equal(e.t, want, e.slots(table), table) {
			return
		}
	}
}

// oneFile writes the metadata of a table without rows, and says where it is and how to read it.
func oneFile(t *testing.T, metadata []byte) (location string, mounts []storage.Mount) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "00000-a.metadata.json"), metadata, 0o600))
	return "s3://lake/00000-a.metadata.json", []storage.Mount{{Prefix: "s3://lake/", URL: "file://" + dir}}
}
