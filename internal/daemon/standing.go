package daemon

import (
	"slices"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
)

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
