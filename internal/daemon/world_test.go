package daemon

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// world is a daemon without a clock: time goes from one event to the next.
type world struct {
	t        *testing.T
	now      time.Time
	wrong    time.Duration // by how much the clock of the daemon is wrong
	roster   *Roster
	settings config.Daemon
	policies []*config.Policy
	tables   []string
	saved    map[Key]Record
	ends     endings
	random   *rand.Rand
	begun    map[Key][]Job // every run
	outcome  func(Job) Run
	most     int // runs at once
}

// ending is a run that will end.
type ending struct {
	at    time.Time
	job   Job
	began time.Time // by the daemon's clock
}

type endings []ending

func (e endings) Len() int           { return len(e) }
func (e endings) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e endings) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(x any)        { *e = append(*e, x.(ending)) }
func (e *endings) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

func newWorld(t *testing.T, start time.Time, tables int, policies ...*config.Policy) *world {
	w := &world{
		t: t, now: start, settings: config.DefaultDaemon(), policies: policies, saved: map[Key]Record{}, begun: map[Key][]Job{},
		random: rand.New(rand.NewPCG(1, 2)),
	}
	w.outcome = func(j Job) Run { return Run{Result: ResultDone, Committed: true, Bytes: 1 << 20} }
	for i := range tables {
		w.tables = append(w.tables, fmt.Sprintf("c%d.db.t%05d", i%3, i))
	}
	w.restart()
	return w
}

// clock is what the daemon takes for the time.
func (w *world) clock() time.Time { return w.now.Add(w.wrong) }

// restart is a daemon that ends, with everything that it was doing, and one that begins.
func (w *world) restart() {
	w.ends = nil
	w.roster = NewRoster(w.settings, Shard{})
	w.fill()
}

func (w *world) fill() {
	fresh, err := w.roster.Set(w.clock(), w.tables, w.policyFor, func(k Key) (Record, bool) {
		r, ok := w.saved[k]
		return r, ok
	})
	require.NoError(w.t, err)
	for _, k := range fresh {
		w.saved[k], _ = w.roster.Record(k)
	}
}

// policyFor gives every table the first maintenance policy, and the first check.
func (w *world) policyFor(_ string, check bool) (*config.Policy, string) {
	for _, p := range w.policies {
		if (p.Action == config.ActionCheck) == check {
			return p, "the only one"
		}
	}
	return nil, ""
}

// until lets time go by, event after event.
func (w *world) until(end time.Time) {
	for {
		for _, j := range w.roster.Next(w.clock()) {
			w.begun[j.Key] = append(w.begun[j.Key], j)
			took := time.Duration(w.random.Int64N(int64(time.Minute)))
			heap.Push(&w.ends, ending{w.now.Add(took), j, w.clock()})
		}
		w.most = max(w.most, len(w.ends))
		next := end
		if wake := w.roster.Wake(w.clock()); !wake.IsZero() && wake.Add(-w.wrong).Before(next) {
			next = wake.Add(-w.wrong)
		}
		if len(w.ends) > 0 && w.ends[0].at.Before(next) {
			next = w.ends[0].at
		}
		if !next.After(w.now) && len(w.ends) == 0 && !w.now.Before(end) {
			return
		}
		w.now = maxTime(w.now, next)
		for len(w.ends) > 0 && !w.ends[0].at.After(w.now) {
			w.end(heap.Pop(&w.ends).(ending))
		}
		if !w.now.Before(end) {
			return
		}
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (w *world) end(e ending) {
	run := w.outcome(e.job)
	run.Started, run.Policy, run.Action = e.began, e.job.Policy.Name, e.job.Policy.Action
	if r, ok := w.roster.Done(e.job.Key, w.clock(), run); ok {
		w.saved[e.job.Key] = r
	}
}

// settle lets everything that runs come to its end, so that a restart interrupts nothing.
func (w *world) settle() {
	for len(w.ends) > 0 {
		e := heap.Pop(&w.ends).(ending)
		w.now = maxTime(w.now, e.at)
		w.end(e)
	}
}

func daily() *config.Policy {
	return &config.Policy{Name: "nightly", Action: config.ActionCompact, Schedule: "30 2 * * *", Timezone: berlin, Jitter: 10 * time.Minute}
}

func hourlyCheck() *config.Policy {
	return &config.Policy{Name: "look", Action: config.ActionCheck, Schedule: "0 */6 * * *", Timezone: berlin}
}

// eachOnce asserts that every key had one run for each slot of a time, and in time.
func (w *world) eachOnce(from, to time.Time) {
	for _, table := range w.tables {
		for _, check := range []bool{false, true} {
			p, _ := w.policyFor(table, check)
			if p == nil {
				continue
			}
			s, err := NewSchedule(p, table)
			require.NoError(w.t, err)
			var want []time.Time
			for slot := s.Slot(from); !slot.After(to); slot = s.Slot(slot) {
				want = append(want, slot.UTC())
			}
			var got []time.Time
			for _, j := range w.begun[Key{table, check}] {
				if !j.Slot.After(to) {
					got = append(got, j.Slot.UTC())
				}
			}
			if !assert.Equal(w.t, want, got, "%s check %v", table, check) {
				return
			}
		}
	}
}
