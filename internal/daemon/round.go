package daemon

import (
	"time"

	"github.com/dvcompactor/dvcompactor/config"
)

// round is what a policy has spent since a slot.
type round struct {
	slot    time.Time // of the policy's schedule, without the jitter of a table
	next    time.Time
	began   time.Time // of the first run, zero before it
	bytes   int64
	commits int
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
