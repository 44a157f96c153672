package daemon

import (
	"cmp"
	"slices"
	"time"
)

// everEnded says whether a run of those that are remembered came to its end.
func (r *Record) everEnded() bool {
	return slices.ContainsFunc(r.Runs, func(run Run) bool { return run.Result.ended() })
}

// withoutTrail leaves out the last run if it has a result: of many attempts for one slot the last one is remembered.
func withoutTrail(runs []Run, result Result) []Run {
	if n := len(runs); n > 0 && runs[n-1].Result == result {
		return slices.Clone(runs[:n-1])
	}
	return runs
}

// sameRuns says whether no run came to its end between two records of a key.
func (r *Record) sameRuns(o Record) bool {
	a, b := r.last(), o.last()
	return r.Slot.Equal(o.Slot) && (a == nil) == (b == nil) && (a == nil || a.Started.Equal(b.Started))
}

// with adds what another daemon remembered of the key meanwhile: its runs, the later slot, a pause or halt.
func (r Record) with(stored Record, now time.Time) Record {
	if stored.Slot.After(r.Slot) && !stored.Slot.After(now.Add(backwards)) {
		r.Slot = stored.Slot
	}
	r.Ordered, r.Paused, r.Halted = stored.Ordered, cmp.Or(r.Paused, stored.Paused), cmp.Or(r.Halted, stored.Halted)
	all := slices.Clone(r.Runs)
	for _, run := range stored.Runs {
		if !slices.ContainsFunc(r.Runs, func(known Run) bool { return known.Started.Equal(run.Started) }) {
			all = append(all, run)
		}
	}
	slices.SortStableFunc(all, func(a, b Run) int { return a.Started.Compare(b.Started) })
	r.Runs = all[max(0, len(all)-maxRuns):]
	return r
}
