package daemon

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/robfig/cron/v3"
)

// Schedule says when a policy runs on a table.
type Schedule struct {
	cron   cron.Schedule
	zone   *time.Location
	fixed  bool // the hours are fixed ones of the wall clock
	delay  time.Duration
	window *config.Window
}

// NewSchedule makes the schedule of a policy for one table: its jitter depends on the name.
func NewSchedule(p *config.Policy, table string) (*Schedule, error) {
	c, err := cron.ParseStandard(p.Schedule)
	if err != nil {
		return nil, fmt.Errorf("policy %s: schedule %q: %w", p.Name, p.Schedule, err)
	}
	zone := time.UTC
	if p.Timezone != "" {
		if zone, err = time.LoadLocation(p.Timezone); err != nil {
			return nil, fmt.Errorf("policy %s: %w", p.Name, err)
		}
	}
	s := &Schedule{cron: c, zone: zone, fixed: fixedHours(p.Schedule), window: p.Window}
	if p.Jitter > 0 {
		h := fnv.New64a()
		_, _ = fmt.Fprintf(h, "%s\n%s", p.Name, table) // never fails
		s.delay = time.Duration(h.Sum64() % uint64(p.Jitter))
	}
	return s, nil
}

// fixedHours says whether a cron expression names hours of the day. A clock that is put forward or back must neither skip
// such a time nor make it come twice; one that names none goes by the time that has passed.
func fixedHours(expression string) bool {
	fields := strings.Fields(expression)
	switch {
	case len(fields) == 1:
		return expression != "@hourly" && !strings.HasPrefix(expression, "@every")
	case fields[0] == "@every":
		return false
	}
	return len(fields) > 1 && !strings.ContainsAny(fields[1], "*/")
}

// Slot returns the first scheduled time after a time, without jitter and window; the zero time when there is none.
func (s *Schedule) Slot(after time.Time) time.Time {
	if !s.fixed {
		return s.cron.Next(after.In(s.zone))
	}
	// The expression is read on a wall clock that is never put forward or back, and what it says is then looked up in the
	// real zone, where a time that is skipped is moved by the hour and one that comes twice is taken once.
	wall := onWall(after.In(s.zone), time.UTC)
	wall = wall.Add(-24 * time.Hour) // the same wall time may come again after one that is later
	for {
		if wall = s.cron.Next(wall); wall.IsZero() {
			return wall
		}
		if at := onWall(wall, s.zone); at.After(after) {
			return at
		}
	}
}

// onWall is the time at which clocks of another zone show what they show at t.
func onWall(t time.Time, zone *time.Location) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, zone)
}

// Due returns when the run of a slot may begin: after the delay of the table, inside the window.
func (s *Schedule) Due(slot time.Time) time.Time {
	return s.opens(slot.Add(s.delay))
}

// opens returns t, or when the window opens next after it.
func (s *Schedule) opens(t time.Time) time.Time {
	if s.Open(t) {
		return t
	}
	local := t.In(s.zone)
	for day := range 3 {
		at := time.Date(local.Year(), local.Month(), local.Day()+day, 0, int(s.window.Start), 0, 0, s.zone)
		if !at.Before(t) {
			return at
		}
	}
	return t
}

// Open says whether a run may begin at a time.
func (s *Schedule) Open(t time.Time) bool {
	if s.window == nil {
		return true
	}
	local := t.In(s.zone)
	minute := config.TimeOfDay(local.Hour()*60 + local.Minute())
	if s.window.Start < s.window.End {
		return s.window.Start <= minute && minute < s.window.End
	}
	return minute >= s.window.Start || minute < s.window.End
}

// Last returns the latest slot that is not after a time, going back no further than a time before it; that time when there
// is none in between.
func (s *Schedule) Last(since, now time.Time) time.Time {
	last := since
	for {
		next := s.Slot(last)
		if next.IsZero() || next.After(now) {
			return last
		}
		last = next
	}
}
