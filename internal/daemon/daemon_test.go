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

var errAway = errors.New("connection refused by postgres://user:hunter2@db/x")

func TestOnceRunsWhatIsDueOrWasNeverRunAndTheSecondTimeNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, config.Policy{Name: "p", Tables: []string{"*"}, Action: config.ActionCompact, Schedule: "0 0 29 2 *"})
	s.states.States = NewMemory() // nothing was ever run
	runs, err := s.once()
	require.NoError(t, err)
	assert.Len(t, runs, 2, "whatever the schedule says")
	runs, err = s.once()
	require.NoError(t, err)
	assert.Empty(t, runs)
}

func TestAPauseThatComesDuringARunIsKept(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.runs(func(ctx context.Context, j Job) Run {
		assert.NoError(t, s.states.Order(ctx, j.Key, "moving house"))
		return Run{Result: ResultDone}
	})
	runs, err := s.once()
	require.NoError(t, err)
	require.Len(t, runs, 2)
	r := s.record("c.db.a")
	assert.Equal(t, "moving house", r.Pause())
	assert.Len(t, r.Runs, 1, "and the run is remembered")
}

func TestAPausedTableIsNotRunUntilItIsResumedAndThenWhatWasMissedHappensOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	require.NoError(t, s.states.Order(t.Context(), Key{Table: "c.db.a"}, "moving house"))
	d, stop := s.serve()
	s.eventually("b runs", func() bool { return s.times("c.db.b") == 1 })
	assert.Equal(t, "moving house", d.Status().Tables[0].Record.Pause())
	assert.Zero(t, s.times("c.db.a"))
	require.NoError(t, s.states.Order(t.Context(), Key{Table: "c.db.a"}, ""))
	s.eventually("a runs", func() bool { return s.times("c.db.a") > 0 })
	stop()
	assert.Equal(t, 1, s.times("c.db.a"))
}

func TestAPauseThatADaemonHasNotSeenIsObeyedBeforeTheRun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.o.Once = true
	d := New(s.o)
	require.NoError(t, d.discover(t.Context()))
	require.NoError(t, s.states.Order(t.Context(), Key{Table: "c.db.a"}, "moving house"))
	ended := make(chan struct{}, 2)
	require.Equal(t, 2, d.begin(t.Context(), ended, nil))
	<-ended
	<-ended
	assert.Zero(t, s.times("c.db.a"))
	held := 0
	for _, run := range d.runs() {
		if run.Held() {
			held++
			assert.Equal(t, "moving house", run.Error)
		}
	}
	assert.Equal(t, 1, held)
}

func TestACatalogThatDoesNotAnswerHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.o.Catalogs = []string{"silent", "gone", "c"}
	s.away["gone"] = errAway
	list := s.o.List
	s.o.List = func(ctx context.Context, catalog string) ([]string, error) {
		if catalog == "silent" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return list(ctx, catalog)
	}
	d, stop := s.serve()
	s.eventually("tables of the third catalog run", func() bool { return s.times("c.db.a") == 1 && s.times("c.db.b") == 1 })
	status := d.Status()
	assert.True(t, status.Ready)
	assert.Contains(t, status.Missing["gone"], "connection refused")
	assert.NotContains(t, status.Missing["gone"], "hunter2")
	stop()
}

func TestADaemonThatFindsNoCatalogAtItsStartWaitsForOne(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.away["c"] = errAway
	d, _ := s.serve()
	s.eventually("it is noticed", func() bool { return d.Status().Missing["c"] != "" })
	assert.False(t, d.Status().Ready)
	s.set(func() { delete(s.away, "c") })
	s.eventually("a runs", func() bool { return s.times("c.db.a") == 1 })
	assert.True(t, d.Status().Ready)
	s.set(func() { s.away["c"] = errAway })
	s.eventually("it is noticed again", func() bool { return d.Status().Missing["c"] != "" })
	assert.Len(t, d.Status().Tables, 2, "the tables are kept")
	_, err := s.once()
	require.ErrorIs(t, err, errAway)
}

