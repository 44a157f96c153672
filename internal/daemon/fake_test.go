package daemon

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// runnerFunc is a runner made of a function.
type runnerFunc func(ctx context.Context, j Job) Run

// Run implements Runner.
func (f runnerFunc) Run(ctx context.Context, j Job) Run {
	run := f(ctx, j)
	run.Started, run.Policy, run.Action = time.Now(), j.Policy.Name, j.Policy.Action
	return run
}

// stage is a daemon with catalogs, states and a runner that do as they are told.
type stage struct {
	t      *testing.T
	config *config.Config
	states *flaky
	log    *observer.ObservedLogs
	o      Options

	mu     sync.Mutex
	tables map[string][]string
	away   map[string]error
	ran    map[string]int
}

// newStage has a catalog c with two tables, which were seen two days ago and never run since.
func newStage(t *testing.T, policies ...config.Policy) *stage {
	if len(policies) == 0 {
		policies = []config.Policy{{Name: "p", Tables: []string{"*"}, Action: config.ActionCompact, Schedule: "@daily"}}
	}
	c := &config.Config{Policies: policies, Daemon: config.DefaultDaemon(), Catalogs: map[string]config.Catalog{"c": {Name: "c"}}}
	c.Daemon.Discovery, c.Daemon.Grace = 5*time.Millisecond, 10*time.Second
	core, log := observer.New(zapcore.InfoLevel)
	s := &stage{t: t, config: c, states: &flaky{States: NewMemory()}, log: log, tables: map[string][]string{"c": {"c.db.a", "c.db.b"}}, away: map[string]error{}, ran: map[string]int{}}
	for _, table := range s.tables["c"] {
		s.seen(table)
	}
	s.o = Options{Config: c, Catalogs: []string{"c"}, List: s.list, States: s.states, Log: zap.New(core), Metrics: NewMetrics("1"), Now: time.Now}
	s.runs(func(context.Context, Job) Run { return Run{Result: ResultDone} })
	return s
}

// seen remembers a table of two days ago, so that a run is due.
func (s *stage) seen(table string) {
	require.NoError(s.t, s.states.Save(s.t.Context(), Key{Table: table}, Record{Slot: time.Now().Add(-48 * time.Hour)}))
}

func (s *stage) runs(f runnerFunc) {
	s.o.Runner = runnerFunc(func(ctx context.Context, j Job) Run {
		s.mu.Lock()
		s.ran[j.Table]++
		s.mu.Unlock()
		return f(ctx, j)
	})
}

func (s *stage) list(_ context.Context, catalog string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tables[catalog], s.away[catalog]
}

func (s *stage) set(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// times is how often a table was run.
func (s *stage) times(table string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ran[table]
}

// once runs what is due.
func (s *stage) once() ([]Run, error) {
	s.o.Once = true
	return New(s.o).Run(s.t.Context(), s.t.Context())
}

// serve starts a daemon and returns it and what stops it.
func (s *stage) serve() (*Daemon, func()) {
	d := New(s.o)
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err := d.Run(ctx, context.WithoutCancel(ctx))
		assert.NoError(s.t, err)
	}()
	stop := sync.OnceFunc(func() { cancel(); <-ended })
	s.t.Cleanup(stop)
	return d, stop
}

func (s *stage) record(table string) Record {
	r, ok, err := s.states.States.Load(s.t.Context(), Key{Table: table})
	require.NoError(s.t, err)
	require.True(s.t, ok, table)
	return r
}

// eventually waits for something to be so.
func (s *stage) eventually(what string, is func() bool) {
	s.t.Helper()
	require.Eventually(s.t, is, 20*time.Second, time.Millisecond, what)
}

// flaky are states that fail as they are told, by table.
type flaky struct {
	States
	mu                 sync.Mutex
	failLoad, failSave map[string]error
}

func (f *flaky) fails(load, save map[string]error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failLoad, f.failSave = load, save
}

// Load implements States.
func (f *flaky) Load(ctx context.Context, k Key) (Record, bool, error) {
	f.mu.Lock()
	err := f.failLoad[k.Table]
	f.mu.Unlock()
	if err != nil {
		return Record{}, false, err
	}
	return f.States.Load(ctx, k)
}

// Save implements States.
func (f *flaky) Save(ctx context.Context, k Key, r Record) error {
	f.mu.Lock()
	err := f.failSave[k.Table]
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.States.Save(ctx, k, r)
}
