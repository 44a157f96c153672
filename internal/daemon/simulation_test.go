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
	_, err := w.roster.Set(w.clock(), w.tables, w.policyFor, func(k Key) (Record, bool) {
		r, ok := w.saved[k]
		return r, ok
	})
	require.NoError(w.t, err)
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

func TestFiveThousandTablesHaveEachRunOnceThroughRestartsReloadsAndDaylightSaving(t *testing.T) {
	t.Parallel()
	start := at(t, "2026-10-23T12:00:00Z") // the clock is put back on the 25th
	w := newWorld(t, start, 5000, daily(), hourlyCheck())
	w.settings.Parallelism, w.settings.ParallelismPerCatalog = 200, 100
	w.restart()
	end := start.AddDate(0, 0, 4)
	for i := 0; w.now.Before(end); i++ {
		w.until(w.now.Add(7*time.Hour + 11*time.Minute))
		switch i % 3 {
		case 0:
			w.settle()
			w.restart()
		case 1: // the same configuration, read again
			w.policies = []*config.Policy{daily(), hourlyCheck()}
			w.fill()
		}
	}
	w.until(w.now.Add(time.Hour))
	w.settle()
	w.eachOnce(start, w.now.Add(-2*time.Hour).Truncate(time.Hour))
	assert.LessOrEqual(t, w.most, 200)
}

func TestARunThatWasMissedHappensOnceWhenTheDaemonIsBack(t *testing.T) {
	t.Parallel()
	start := at(t, "2026-06-01T12:00:00Z")
	w := newWorld(t, start, 3, daily())
	w.until(start.AddDate(0, 0, 1))
	w.settle()
	w.now = start.AddDate(0, 0, 5) // away for four nights
	w.restart()
	w.until(w.now.Add(time.Hour))
	for k, jobs := range w.begun {
		assert.Len(t, jobs, 2, "%v: one night, and one for all that were missed", k)
	}
}

func TestAClockThatIsPutBackRunsNothingTwice(t *testing.T) {
	t.Parallel()
	start := at(t, "2026-06-01T12:00:00Z")
	w := newWorld(t, start, 10, daily())
	w.until(at(t, "2026-06-02T01:00:00Z"))
	w.settle()
	w.wrong = -90 * time.Minute
	w.restart()
	w.until(at(t, "2026-06-02T12:00:00Z"))
	for k, jobs := range w.begun {
		assert.Len(t, jobs, 1, "%v", k)
	}
}

func TestAClockThatWasFarAheadForAWhileMissesNothingAfterwards(t *testing.T) {
	t.Parallel()
	start := at(t, "2026-06-01T12:00:00Z")
	w := newWorld(t, start, 10, daily())
	w.wrong = 30 * 24 * time.Hour
	w.until(start.Add(time.Hour))
	w.settle()
	w.wrong = 0
	w.restart()
	w.begun = map[Key][]Job{}
	w.until(start.AddDate(0, 0, 3))
	for _, table := range w.tables {
		assert.Len(t, w.begun[Key{Table: table}], 3, table)
	}
}

func TestATableThatAlwaysFailsIsPausedAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	start := at(t, "2026-06-01T12:00:00Z")
	w := newWorld(t, start, 50, &config.Policy{Name: "p", Action: config.ActionCompact, Schedule: "@hourly"})
	bad := w.tables[7]
	w.outcome = func(j Job) Run {
		if j.Table == bad {
			return Run{Result: ResultFailed, Error: "poison"}
		}
		return Run{Result: ResultDone}
	}
	w.until(start.AddDate(0, 0, 1))
	assert.Len(t, w.begun[Key{Table: bad}], 3)
	r, ok := w.roster.Record(Key{Table: bad})
	require.True(t, ok)
	assert.Equal(t, "it failed 3 times in a row, last with: poison", r.Paused)
	assert.InDelta(t, 24, len(w.begun[Key{Table: w.tables[8]}]), 1)
	w.outcome = func(Job) Run { return Run{Result: ResultDone} }
	_, ok = w.roster.Block(Key{Table: bad}, w.now, "", "")
	require.True(t, ok)
	w.until(w.now.Add(2 * time.Hour))
	assert.Len(t, w.begun[Key{Table: bad}], 5, "what was missed once, and the next hour")
}

func TestWhoWaitedLongestComesFirst(t *testing.T) {
	t.Parallel()
	start := at(t, "2026-06-01T12:00:00Z")
	w := newWorld(t, start, 300, &config.Policy{Name: "p", Action: config.ActionCompact, Schedule: "@hourly"})
	w.settings.Parallelism, w.settings.ParallelismPerCatalog = 1, 1
	w.restart()
	w.until(start.AddDate(0, 0, 2))
	for _, table := range w.tables {
		n := len(w.begun[Key{Table: table}])
		assert.InDelta(t, len(w.begun[Key{Table: w.tables[0]}]), n, 1, table)
	}
}

func TestABudgetIsKeptAndWhatIsLeftOverComesFirstInTheNextRound(t *testing.T) {
	t.Parallel()
	start := at(t, "2026-06-01T12:00:00Z")
	w := newWorld(t, start, 10, &config.Policy{Name: "p", Action: config.ActionCompact, Schedule: "0 2 * * *", Budget: config.Budget{Commits: 4}})
	w.settings.Parallelism, w.settings.ParallelismPerCatalog = 1, 1
	w.restart()
	for night := range 5 {
		w.until(start.AddDate(0, 0, night+1))
		total := 0
		for _, jobs := range w.begun {
			total += len(jobs)
		}
		assert.Equal(t, 4*(night+1), total, "night %d", night)
	}
	for _, table := range w.tables {
		assert.Len(t, w.begun[Key{Table: table}], 2, table)
	}
}

func TestNoCatalogGetsMoreRunsAtOnceThanItMay(t *testing.T) {
	t.Parallel()
	start := at(t, "2026-06-01T12:00:00Z")
	w := newWorld(t, start, 60, &config.Policy{Name: "p", Action: config.ActionCompact, Schedule: "@hourly"})
	w.settings.Parallelism, w.settings.ParallelismPerCatalog = 5, 2
	w.restart()
	jobs := w.roster.Next(start.Add(2 * time.Hour))
	byCatalog := map[string]int{}
	for _, j := range jobs {
		byCatalog[j.Catalog()]++
	}
	assert.Len(t, jobs, 5)
	for name, n := range byCatalog {
		assert.LessOrEqual(t, n, 2, name)
	}
}

func TestShardsShareTheTables(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for i := range uint64(3) {
		w := newWorld(t, at(t, "2026-06-01T12:00:00Z"), 100, daily())
		w.roster = NewRoster(w.settings, Shard{Index: i + 1, Of: 3})
		w.fill()
		for _, s := range w.roster.States() {
			seen[s.Table]++
		}
	}
	assert.Len(t, seen, 100)
	for table, n := range seen {
		assert.Equal(t, 1, n, table)
	}
}