func TestTablesThatComeAndGoAreNoticed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	d, _ := s.serve()
	s.eventually("both run", func() bool { return s.times("c.db.a")+s.times("c.db.b") == 2 })
	s.seen("c.db.new")
	s.set(func() { s.tables["c"] = []string{"c.db.new"} })
	s.eventually("the new one runs", func() bool { return s.times("c.db.new") == 1 })
	s.eventually("the others are forgotten", func() bool { return len(d.Status().Tables) == 1 })
}

func TestANewConfigurationIsInEffectAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, config.Policy{Name: "p", Tables: []string{"c.db.a"}, Action: config.ActionCompact, Schedule: "@daily"})
	s.config.Daemon.Discovery = time.Hour
	d, _ := s.serve()
	s.eventually("a runs", func() bool { return s.times("c.db.a") == 1 })
	assert.Zero(t, s.times("c.db.b"))
	other := *s.config
	other.Policies = []config.Policy{{Name: "q", Tables: []string{"c.db.b"}, Action: config.ActionCompact, Schedule: "@daily"}}
	d.Reload(&other)
	d.Reload(&other)
	s.eventually("b runs", func() bool { return s.times("c.db.b") == 1 })
	s.eventually("a has no policy", func() bool { return len(d.Status().Tables) == 1 && d.Status().Tables[0].Policy.Name == "q" })
}

func TestADaemonThatIsToldToStopEndsWhatItDoesAndBeginsNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.config.Daemon.Parallelism = 1
	begun := make(chan struct{}, 2)
	s.runs(func(ctx context.Context, _ Job) Run {
		begun <- struct{}{}
		<-ctx.Done()
		return Run{Result: ResultInterrupted, Error: ctx.Err().Error()}
	})
	d, stop := s.serve()
	<-begun
	stop()
	assert.Equal(t, 1, s.times("c.db.a")+s.times("c.db.b"))
	assert.True(t, d.Status().Stopping)
	assert.False(t, d.Status().Ready)
	assert.True(t, d.Status().Healthy)
	first := s.record("c.db.a")
	if s.times("c.db.b") == 1 {
		first = s.record("c.db.b")
	}
	require.Len(t, first.Runs, 1)
	assert.Zero(t, first.Failures, "it is not the table's fault")
}

func TestADaemonDoesNotWaitLongerThanItsGrace(t *testing.T) {
	t.Parallel()
	for name, abort := range map[string]bool{"grace": false, "abort": true} {
		s := newStage(t)
		s.config.Daemon.Grace = time.Millisecond
		if abort {
			s.config.Daemon.Grace = time.Hour
		}
		stuck, begun := make(chan struct{}), make(chan struct{}, 2)
		s.runs(func(context.Context, Job) Run {
			begun <- struct{}{}
			<-stuck
			return Run{Result: ResultInterrupted}
		})
		ctx, cancel := context.WithCancel(t.Context())
		aborted, end := context.WithCancel(t.Context())
		if abort {
			end()
		}
		d := New(s.o)
		go func() { <-begun; <-begun; cancel() }()
		_, err := d.Run(ctx, aborted)
		require.ErrorContains(t, err, "with 2 tables being worked on", name)
		close(stuck)
		end()
	}
}

func TestARunThatCannotBeRememberedIsSaidAndOthersGoOn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.states.fails(nil, map[string]error{"c.db.a": errors.New("no space left on device")})
	_, err := s.once()
	require.NoError(t, err)
	assert.Len(t, s.record("c.db.b").Runs, 1)
	lines := s.log.FilterMessage("the run is not remembered yet").All()
	require.Len(t, lines, 1)
	assert.Equal(t, "c.db.a", lines[0].ContextMap()["table"])
	assert.Contains(t, lines[0].ContextMap()["error"], "no space left")
}

func TestEveryRunHasOneLineInTheLog(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.runs(func(context.Context, Job) Run { return Run{Result: ResultFailed, Error: "poison"} })
	_, err := s.once()
	require.NoError(t, err)
	lines := s.log.FilterMessage("run finished").All()
	require.Len(t, lines, 2)
	assert.Equal(t, "poison", lines[0].ContextMap()["error"])
	assert.Equal(t, "error", lines[0].Level.String())
}
