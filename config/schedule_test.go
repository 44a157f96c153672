package config

import (
	"strings"
	"testing"
	"time"
)

func TestMistakesInSchedules(t *testing.T) {
	t.Parallel()
	scheduled := func(text, more string) string {
		return strings.Replace(policy(more), "'@daily'", "'"+text+"'", 1)
	}
	const form = "is not a schedule; write minute, hour, day of month, month and day of week, for instance 15 2 * * *, or @daily, or @every 6h"
	const every = "is not @every and a duration of at least 1s, for instance @every 6h"
	checkMistakes(t, []mistake{
		{"a time", scheduled("02:15", ""), []string{"f:6: policies[0].schedule: " + form + " (got 02:15)"}},
		{"seconds", scheduled("0 15 2 * * *", ""), []string{"f:6: policies[0].schedule: " + form + " (got 0 15 2 * * *)"}},
		{"an hour too many", scheduled("0 24 * * *", ""), []string{"f:6: policies[0].schedule: " + form + " (got 0 24 * * *)"}},
		{"an event", scheduled("@reboot", ""), []string{"f:6: policies[0].schedule: " + form + " (got @reboot)"}},
		{"nothing", scheduled("", ""), []string{"f:6: policies[0].schedule: is empty; write for instance 15 2 * * *, or @daily"}},
		{"white space", scheduled(" ", ""), []string{"f:6: policies[0].schedule: " + form + " (got  )"}},
		{"a time zone", scheduled("TZ=UTC", ""), []string{"f:6: policies[0].schedule: names a time zone; write it under timezone (got TZ=UTC)"}},
		{"another way to name one", scheduled("CRON_TZ=UTC 15 2 * * *", ""), []string{"f:6: policies[0].schedule: names a time zone; write it under timezone (got CRON_TZ=UTC 15 2 * * *)"}},
		{"every moment", scheduled("@every 1ms", ""), []string{"f:6: policies[0].schedule: " + every + " (got @every 1ms)"}},
		{"every something", scheduled("@every day", ""), []string{"f:6: policies[0].schedule: " + every + " (got @every day)"}},
		{"a day that does not exist", scheduled("0 0 31 2 *", ", jitter: 1h"), []string{"f:6: policies[0].schedule: never comes: there is no such day (got 0 0 31 2 *)"}},
		{"an unknown time zone", policy(", timezone: Middle/Earth"), []string{"f:6: policies[0].timezone: is not a time zone; write a name of the IANA database, for instance Europe/Berlin (got Middle/Earth)"}},
		{"the time zone of the machine", policy(", timezone: Local"), []string{"f:6: policies[0].timezone: is not a time zone; write a name of the IANA database, for instance Europe/Berlin (got Local)"}},
		{"jitter as long as a day", policy(", jitter: 24h"), []string{"f:6: policies[0].jitter: must be shorter than the time between two runs, which is 24h0m0s (got 24h0m0s)"}},
		{"jitter longer than the shortest of pauses", scheduled("0,50 3 * * *", ", jitter: 11h"), []string{"f:6: policies[0].jitter: must be shorter than the time between two runs, which is 50m0s (got 11h0m0s)"}},
		{"jitter longer than every", scheduled("@every 90m", ", jitter: 2h"), []string{"f:6: policies[0].jitter: must be shorter than the time between two runs, which is 1h30m0s (got 2h0m0s)"}},
		{"a window without an end", policy(", window: {start: '02:00'}"), []string{"f:6: policies[0].window.end: is missing; write a time of day, for instance 02:30"}},
		{"a window that is a time", policy(", window: {start: 2am, end: 3:00, stop: 1}"), []string{
			"f:6: policies[0].window.start: is not a time of day; write for instance 02:30 (got 2am)",
			"f:6: policies[0].window.end: is not a time of day; write for instance 02:30 (got 3:00)",
			"f:6: policies[0].window.stop: is not a known key here; known are start, end",
		}},
		{"a window of no time", policy(", window: {start: '02:00', end: '02:00'}"), []string{"f:6: policies[0].window: ends when it starts; leave it out for the whole day (got 02:00)"}},
		{"a window from the end of the day", policy(", window: {start: '24:00', end: '02:00'}"), []string{"f:6: policies[0].window.start: is the end of the day; write 00:00 (got 24:00)"}},
	})
}

