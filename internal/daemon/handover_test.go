package daemon

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestATableThatAnotherDaemonWorksOnIsTriedAgainSoonAndRememberedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, at(t, "2026-06-01T12:00:00Z"), 1, daily())
	free := at(t, "2026-06-02T00:55:00Z") // half an hour after the table was due
	w.outcome = func(Job) Run {
		if w.now.Before(free) {
			return Run{Result: ResultLocked}
		}
		return Run{Result: ResultDone}
	}
	w.until(at(t, "2026-06-02T12:00:00Z"))
	k := Key{Table: w.tables[0]}
	r, ok := w.roster.Record(k)
	require.True(t, ok)
	require.Len(t, r.Runs, 1)
	assert.Equal(t, ResultDone, r.Runs[0].Result)
	assert.Greater(t, len(w.begun[k]), 10)
	assert.WithinDuration(t, free, r.Runs[0].Started, lockedPause+time.Minute)
	for _, j := range w.begun[k] {
		assert.Equal(t, w.begun[k][0].Slot, j.Slot)
	}
	w.until(at(t, "2026-06-03T12:00:00Z"))
	r, _ = w.roster.Record(k)
	assert.Len(t, r.Runs, 2, "and the next night once")
}

func TestARunThatAStoppedDaemonBrokeOffIsMadeByTheNextOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, at(t, "2026-06-01T12:00:00Z"), 5, daily())
	w.outcome = func(Job) Run { return Run{Result: ResultInterrupted} }
	w.until(at(t, "2026-06-02T00:36:00Z"))
	w.settle()
	w.outcome = func(Job) Run { return Run{Result: ResultDone} }
	w.restart()
	w.until(at(t, "2026-06-02T12:00:00Z"))
	for _, table := range w.tables {
		r, ok := w.roster.Record(Key{Table: table})
		require.True(t, ok)
		require.NotEmpty(t, r.Runs)
		assert.Equal(t, ResultDone, r.Runs[len(r.Runs)-1].Result, table)
	}
}

func TestServeOnceMakesTheFirstRunOfATableAgainThatWasBrokenOff(t *testing.T) {
	t.Parallel()
	s := newStage(t, config.Policy{Name: "p", Tables: []string{"*"}, Action: config.ActionCompact, Schedule: "0 0 29 2 *"})
	s.states.States = NewMemory()
	for _, result := range []Result{ResultInterrupted, ResultLocked, ResultDone} {
		s.runs(func(context.Context, Job) Run { return Run{Result: result} })
		runs, err := s.once()
		require.NoError(t, err)
		assert.Len(t, runs, 2, result)
	}
	runs, err := s.once()
	require.NoError(t, err)
	assert.Empty(t, runs)
}

func TestARunThatAnotherDaemonMadeMeanwhileIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	slow, fast := New(s.o), New(s.o)
	require.NoError(t, slow.discover(t.Context()))
	require.NoError(t, fast.discover(t.Context()))
	ended := make(chan struct{}, 2)
	for _, d := range []*Daemon{fast, slow} {
		require.Equal(t, 2, d.begin(t.Context(), ended, nil))
		<-ended
		<-ended
	}
	assert.Equal(t, 1, s.times("c.db.a"))
	assert.Equal(t, 1, s.times("c.db.b"))
	assert.Equal(t, fast.Status().Tables[0].Record, slow.Status().Tables[0].Record, "who did not run it knows of it")
	assert.False(t, slow.Status().Tables[0].Running)
	assert.Len(t, s.record("c.db.a").Runs, 1)
}

func TestALeaseOfSomebodyElseChangesNothingOfWhatIsRemembered(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	before := s.record("c.db.a")
	s.runs(func(context.Context, Job) Run { return Run{Result: ResultLocked} })
	_, err := s.once()
	require.NoError(t, err)
	assert.Equal(t, 1, s.times("c.db.a"))
	assert.Equal(t, before, s.record("c.db.a"))
}

func TestANewTableIsRememberedAtOnceSoThatItsFirstRunIsNotMissedByARestart(t *testing.T) {
	t.Parallel()
	s := newStage(t, config.Policy{Name: "p", Tables: []string{"*"}, Action: config.ActionCompact, Schedule: "15 2 * * *"})
	memory := NewMemory()
	s.states.States = memory
	now := at(t, "2026-06-01T12:00:00Z")
	s.o.Now = func() time.Time { return now }
	require.NoError(t, memory.Save(t.Context(), Key{Table: "c.db.b"}, Record{Failures: 1}))
	first := New(s.o)
	require.NoError(t, first.discover(t.Context()))
	assert.Equal(t, now, s.record("c.db.a").Slot)
	assert.Equal(t, 1, s.record("c.db.b").Failures)
	now = at(t, "2026-06-02T02:20:00Z") // it was away at 02:15
	again := New(s.o)
	require.NoError(t, again.discover(t.Context()))
	assert.True(t, again.Status().Tables[0].Next.Before(now))
}

