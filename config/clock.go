package config

import (
	"errors"
	"fmt"
	"time"
)

const (
	minutesOfAnHour = int(time.Hour / time.Minute)
	minutesOfADay   = TimeOfDay(24 * minutesOfAnHour)
)

// ParseTimeOfDay reads a time of day from 00:00 to 24:00.
func ParseTimeOfDay(text string) (TimeOfDay, error) {
	const endOfDay = "24:00"
	if text == endOfDay {
		return minutesOfADay, nil
	}
	clock, err := time.Parse("15:04", text)
	if err != nil || len(text) != len(endOfDay) {
		return 0, errors.New("is not a time of day; write for instance 02:30")
	}
	return TimeOfDay(clock.Hour()*minutesOfAnHour + clock.Minute()), nil
}

// String returns the time so that [ParseTimeOfDay] gives it back.
func (t TimeOfDay) String() string {
	return fmt.Sprintf("%02d:%02d", int(t)/minutesOfAnHour, int(t)%minutesOfAnHour)
}

// MarshalYAML implements yaml.Marshaler.
func (t TimeOfDay) MarshalYAML() (any, error) { return t.String(), nil }

// window reads the window of a policy; absent is nil.
func (m *mapping) window(key string) *Window {
	inner := m.mapping(key)
	if !m.has(key) {
		return nil
	}
	start, okStart := inner.timeOfDay("start")
	end, okEnd := inner.timeOfDay("end")
	inner.finish()
	switch {
	case start == minutesOfADay:
		inner.fail("start", "is the end of the day; write 00:00", start.String())
	case start == end && okStart && okEnd:
		m.fail(key, "ends when it starts; leave it out for the whole day", start.String())
	}
	return &Window{Start: start, End: end}
}

// timeOfDay returns the time under a key, which must be there, and whether it could be read.
func (m *mapping) timeOfDay(key string) (TimeOfDay, bool) {
	s := m.required(key, "write a time of day, for instance 02:30")
	if !s.set {
		return 0, false
	}
	t, err := ParseTimeOfDay(s.text)
	if err != nil {
		m.fail(key, err.Error(), s.shown())
	}
	return t, err == nil
}

// duration returns the duration under a key, or otherwise when it is absent.
func (m *mapping) duration(key string, otherwise time.Duration) time.Duration {
	return m.durationFrom(1, key, "must be a positive duration, for instance 100ms or 5s", otherwise)
}

// durationFrom returns the duration under a key, which is at least that long. reason says so.
func (m *mapping) durationFrom(least time.Duration, key, reason string, otherwise time.Duration) time.Duration {
	s := m.scalar(key)
	if !s.set {
		return otherwise
	}
	d, err := time.ParseDuration(s.text)
	if err != nil || d < least {
		m.fail(key, reason, s.shown())
		return otherwise
	}
	return d
}
