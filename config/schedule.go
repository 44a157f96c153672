package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Cron returns when the policy is due, in its time zone. It fails on a policy that no file could have brought, and where the
// time zone is not known.
//
// The clocks of a time zone change: a time that is skipped in spring does not come on that day, one that is repeated in
// autumn comes twice.
func (p *Policy) Cron() (cron.Schedule, error) {
	if err := checkTimezone(p.Timezone); err != nil {
		return nil, fmt.Errorf("policy %s: time zone %s: %w", p.Name, p.Timezone, err)
	}
	schedule, err := parseSchedule(p.Schedule, p.Timezone)
	if err != nil {
		return nil, fmt.Errorf("policy %s: schedule %s: %w", p.Name, p.Schedule, err)
	}
	return schedule, nil
}

// checkTimezone refuses what the database of time zones does not have. "Local" is none of its names.
func checkTimezone(name string) error {
	if _, err := time.LoadLocation(name); err != nil || name == "Local" {
		return errors.New("is not a time zone; write a name of the IANA database, for instance Europe/Berlin")
	}
	return nil
}

// parseSchedule reads a schedule in a time zone that is known; empty means UTC.
func parseSchedule(text, timezone string) (cron.Schedule, error) {
	if timezone == "" {
		timezone = time.UTC.String()
	}
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		return nil, errors.New("names a time zone; write it under timezone")
	}
	if every, ok := strings.CutPrefix(text, "@every "); ok {
		// The library makes a second of anything shorter.
		if d, err := time.ParseDuration(every); err != nil || d < time.Second {
			return nil, errors.New("is not @every and a duration of at least 1s, for instance @every 6h")
		}
	}
	schedule, err := cron.ParseStandard("CRON_TZ=" + timezone + " " + text)
	if err != nil {
		return nil, errors.New("is not a schedule; write minute, hour, day of month, month and day of week, for instance 15 2 * * *, or @daily, or @every 6h")
	}
	return schedule, nil
}

// aYear returns the times from which and up to which schedules are looked at. It is a leap year, and always the same one, so
// that what is right today is right tomorrow.
func aYear() (from, to time.Time) {
	from = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)
	return from, from.AddDate(1, 0, 0)
}

// fires says whether the schedule ever comes: the 31st of February does not.
func fires(schedule cron.Schedule) bool {
	from, _ := aYear()
	return !schedule.Next(from).IsZero()
}

// shortestInterval returns the least time between two times of a schedule, in UTC, where no change of clocks makes it
// shorter. It looks at a year at most, and at so many times that every day of a schedule that comes every minute is like
// those before. It is 0 when the schedule comes less than twice.
func shortestInterval(schedule cron.Schedule) time.Duration {
	const most = 10_000
	from, to := aYear()
	last := schedule.Next(from)
	shortest := time.Duration(0)
	for range most {
		next := schedule.Next(last)
		if next.IsZero() || next.After(to) {
			break
		}
		if d := next.Sub(last); shortest == 0 || d < shortest {
			shortest = d
		}
		last = next
	}
	return shortest
}
