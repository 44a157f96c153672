package daemon

import (
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestARunIsOwedFromWhenItWasDueUntilOneWithoutAFailure(t *testing.T) {
	t.Parallel()
	at := func(day, hour int) time.Time { return time.Date(2026, 6, day, hour, 0, 0, 0, time.UTC) }
	run := func(day int, r Result) Run { return Run{Started: at(day, 2), Result: r} }
	for name, c := range map[string]struct {
		record Record
		owed   time.Time
	}{
		"before the first run the next one is":            {Record{Slot: at(4, 12)}, at(5, 2)},
		"after a success the next one is":                 {Record{Slot: at(5, 2), Runs: []Run{run(5, ResultDone)}}, at(6, 2)},
		"nothing to do is a success":                      {Record{Slot: at(5, 2), Runs: []Run{run(5, ResultNothing)}}, at(6, 2)},
		"a failure makes nothing good":                    {Record{Slot: at(5, 2), Runs: []Run{run(3, ResultDone), run(4, ResultFailed), run(5, ResultConflict)}}, at(4, 2)},
		"when all failed the first that is remembered is": {Record{Slot: at(5, 2), Runs: []Run{run(4, ResultFailed), run(5, ResultLocked)}}, at(4, 2)},
		"a paused table owes nothing":                     {Record{Slot: at(4, 2), Paused: "x", Runs: []Run{run(3, ResultFailed)}}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := NewRoster(config.DefaultDaemon(), Shard{})
			policy := &config.Policy{Name: "nightly", Action: config.ActionCompact, Schedule: "0 2 * * *"}
			only := func(_ string, check bool) (*config.Policy, string) {
				if check {
					return nil, ""
				}
				return policy, ""
			}
			_, err := r.Set(at(5, 12), []string{"c.db.t"}, only, func(Key) (Record, bool) { return c.record, true })
			require.NoError(t, err)
			states := r.States()
			require.Len(t, states, 1)
			assert.Equal(t, c.owed, states[0].Owed)
		})
	}
}
