package daemon

import (
	"cmp"
	"container/heap"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
)

// Key names what is scheduled: the maintenance of a table, or its check.
type Key struct {
	Table string `json:"table"` // catalog.namespace.table
	Check bool   `json:"check"`
}

// Catalog is the first part of the table's name.
func (k Key) Catalog() string {
	name, _, _ := strings.Cut(k.Table, ".")
	return name
}

func (k Key) compare(o Key) int {
	return cmp.Or(strings.Compare(k.Table, o.Table), b2i(k.Check)-b2i(o.Check))
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Record is what is remembered of a key across restarts.
type Record struct {
	// Slot is the scheduled time that the last run was for; before the first run the time at which the table was first seen.
	Slot time.Time `json:"slot"`
	// Failures in a row.
	Failures int `json:"failures,omitempty"`
	// Halted says why the table is left alone until an operator resumes it: a safety check refused.
	Halted string `json:"halted,omitempty"`
	// Paused says why the table is left alone until an operator resumes it: it was asked for, or failed too often.
	Paused string `json:"paused,omitempty"`
	Runs   []Run  `json:"runs,omitempty"` // newest last
}

// Blocked says why nothing is run, or nothing.
func (r *Record) Blocked() string { return cmp.Or(r.Halted, r.Paused) }

// Job is a run that may begin.
type Job struct {
	Key
	Policy *config.Policy
	Slot   time.Time // that it is for; an earlier one when several were missed
	Due    time.Time // when it could have begun
}

// PolicyFor finds the policy of a table and says why it is that one.
type PolicyFor func(table string, check bool) (*config.Policy, string)

// Roster knows what is due. It is not safe for concurrent use.
type Roster struct {
	Parallelism, PerCatalog int
	Failures                int           // in a row, after which a table is paused
	Shard                   Shard         // which tables are ours
	entries                 map[Key]*item // of all tables that have a policy
	queue                   queue         // of items by when they are due
	waiting                 []*item       // that are due, those first that waited longest
	running                 map[string]int
	rounds                  map[string]*round // by policy
}

// Shard is part Index of Of, from 1. The zero value is everything.
type Shard struct{ Index, Of uint64 }

// Has says whether a table is in the shard. It goes by a hash of the name, so that new tables do not move others.
func (s Shard) Has(table string) bool {
	if s.Of <= 1 {
		return true
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(table)) // never fails
	sum := h.Sum64()
	return (sum^sum>>32)%s.Of == s.Index-1
}

// item is a key on the roster.
type item struct {
	Key
	record   Record
	policy   *config.Policy
	why      string // it is that policy
	schedule *Schedule
	slot     time.Time // next one to run for
	due      time.Time
	running  bool
}

// round is what a policy has spent since a slot.
type round struct {
	slot    time.Time // of the policy's schedule, without the jitter of a table
	next    time.Time
	began   time.Time // of the first run, zero before it
	bytes   int64
	commits int
}

// NewRoster returns an empty roster.
func NewRoster(o config.Daemon, shard Shard) *Roster {
	return &Roster{
		Parallelism: o.Parallelism, PerCatalog: o.ParallelismPerCatalog, Failures: o.Failures, Shard: shard,
		entries: map[Key]*item{}, running: map[string]int{}, rounds: map[string]*round{},
	}
}

// Set tells the roster which tables there are and what is remembered of them. Tables that are gone are forgotten, unless
// they are being worked on. It returns the keys that are new and about which known says nothing.
func (r *Roster) Set(now time.Time, tables []string, policyFor PolicyFor, known func(Key) (Record, bool)) ([]Key, error) {
	var fresh []Key
	seen := map[Key]bool{}
	for _, table := range tables {
		if !r.Shard.Has(table) {
			continue
		}
		for _, check := range []bool{false, true} {
			k := Key{table, check}
			p, why := policyFor(table, check)
			if p == nil {
				continue
			}
			seen[k] = true
			e := r.entries[k]
			if e == nil {
				e = &item{Key: k}
				var ok bool
				if e.record, ok = known(k); !ok {
					e.record.Slot = now
					fresh = append(fresh, k)
				}
				r.entries[k] = e
			}
			if err := r.assign(e, p, why, now); err != nil {
				return fresh, err
			}
		}
	}
	maps.DeleteFunc(r.entries, func(k Key, e *item) bool { return !seen[k] && !e.running })
	return fresh, nil
}

// assign gives an item its policy, which may be another one after the configuration changed. A run that was due stays due.
func (r *Roster) assign(e *item, p *config.Policy, why string, now time.Time) error {
	e.why = why
	if e.policy == p {
		return nil
	}
	s, err := NewSchedule(p, e.Table)
	if err != nil {
		return err
	}
	e.policy, e.schedule = p, s
	r.plan(e, now)
	return nil
}

// backwards is how far a clock may be put back without anybody taking a slot that was run for a mistake.
const backwards = 2 * time.Hour

// plan finds the next slot of an item and queues it. A slot in the far future is the mistake of a clock that was wrong once.
func (r *Roster) plan(e *item, now time.Time) {
	if e.record.Slot.After(now.Add(backwards)) {
		e.record.Slot = now
	}
	e.slot, e.due = e.schedule.Slot(e.record.Slot), time.Time{}
	if e.slot.IsZero() {
		return
	}
	e.due = e.schedule.Due(e.slot)
	heap.Push(&r.queue, queued{e.due, e})
}

// idle says whether an item waits for its time, or its turn.
func (e *item) idle() bool { return !e.running && e.record.Blocked() == "" && !e.due.IsZero() }

// wait moves what is due by now from the queue to those that wait for their turn.
func (r *Roster) wait(now time.Time) {
	for len(r.queue) > 0 && !r.queue[0].due.After(now) {
		q := heap.Pop(&r.queue).(queued)
		if e := q.item; q.due.Equal(e.due) && e.idle() && r.entries[e.Key] == e {
			i, found := slices.BinarySearchFunc(r.waiting, e, compareItems)
			if !found {
				r.waiting = slices.Insert(r.waiting, i, e)
			}
		}
	}
}

// compareItems puts those first whose last run is longest ago.
func compareItems(a, b *item) int {
	return cmp.Or(a.ran().Compare(b.ran()), a.due.Compare(b.due), a.Key.compare(b.Key))
}

// ran is when the last run began; before the first one the time at which the table was first seen.
func (e *item) ran() time.Time {
	if last := e.record.last(); last != nil {
		return last.Started
	}
	return e.record.Slot
}

// queued is an item and when it was due when it was queued. It counts only as long as that is the same.
type queued struct {
	due  time.Time
	item *item
}

// queue is a heap.
type queue []queued

// Len implements heap.Interface.
func (q queue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q queue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }

// Swap implements heap.Interface.
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *queue) Push(x any) { *q = append(*q, x.(queued)) }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

