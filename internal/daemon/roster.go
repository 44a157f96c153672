package daemon

import (
	"cmp"
	"container/heap"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
)

// Job is a run that may begin.
type Job struct {
	Key
	Policy *config.Policy
	Slot   time.Time // that it is for; an earlier one when several were missed
	Due    time.Time // when it could have begun

	schedule *Schedule
	first    bool // it is due because the table was never run
	// taken returns what another daemon remembers that has made the run, else nil. Nobody else can make it while the lease of
	// the table is held. Nil for a job that is not of a daemon.
	taken func(ctx context.Context) *Record
}

// made says whether the run was made by another daemon, by what is remembered of the table now.
func (j Job) made(now time.Time, known Record) bool {
	if known.Slot.After(now.Add(backwards)) || j.first && !known.everEnded() {
		return false
	}
	next := j.schedule.Slot(known.Slot)
	return next.IsZero() || j.schedule.Due(next).After(now)
}

// PolicyFor finds the policy of a table and says why it is that one.
type PolicyFor func(table string, check bool) (*config.Policy, string)

// Roster knows what is due. It is not safe for concurrent use.
type Roster struct {
	Parallelism, PerCatalog int
	Failures                int           // in a row, after which a table is paused
	Shard                   Shard         // which tables are ours
	Eager                   bool          // what was never run is due at once, and not at its next scheduled time
	entries                 map[Key]*item // of all tables that have a policy
	queue                   queue         // of items by when they are due
	waiting                 []*item       // that are due, those first that waited longest
	running                 map[string]int
	rounds                  map[string]*round // by policy
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
			e, isFresh := r.entry(k, known)
			if isFresh {
				fresh = append(fresh, k)
			}
			if err := r.assign(e, p, why, now); err != nil {
				return fresh, err
			}
		}
	}
	maps.DeleteFunc(r.entries, func(k Key, e *item) bool { return !seen[k] && !e.running })
	return fresh, nil
}

// entry returns the item of a key, made of what is remembered when it is new, and whether nothing is.
func (r *Roster) entry(k Key, known func(Key) (Record, bool)) (*item, bool) {
	if e := r.entries[k]; e != nil {
		return e, false
	}
	e := &item{Key: k}
	var ok bool
	e.record, ok = known(k)
	r.entries[k] = e
	return e, !ok
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
	never := e.record.Slot.IsZero()
	if never || e.record.Slot.After(now.Add(backwards)) {
		e.record.Slot = now
	}
	e.slot, e.due = e.schedule.Slot(e.record.Slot), time.Time{}
	if r.Eager && !e.record.everEnded() {
		e.slot = now
	}
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
	return Job{Key: e.Key, Policy: e.policy, Slot: e.slot, Due: e.due, schedule: e.schedule, first: r.Eager && !e.record.everEnded()}
}

func (r *Roster) total() (n int) {
	for _, running := range r.running {
		n += running
	}
	return n
}

// Done tells the roster how a run went, and returns what is to be remembered. What a run was for that did not come to its
// end stays due.
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
	if !run.Result.ended() {
		e.record.Runs = withoutTrail(e.record.Runs, run.Result)
		e.record.judge(run, r.Failures)
		r.postpone(e, now)
		return e.record, true
	}
	e.record.Slot = e.schedule.Last(e.slot, run.Started) // several missed ones are made up for once
	e.record.Runs = withoutTrail(e.record.Runs, ResultLocked)
	e.record.judge(run, r.Failures)
	r.plan(e, now)
	return e.record, true
}

// lockedPause is how long after it was not made to its end a run is tried again: as often as a lease is renewed.
const lockedPause = leaseTTL / 4

// postpone makes an item due again after a while.
func (r *Roster) postpone(e *item, now time.Time) {
	e.due = e.schedule.opens(now.Add(lockedPause))
	heap.Push(&r.queue, queued{e.due, e})
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
