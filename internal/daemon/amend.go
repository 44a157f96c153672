package daemon

import "time"

// Skip tells the roster that a run did not take place because the table is blocked. What it was for stays due.
func (r *Roster) Skip(k Key, now time.Time, blocked Record) {
	if r.unbegin(k) {
		r.Block(k, now, blocked)
	}
}

// Adopt tells the roster that another daemon had made the run before it began, and puts what that one remembered in the
// place of what the roster knew.
func (r *Roster) Adopt(k Key, now time.Time, record Record) {
	if r.unbegin(k) {
		r.Replace(k, now, record)
	}
}

// unbegin takes back that a run began.
func (r *Roster) unbegin(k Key) bool {
	e := r.entries[k]
	if e == nil || !e.running {
		return false
	}
	e.running = false
	r.running[k.Catalog()]--
	return true
}

// Replace puts what is remembered of a key in the place of what the roster took for it, unless it is being worked on.
func (r *Roster) Replace(k Key, now time.Time, record Record) {
	if e := r.entries[k]; e != nil && !e.running {
		e.record = record
		r.plan(e, now)
	}
}

// Record returns what is remembered of a key.
func (r *Roster) Record(k Key) (Record, bool) {
	e := r.entries[k]
	if e == nil {
		return Record{}, false
	}
	return e.record, true
}

// Block pauses or halts a key as a record says, or leaves it alone because that cannot be read; with neither it is resumed.
func (r *Roster) Block(k Key, now time.Time, as Record) (Record, bool) {
	e := r.entries[k]
	if e == nil {
		return Record{}, false
	}
	if as.Blocked() == "" {
		e.record.Failures = 0
	}
	e.record.Unread, e.record.Ordered, e.record.Paused, e.record.Halted = as.Unread, as.Ordered, as.Paused, as.Halted
	r.plan(e, now)
	return e.record, true
}
