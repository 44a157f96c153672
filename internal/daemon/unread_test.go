package daemon

import (
	"context"
	"testing"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestATableWhoseStateCannotBeReadIsLeftAloneAndOthersAreNot(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.states.fails(map[string]error{"c.db.a": errAway}, nil)
	runs, err := s.once()
	require.ErrorIs(t, err, errAway)
	require.ErrorContains(t, err, "c.db.a is left alone")
	assert.Len(t, runs, 1)
	assert.Equal(t, 0, s.times("c.db.a"))
	assert.Equal(t, 1, s.times("c.db.b"))
}

func TestAStateThatCanBeReadAgainFreesItsTable(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.states.fails(map[string]error{"c.db.a": errAway}, nil)
	d, stop := s.serve()
	s.eventually("b runs", func() bool { return s.times("c.db.b") == 1 })
	s.eventually("a is unread", func() bool { return len(d.Status().Tables) == 2 && d.Status().Tables[0].Record.Unread != "" })
	assert.NotContains(t, d.Status().Tables[0].Record.Unread, "hunter2")
	assert.True(t, d.Status().Ready, "there is something to work on")
	assert.Zero(t, s.times("c.db.a"))
	s.states.fails(nil, nil)
	s.eventually("a runs", func() bool { return s.times("c.db.a") == 1 })
	stop()
	r := s.record("c.db.a")
	assert.Empty(t, r.Blocked())
	assert.Len(t, r.Runs, 1)
}

func TestADaemonThatCanReadNothingOfWhatIsRememberedSaysSoAndIsNotReadyBeforeItCan(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.states.fails(map[string]error{"c.db.a": errAway, "c.db.b": errAway}, nil)
	d, _ := s.serve()
	require.NoError(t, s.o.Metrics.Tables(d.Status, true))
	series := func(name string) string {
		return scrape(t, s.o.Metrics)["dvcompactor_"+name+`{policy="p",table="c.db.a"}`]
	}
	s.eventually("both are known", func() bool { return len(d.Status().Tables) == 2 })
	assert.False(t, d.Status().Ready)
	assert.Equal(t, "1", series("unread"))
	assert.Equal(t, "0", series("halted"), "no safety check refused")
	doc := d.Status().Document("")
	assert.Contains(t, doc.Tables[0].Unread, "connection refused")
	assert.Empty(t, doc.Tables[0].Halted)
	s.states.fails(nil, nil)
	s.eventually("it is ready", func() bool { return d.Status().Ready })
	s.eventually("a runs", func() bool { return s.times("c.db.a") == 1 })
	assert.Equal(t, "0", series("unread"))
}

// silent are states that do not answer before they are told to.
type silent struct {
	States
	asked, told chan struct{}
}

// Load implements States.
func (s silent) Load(ctx context.Context, k Key) (Record, bool, error) {
	nudge(s.asked)
	select {
	case <-s.told:
		return s.States.Load(ctx, k)
	case <-ctx.Done():
		return Record{}, false, ctx.Err()
	}
}

func TestADaemonIsNotReadyWhileWhatIsRememberedIsStillBeingRead(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	states := silent{s.o.States, make(chan struct{}, 1), make(chan struct{})}
	s.o.States = states
	d, _ := s.serve()
	<-states.asked
	assert.False(t, d.Status().Ready)
	close(states.told)
	s.eventually("it is ready", func() bool { return d.Status().Ready })
	assert.Len(t, d.Status().Tables, 2)
}

func TestAStateThatCannotBeReadJustBeforeARunIsNotWrittenOver(t *testing.T) {
	t.Parallel()
	s := newStage(t, config.Policy{Name: "p", Tables: []string{"c.db.a"}, Action: config.ActionCompact, Schedule: "@daily"})
	s.o.Once = true
	d := New(s.o)
	require.NoError(t, d.discover(t.Context()))
	before := s.record("c.db.a")
	s.states.fails(map[string]error{"c.db.a": errAway}, nil)
	ended := make(chan struct{}, 1)
	require.Equal(t, 1, d.begin(t.Context(), ended, nil))
	<-ended
	assert.Zero(t, s.times("c.db.a"))
	assert.Equal(t, before, s.record("c.db.a"))
	assert.NotEmpty(t, d.Status().Tables[0].Record.Unread)
}
