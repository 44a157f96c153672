package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scrape returns the samples of our metrics by their name and labels.
func scrape(t *testing.T, m *Metrics) map[string]string {
	code, body, _ := ask(t, m.Handler(), http.MethodGet, "/metrics", http.Header{})
	require.Equal(t, http.StatusOK, code, body)
	out := map[string]string{}
	for line := range strings.Lines(body) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(name, "dvcompactor_") {
			out[name] = value
		}
	}
	return out
}

// names are those of the metrics without labels.
func names(samples map[string]string) []string {
	var out []string
	for sample := range samples {
		name, _, _ := strings.Cut(sample, "{")
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func newMetrics() *Metrics {
	m := NewMetrics("1.2.3")
	m.Expect(config.ActionCompact, config.ActionCheck)
	return m
}

func TestSeriesThatDoNotNeedATableAreThereFromTheFirstSecond(t *testing.T) {
	t.Parallel()
	got := scrape(t, newMetrics())
	for _, action := range []string{config.ActionCompact, config.ActionCheck} {
		for _, r := range Results() {
			assert.Equal(t, "0", got[fmt.Sprintf("dvcompactor_runs_total{action=%q,result=%q}", action, r)])
		}
		assert.Equal(t, "0", got[fmt.Sprintf("dvcompactor_run_duration_seconds_count{action=%q}", action)])
	}
	for _, op := range storage.Ops() {
		for _, name := range []string{"operations_total", "operation_failures_total", "operation_duration_seconds_count"} {
			assert.Equal(t, "0", got[fmt.Sprintf("dvcompactor_bucket_%s{op=%q}", name, op)])
		}
	}
	for _, name := range []string{"commit_conflicts_total", "commit_attempts_count", "files_dropped_by_conflict_total", "bytes_read_total", "bytes_written_total"} {
		assert.Equal(t, "0", got["dvcompactor_"+name], name)
	}
	assert.Equal(t, "1", got["dvcompactor_config_last_reload_successful"])
	assert.Equal(t, "1", got[`dvcompactor_build_info{version="1.2.3"}`])
}

func TestARunIsCounted(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	m.Observe(Run{Action: "compact", Result: ResultDone, Committed: true, Attempts: 3, Dropped: 2, Seconds: 5, stats: storage.Stats{BytesRead: 10, BytesWritten: 20}})
	m.Observe(Run{Action: "compact", Result: ResultConflict, Attempts: 4})
	got := scrape(t, m)
	assert.Equal(t, "1", got[`dvcompactor_runs_total{action="compact",result="done"}`])
	assert.Equal(t, "5", got[`dvcompactor_run_duration_seconds_sum{action="compact"}`])
	assert.Equal(t, "6", got["dvcompactor_commit_conflicts_total"], "two before the commit, and four in vain")
	assert.Equal(t, "3", got["dvcompactor_commit_attempts_sum"])
	assert.Equal(t, "1", got["dvcompactor_commit_attempts_count"])
	assert.Equal(t, "2", got["dvcompactor_files_dropped_by_conflict_total"])
	assert.Equal(t, "10", got["dvcompactor_bytes_read_total"])
	assert.Equal(t, "20", got["dvcompactor_bytes_written_total"])
	m.Reloaded(false)
	assert.Equal(t, "0", scrape(t, m)["dvcompactor_config_last_reload_successful"])
}

func TestARequestThatDoesNotFindAnObjectIsNoFailureOfTheStore(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	for _, err := range []error{nil, fs.ErrNotExist, storage.ErrExists, context.Canceled, fmt.Errorf("x: %w", fs.ErrNotExist), errors.New("503")} {
		m.Request(storage.OpGet, 2*time.Second, err)
	}
	got := scrape(t, m)
	assert.Equal(t, "6", got[`dvcompactor_bucket_operations_total{op="get"}`])
	assert.Equal(t, "1", got[`dvcompactor_bucket_operation_failures_total{op="get"}`])
	assert.Equal(t, "12", got[`dvcompactor_bucket_operation_duration_seconds_sum{op="get"}`])
}

// standingStatus is a status with one table that was compacted and checked.
func standingStatus() Status {
	counts := &maintenance.Counts{PositionDeleteFiles: 3, EqualityDeleteFiles: 1, DeletionVectors: 4, PuffinFiles: 2, DeletedRows: 99}
	began := time.Unix(1000, 0)
	return Status{Policies: []string{"p", "q", "unused"}, Tables: []State{
		{Key: Key{"c.db.t", false}, Policy: &config.Policy{Name: "p", Action: "compact"}, Next: time.Unix(7000, 0), Owed: time.Unix(6000, 0), Record: Record{Paused: "x", Runs: []Run{{Started: began, Result: ResultNothing, Before: counts}, {Started: time.Unix(2000, 0), Result: ResultFailed, Pending: 5, Before: counts}}}},
		{Key: Key{"c.db.t", true}, Policy: &config.Policy{Name: "q", Action: "check"}, Record: Record{Halted: "x", Runs: []Run{{Started: began, Result: ResultDamaged, Findings: map[string]int{"dv-corrupt": 5}}}}},
		{Key: Key{"c.db.u", false}, Policy: &config.Policy{Name: "p", Action: "compact"}, Next: time.Unix(6500, 0), Owed: time.Unix(6500, 0), Record: Record{Runs: []Run{{Started: time.Unix(500, 0), Committed: true, Result: ResultDone, After: counts}}}},
	}}
}

func TestATableHasItsSeriesByName(t *testing.T) {
	t.Parallel()
	m, status := newMetrics(), standingStatus()
	require.NoError(t, m.Tables(func() Status { return status }, true))
	got := scrape(t, m)
	for sample, want := range map[string]string{
		`unread{policy="p",table="c.db.t"}`: "0", `paused{policy="p",table="c.db.t"}`: "1", `halted{policy="p",table="c.db.t"}`: "0", `halted{policy="q",table="c.db.t"}`: "1",
		`last_success_timestamp_seconds{policy="p",table="c.db.t"}`: "1000", `next_run_timestamp_seconds{policy="p",table="c.db.t"}`: "7000",
		`run_owed_timestamp_seconds{policy="p",table="c.db.t"}`: "6000", `next_run_timestamp_seconds{policy="q",table="c.db.t"}`: "0", `delete_files{kind="position",policy="p",table="c.db.t"}`: "3",
		`delete_files{kind="equality",policy="p",table="c.db.t"}`: "1", `dv_blobs{policy="p",table="c.db.t"}`: "4", `puffin_files{policy="p",table="c.db.t"}`: "2",
		`deleted_rows{policy="p",table="c.db.t"}`: "99", `plan_pending_files{policy="p",table="c.db.t"}`: "5", `corrupt_dvs{issue="dv-corrupt",policy="q",table="c.db.t"}`: "5",
	} {
		assert.Equal(t, want, got["dvcompactor_"+sample], sample)
	}
	assert.Equal(t, "0", got[`dvcompactor_plan_pending_files{policy="p",table="c.db.u"}`], "what was done is not pending")
	status = Status{}
	for sample := range scrape(t, m) {
		assert.NotContains(t, sample, "table=", "a table that is gone has no series")
	}
}

func TestDamageInOnePartOfATableIsKnownUntilThatPartWasReadAgain(t *testing.T) {
	t.Parallel()
	began := time.Unix(0, 0)
	checked := func(days int, r Result, n int) Run {
		run := Run{Started: began.AddDate(0, 0, days), Result: r}
		if n > 0 {
			run.Findings = map[string]int{"dv-corrupt": n}
		}
		return run
	}
	runs := []Run{checked(0, ResultDamaged, 7), checked(1, ResultDamaged, 2), checked(2, ResultDone, 0), checked(3, ResultDone, 0), checked(4, ResultFailed, 0)}
	for _, c := range []struct {
		subset string
		want   map[string]int
	}{
		{"", map[string]int{}}, {"1/3", map[string]int{}}, {"33%", map[string]int{"dv-corrupt": 2}}, {"25%", map[string]int{"dv-corrupt": 7}}, {"50%", map[string]int{}},
	} {
		s := State{Policy: &config.Policy{Subset: c.subset}, Record: Record{Runs: runs}}
		assert.Equal(t, c.want, s.found(), c.subset)
	}
	s := State{Policy: &config.Policy{}, Record: Record{Runs: runs[:2]}}
	assert.Equal(t, map[string]int{"dv-corrupt": 2}, s.found())
}

func TestWithoutTheTableLabelThereAreSumsByPolicy(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	require.NoError(t, m.Tables(standingStatus, false))
	got := scrape(t, m)
	for sample, want := range map[string]string{
		`paused{policy="p"}`: "1", `dv_blobs{policy="p"}`: "8", `last_success_timestamp_seconds{policy="p"}`: "1000", `next_run_timestamp_seconds{policy="p"}`: "6500",
		`run_owed_timestamp_seconds{policy="p"}`: "6000", `run_owed_timestamp_seconds{policy="q"}`: "0", `unread{policy="unused"}`: "0", `halted{policy="unused"}`: "0", `paused{policy="unused"}`: "0",
	} {
		assert.Equal(t, want, got["dvcompactor_"+sample], sample)
	}
	for sample := range got {
		assert.NotContains(t, sample, "c.db.t")
	}
}

func TestNoMetricIsMissingAndNoneIsUndocumented(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	require.NoError(t, m.Tables(standingStatus, true))
	got := names(scrape(t, m))
	text, err := os.ReadFile(filepath.Join(testlake.Root(t), "docs", "daemon.md"))
	require.NoError(t, err)
	for _, name := range got {
		name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		assert.Contains(t, string(text), "`"+name+"`", "docs/daemon.md should describe it")
	}
	for _, name := range []string{
		"runs_total", "run_duration_seconds_bucket", "last_success_timestamp_seconds", "next_run_timestamp_seconds", "run_owed_timestamp_seconds", "unread", "halted", "paused", "commit_conflicts_total", "commit_attempts_bucket", "files_dropped_by_conflict_total",
		"delete_files", "puffin_files", "dv_blobs", "deleted_rows", "plan_pending_files", "bytes_read_total", "bytes_written_total", "corrupt_dvs", "bucket_operations_total",
		"bucket_operation_failures_total", "bucket_operation_duration_seconds_bucket", "config_last_reload_successful", "build_info",
	} {
		assert.Contains(t, got, "dvcompactor_"+name)
	}
}