// Next returns the runs that may begin now, those that waited longest first, as many as the limits allow. They count as
// running until [Roster.Done].
func (r *Roster) Next(now time.Time) []Job {
	r.wait(now)
	var out []Job
	total := r.total()
	kept := r.waiting[:0]
	for i, e := range r.waiting {
		if total >= r.Parallelism {
			kept = append(kept, r.waiting[i:]...)
			break
		}
		switch {
		case !e.idle() || e.due.After(now) || r.entries[e.Key] != e: // it waits no more
		case r.running[e.Catalog()] >= r.PerCatalog || !e.schedule.Open(now) || r.spent(e, now):
			kept = append(kept, e)
		default:
			out = append(out, r.begin(e, now))
			total++
		}
	}
	clear(r.waiting[len(kept):])
	r.waiting = kept
	return out
}

// begin makes the run of an item.
func (r *Roster) begin(e *item, now time.Time) Job {
	r.running[e.Catalog()]++
	e.running = true
	if round := r.round(e, now); round.began.IsZero() {
		round.began = now
	}
	return Job{Key: e.Key, Policy: e.policy, Slot: e.slot, Due: e.due}
}

func (r *Roster) total() (n int) {
	for _, running := range r.running {
		n += running
	}
	return n
}

// Done tells the roster how a run went, and returns what is to be remembered.
func (r *Roster) Done(k Key, now time.Time, run Run) (Record, bool) {
	e := r.entries[k]
	if e == nil || !e.running {
		return Record{}, false
	}
	e.running = false
	r.running[k.Catalog()]--
	round := r.round(e, now)
	round.bytes += run.Bytes
	if run.Committed {
		round.commits++
	}
	e.record.Slot = e.schedule.Last(e.slot, run.Started) // several missed ones are made up for once
	e.record.judge(run, r.Failures)
	r.plan(e, now)
	return e.record, true
}