func TestSchedulesThatLookWrongButAreNot(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"schedule: 0 0 29 2 *, jitter: 24h",                              // comes in leap years
		"schedule: 15 2 * * *, timezone: Europe/Berlin, jitter: 23h",     // comes twice in the night in which the clocks go back
		"schedule: '*/2 * * * *', jitter: 119s",                          // comes so often that not all of a year is looked at
		"schedule: '@yearly', timezone: America/Sao_Paulo, jitter: 900h", // comes once in the year that is looked at
		"schedule: '@every 1s'",
	} {
		text = minimal("policies: [{name: p, tables: [c.*], action: compact, " + text + "}]\n")
		if _, err := Parse("f", []byte(text), nil); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAPolicyIsDueInItsTimeZone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schedule, timezone, after, want string }{
		{"15 2 * * *", "", "2026-07-01T00:00:00Z", "2026-07-01T02:15:00Z 2026-07-02T02:15:00Z"},
		{"15 2 * * *", "Europe/Berlin", "2026-07-01T00:15:00Z", "2026-07-02T00:15:00Z 2026-07-03T00:15:00Z"},
		{"15 2 * * *", "Europe/Berlin", "2026-03-28T20:00:00Z", "2026-03-30T00:15:00Z 2026-03-31T00:15:00Z"}, // no 02:15 on the 29th
		{"15 2 * * *", "Europe/Berlin", "2026-10-24T20:00:00Z", "2026-10-25T00:15:00Z 2026-10-25T01:15:00Z"}, // and two on the 25th
		{"@daily", "Asia/Kolkata", "2026-07-01T00:00:00Z", "2026-07-01T18:30:00Z 2026-07-02T18:30:00Z"},
		{"@every 90m", "Asia/Kolkata", "2026-07-01T00:00:00Z", "2026-07-01T01:30:00Z 2026-07-01T03:00:00Z"},
	} {
		p := &Policy{Schedule: tt.schedule, Timezone: tt.timezone}
		schedule, err := p.Cron()
		if err != nil {
			t.Fatal(err)
		}
		after, err := time.Parse(time.RFC3339, tt.after)
		if err != nil {
			t.Fatal(err)
		}
		first := schedule.Next(after)
		got := first.Format(time.RFC3339) + " " + schedule.Next(first).Format(time.RFC3339)
		if got != tt.want {
			t.Errorf("%s in %s after %s: got %s", tt.schedule, tt.timezone, tt.after, got)
		}
	}
}

func TestAPolicyThatNoFileBringsIsNeverDue(t *testing.T) {
	t.Parallel()
	for _, p := range []Policy{{}, {Schedule: "daily"}, {Schedule: "@daily", Timezone: "Local"}, {Schedule: "TZ=UTC @daily"}} {
		p.Name = "wrong-one"
		if _, err := p.Cron(); err == nil || !strings.Contains(err.Error(), "policy wrong-one: ") {
			t.Errorf("%+v: got %v", p, err)
		}
	}
}

func TestTimesOfDay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]TimeOfDay{"00:00": 0, "00:01": 1, "02:30": 150, "23:59": 1439, "24:00": 1440} {
		got, err := ParseTimeOfDay(text)
		if got != want || err != nil || got.String() != text {
			t.Errorf("%s: got %d, %s, %v", text, got, got, err)
		}
	}
	for _, text := range []string{"", "2:30", "02:60", "24:01", "02:30:00", "02.30", "-2:30", "25:00", "02:3", "1:300"} {
		if got, err := ParseTimeOfDay(text); err == nil {
			t.Errorf("%q: got %s", text, got)
		}
	}
}