func TestWhenATableWasFirstSeenTakesThePlaceOfNothing(t *testing.T) {
	t.Parallel()
	for name, states := range map[string]States{"memory": NewMemory(), "objects": NewObjects(openStore(t), t.TempDir())} {
		k := Key{Table: "c.db.t"}
		seen := Record{Slot: at(t, "2026-06-01T12:00:00Z"), first: true}
		require.NoError(t, states.Save(t.Context(), k, seen), name)
		r, ok, err := states.Load(t.Context(), k)
		require.NoError(t, err, name)
		require.True(t, ok, name)
		assert.True(t, seen.Slot.Equal(r.Slot), name)
		require.NoError(t, states.Save(t.Context(), k, Record{Halted: "odd"}), name)
		require.NoError(t, states.Save(t.Context(), k, seen), name)
		r, _, err = states.Load(t.Context(), k)
		require.NoError(t, err, name)
		assert.Equal(t, "odd", r.Halted, name)
	}
}

func TestANewTableThatCannotBeRememberedIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, config.Policy{Name: "p", Tables: []string{"*"}, Action: config.ActionCompact, Schedule: "0 0 29 2 *"})
	s.states.States = NewMemory()
	s.states.fails(nil, map[string]error{"c.db.a": errors.New("no space left on device")})
	s.serve()
	s.eventually("it is said", func() bool { return s.log.FilterMessage("tables are not remembered yet").Len() > 0 })
	s.states.fails(nil, nil)
	s.eventually("it is remembered", func() bool {
		_, ok, err := s.states.Load(t.Context(), Key{Table: "c.db.a"})
		return err == nil && ok
	})
}

func TestARunThatHadNotBegunWhenTheDaemonStoppedIsNoUnreadableState(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	d := New(s.o)
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, d.discover(ctx))
	jobs := d.roster.Next(time.Now())
	require.Len(t, jobs, 2)
	cancel()
	s.states.fails(map[string]error{"c.db.a": context.Canceled}, nil)
	run := d.one(ctx, jobs[0], 0)
	assert.Equal(t, ResultInterrupted, run.Result)
	assert.Zero(t, s.times("c.db.a"))
}

func TestAHaltThatCouldNotBeRememberedHoldsAndIsRememberedWhenThereIsSpace(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.states.fails(nil, map[string]error{"c.db.a": errors.New("no space left on device")})
	s.runs(func(context.Context, Job) Run { return Run{Result: ResultHalted, Error: "odd"} })
	d, stop := s.serve()
	s.eventually("it was tried again", func() bool { return s.log.FilterMessage("tables are not remembered yet").Len() > 2 })
	assert.Equal(t, "odd", d.Status().Tables[0].Record.Halted)
	assert.Empty(t, s.record("c.db.a").Runs)
	s.states.fails(nil, nil)
	s.eventually("it is remembered", func() bool { return s.record("c.db.a").Halted == "odd" })
	stop()
	assert.Equal(t, 1, s.times("c.db.a"))
	assert.Len(t, s.record("c.db.a").Runs, 1)
}

func TestWhatAnotherDaemonRememberedDuringARunIsKept(t *testing.T) {
	t.Parallel()
	s := newStage(t, config.Policy{Name: "p", Tables: []string{"c.db.a"}, Action: config.ActionCompact, Schedule: "@daily"})
	later := time.Now().Add(time.Minute)
	s.runs(func(ctx context.Context, j Job) Run {
		other := Record{Slot: later, Halted: "odd", Runs: []Run{{Started: time.Now().Add(-time.Hour), Result: ResultHalted, Error: "odd"}}}
		assert.NoError(t, s.states.Save(ctx, j.Key, other))
		return Run{Result: ResultInterrupted}
	})
	_, err := s.once()
	require.NoError(t, err)
	r := s.record("c.db.a")
	assert.Equal(t, "odd", r.Halted)
	assert.True(t, later.Equal(r.Slot), "what it has done is not due again")
	require.Len(t, r.Runs, 2)
	assert.Equal(t, ResultHalted, r.Runs[0].Result)
	assert.Equal(t, ResultInterrupted, r.Runs[1].Result)
}