// maxRuns is how many runs are remembered of each table.
const maxRuns = 50

// judge notes a run and what follows from it.
func (r *Record) judge(run Run, limit int) {
	r.Runs = append(r.Runs, run)
	if n := len(r.Runs); n > maxRuns {
		r.Runs = slices.Clone(r.Runs[n-maxRuns:])
	}
	switch run.Result {
	case ResultHalted:
		r.Halted = run.Error
	case ResultFailed:
		if r.Failures++; limit > 0 && r.Failures >= limit {
			r.Paused = "it failed " + plural(r.Failures) + " in a row, last with: " + run.Error
		}
	case ResultLocked, ResultInterrupted:
	default:
		r.Failures = 0
	}
}

func plural(n int) string {
	if n == 1 {
		return "once"
	}
	return itoa(n) + " times"
}

// Record returns what is remembered of a key.
func (r *Roster) Record(k Key) (Record, bool) {
	e := r.entries[k]
	if e == nil {
		return Record{}, false
	}
	return e.record, true
}

// Block pauses or halts a key, or with neither resumes it.
func (r *Roster) Block(k Key, now time.Time, paused, halted string) (Record, bool) {
	e := r.entries[k]
	if e == nil {
		return Record{}, false
	}
	if paused == "" && halted == "" {
		e.record.Failures = 0
	}
	e.record.Paused, e.record.Halted = paused, halted
	r.plan(e, now)
	return e.record, true
}

// Wake returns when there may be something to do that [Roster.Next] does not return now; the zero time for never.
func (r *Roster) Wake(now time.Time) time.Time {
	r.wait(now)
	var first time.Time
	if len(r.queue) > 0 {
		first = r.queue[0].due
	}
	if r.total() >= r.Parallelism {
		return first // the end of a run comes first
	}
	for _, e := range r.waiting {
		var at time.Time
		switch {
		case !e.idle():
		case !e.schedule.Open(now):
			at = e.schedule.opens(now)
		case r.spent(e, now):
			at = r.round(e, now).next
		}
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// round returns what the policy of an item has spent in the round of a time.
func (r *Roster) round(e *item, now time.Time) *round {
	old := r.rounds[e.policy.Name]
	if old != nil && (old.next.IsZero() || now.Before(old.next)) && !now.Before(old.slot) {
		return old
	}
	slot := e.schedule.Last(now.Add(-longestRound), now)
	fresh := &round{slot: slot, next: e.schedule.Slot(now)}
	r.rounds[e.policy.Name] = fresh
	return fresh
}

// longestRound is how far back the beginning of a round is looked for.
const longestRound = 48 * time.Hour

// spent says whether the budget of an item's policy is used up. What is left over is for the next round.
func (r *Roster) spent(e *item, now time.Time) bool {
	b := e.policy.Budget
	if b == (config.Budget{}) {
		return false
	}
	round := r.round(e, now)
	return b.Bytes > 0 && round.bytes >= int64(b.Bytes) || b.Commits > 0 && round.commits >= b.Commits ||
		b.Duration > 0 && !round.began.IsZero() && now.Sub(round.began) >= b.Duration
}

// State is how a key stands.
type State struct {
	Key
	Policy  *config.Policy
	Why     string // it is that policy
	Next    time.Time
	Running bool
	Record  Record
}

// States returns how every key stands, sorted.
func (r *Roster) States() []State {
	out := make([]State, 0, len(r.entries))
	for _, e := range r.entries {
		s := State{Key: e.Key, Policy: e.policy, Why: e.why, Running: e.running, Record: e.record}
		if e.record.Blocked() == "" {
			s.Next = e.due
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b State) int { return a.Key.compare(b.Key) })
	return out
}
