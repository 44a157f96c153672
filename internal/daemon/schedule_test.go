package daemon

import (
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const berlin = "Europe/Berlin"

func at(t *testing.T, text string) time.Time {
	out, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return out
}

func newSchedule(t *testing.T, p config.Policy) *Schedule {
	p.Name = "p"
	s, err := NewSchedule(&p, "c.db.t")
	require.NoError(t, err)
	return s
}

// slots returns the slots of some days from a time on.
func slots(s *Schedule, from time.Time, days int) (out []time.Time) {
	for t := s.Slot(from); t.Before(from.AddDate(0, 0, days)); t = s.Slot(t) {
		out = append(out, t)
	}
	return out
}

func TestAFixedHourComesOnceOnEveryDayAlsoWhenTheClockIsPutForwardOrBack(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{"30 2 * * *", "0 2 * * *", "59 2 * * *", "@daily", "30 1 * * *", "15 3 * * *"} {
		s := newSchedule(t, config.Policy{Schedule: expression, Timezone: berlin})
		got := slots(s, at(t, "2026-01-01T00:00:00+01:00").Add(-time.Second), 365)
		require.Len(t, got, 365, expression)
		for i := 1; i < len(got); i++ {
			gap := got[i].Sub(got[i-1])
			assert.GreaterOrEqual(t, gap, 22*time.Hour, "%s: %v", expression, got[i])
			assert.LessOrEqual(t, gap, 26*time.Hour, "%s: %v", expression, got[i])
		}
	}
}

func TestEveryHourIsEveryHourAlsoWhenTheClockIsPutForwardOrBack(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{"0 * * * *", "@hourly", "@every 1h", "30 */1 * * *"} {
		s := newSchedule(t, config.Policy{Schedule: expression, Timezone: berlin})
		for _, day := range []string{"2026-03-28T22:00:00Z", "2026-10-24T22:00:00Z"} {
			got := slots(s, at(t, day), 2)
			for i := 1; i < len(got); i++ {
				assert.Equal(t, time.Hour, got[i].Sub(got[i-1]), "%s: %v", expression, got[i])
			}
		}
	}
}

func TestARunBeginsInsideTheWindow(t *testing.T) {
	t.Parallel()
	night := &config.Window{Start: 22 * 60, End: 6 * 60}
	morning := &config.Window{Start: 2 * 60, End: 6 * 60}
	for _, c := range []struct {
		name   string
		window *config.Window
		slot   string
		want   string
	}{
		{"inside", morning, "2026-06-01T03:00:00Z", "2026-06-01T03:00:00Z"},
		{"before it opens", morning, "2026-06-01T00:30:00Z", "2026-06-01T02:00:00Z"},
		{"when it closes", morning, "2026-06-01T06:00:00Z", "2026-06-02T02:00:00Z"},
		{"over midnight, before", night, "2026-06-01T12:00:00Z", "2026-06-01T22:00:00Z"},
		{"over midnight, after", night, "2026-06-01T05:59:00Z", "2026-06-01T05:59:00Z"},
		{"no window", nil, "2026-06-01T12:00:00Z", "2026-06-01T12:00:00Z"},
	} {
		s := newSchedule(t, config.Policy{Schedule: "@hourly", Window: c.window})
		assert.Equal(t, at(t, c.want), s.Due(at(t, c.slot)).UTC(), c.name)
	}
}

func TestTheDelayOfATableIsAlwaysTheSameAndTablesAreSpread(t *testing.T) {
	t.Parallel()
	p := &config.Policy{Name: "p", Schedule: "@daily", Jitter: time.Hour}
	slot := at(t, "2026-06-01T00:00:00Z")
	seen := map[time.Duration]bool{}
	for i := range 100 {
		name := "c.db.t" + itoa(i)
		a, err := NewSchedule(p, name)
		require.NoError(t, err)
		b, err := NewSchedule(p, name)
		require.NoError(t, err)
		assert.Equal(t, a.Due(slot), b.Due(slot))
		delay := a.Due(slot).Sub(slot)
		assert.Less(t, delay, time.Hour)
		seen[delay.Truncate(6*time.Minute)] = true
	}
	assert.GreaterOrEqual(t, len(seen), 9)
}
