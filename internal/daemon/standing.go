package daemon

import (
	"slices"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
)

// State is how a key stands.
type State struct {
	Key
	Policy *config.Policy
	Why    string // it is that policy
	Next   time.Time
	// Owed is when the first of the runs was due that none without a failure has made up for; it is Next when none is missing,
	// and the zero time when the key is blocked or never runs.
	Owed    time.Time
	Running bool
	Record  Record
}

// States returns how every key stands, sorted.
func (r *Roster) States() []State {
	out := make([]State, 0, len(r.entries))
	for _, e := range r.entries {
		s := State{Key: e.Key, Policy: e.policy, Why: e.why, Running: e.running, Record: e.record}
		if e.record.Blocked() == "" {
			s.Next, s.Owed = e.due, e.owed()
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b State) int { return a.Key.compare(b.Key) })
	return out
}

// owed is when the first run was due that none without a failure has made up for.
func (e *item) owed() time.Time {
	last := e.record.lastSuccess()
	switch {
	case e.due.IsZero():
		return time.Time{}
	case last != nil:
		return e.schedule.Due(e.schedule.Slot(last.Started))
	case len(e.record.Runs) > 0:
		return e.record.Runs[0].Started
	}
	return e.due
}

// Held returns the keys that are due but blocked.
func (r *Roster) Held(now time.Time) []State {
	var out []State
	for _, s := range r.States() {
		if e := r.entries[s.Key]; s.Record.Blocked() != "" && !e.due.IsZero() && !e.due.After(now) {
			out = append(out, s)
		}
	}
	return out
}

// found returns the damage that is known of a table by issue: that of the last check that came to its end. When each check
// reads a part of the table only, it is the most that one of a whole round found.
func (s *State) found() map[string]int {
	const day = 24 * time.Hour
	var round time.Duration
	if part, err := check.ParseSubset(s.Policy.Subset); err == nil && part.Index == 0 {
		round = time.Duration(part.Of)*day - day/2
	}
	out := map[string]int{}
	var newest time.Time
	for _, run := range slices.Backward(s.Record.Runs) {
		if run.Result != ResultDone && run.Result != ResultDamaged {
			continue
		}
		if newest.IsZero() {
			newest = run.Started
		} else if newest.Sub(run.Started) >= max(round, 1) {
			break
		}
		for issue, n := range run.Findings {
			out[issue] = max(out[issue], n)
		}
	}
	return out
}
