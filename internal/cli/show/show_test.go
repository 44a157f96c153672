package show

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/cli/document"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/golden"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/term"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/verify"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func p[T any](v T) *T { return &v }

func before() maintenance.Counts {
	return maintenance.Counts{PositionDeleteFiles: 1200, EqualityDeleteFiles: 3, DeletionVectors: 40, PuffinFiles: 40, DeleteManifests: 41, DeletedRows: 1234567, DeleteBytes: 3 << 20}
}

func after() maintenance.Counts {
	return maintenance.Counts{EqualityDeleteFiles: 3, DeletionVectors: 240, PuffinFiles: 1, DeleteManifests: 1, DeletedRows: 1234567, DeleteBytes: 40 << 10}
}

func committed() *maintenance.Report {
	return &maintenance.Report{
		Table: "prod.sales.orders", Ref: "main", Action: maintenance.Compact, SnapshotBefore: p(int64(1)), SnapshotAfter: p(int64(2)), Committed: true,
		Before: before(), After: after(), DigestBefore: strings.Repeat("ab", 32), DigestAfter: strings.Repeat("ab", 32), DataFiles: 240,
		Attempts: 3, Seconds: 12.34, Requests: storage.Stats{Gets: 100, RangeGets: 1500, Heads: 2, Puts: 5, Retries: 1, BytesRead: 5 << 20, BytesWritten: 60 << 10},
		Verification: maintenance.Verification{Checks: make([]verify.Check, 20), Requests: 9, Bytes: 70 << 10, Seconds: 0.25},
		Skipped:      skipped(), Dropped: []string{"s3://lake/a", "s3://lake/b", "s3://lake/c", "s3://lake/d", "s3://lake/e"},
	}
}

func skipped() []maintenance.Skip {
	out := []maintenance.Skip{
		{Reason: "path-near-miss", Location: "s3://lake/d.parquet", DataFile: "s3a://lake/f.parquet", Detail: "its records name s3a://lake/f.parquet, and s3://lake/f.parquet is live", Hint: "run check for the whole picture; repair mends it"},
	}
	for i := range 1500 {
		out = append(out, maintenance.Skip{Reason: "dv-sequence", DataFile: fmt.Sprintf("s3://lake/data/%04d.parquet", i), Location: "s3://lake/x.puffin",
			Detail: "the deletion vector's data sequence number 3 is below its data file's 4", Hint: "run check for the whole picture; repair mends it"})
	}
	return append(out, maintenance.Skip{Reason: "format-unreadable", Location: "s3://lake/evil\x1b[2J.orc", Detail: "position delete file in ORC", Hint: "it and every delete of the data files it may apply to stay live"})
}

func TestReports(t *testing.T) {
	idle := &maintenance.Report{Table: "prod.sales.orders", Ref: "main", Action: maintenance.Compact, SnapshotBefore: p(int64(1)), Before: after(), After: after()}
	upgraded := &maintenance.Report{Table: "prod.sales.orders", Ref: "audit", Action: maintenance.Migrate, SnapshotAfter: p(int64(2)), SnapshotBefore: p(int64(1)), Committed: true, UpgradedFormat: true, Before: before(), After: after(), Seconds: 1}
	different := &maintenance.Report{Table: "prod.sales.orders", Ref: "main", Action: maintenance.Compact, SnapshotAfter: p(int64(2)), SnapshotBefore: p(int64(1)), Committed: true, DigestBefore: "aa", DigestAfter: "bb", DataFiles: 1}
	for _, c := range []struct {
		name   string
		report *maintenance.Report
		err    error
	}{
		{"committed", committed(), nil},
		{"nothing-to-do", idle, nil},
		{"upgraded", upgraded, nil},
		{"refused", idle, exit.With(exit.Refused, errors.New("prod.sales.orders: migrating needs format version 3"))},
		{"conflicts", idle, fmt.Errorf("prod.sales.orders: %w after 10 attempts", maintenance.ErrConflicts)},
		{"unknown-outcome", idle, &catalog.CommitError{Outcome: catalog.ErrUnknown, Table: "prod.sales.orders", Err: errors.New("EOF")}},
		{"interrupted", idle, fmt.Errorf("stopped: %w", &exit.Signal{Signal: os.Interrupt})},
		{"verification-failed", different, maintenance.ErrVerify},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			require.NoError(t, Report(&out, term.Style{}, c.report, c.err))
			golden.Assert(t, "report-"+c.name+".txt", out.String())
		})
	}
}

func TestColoursChangeNothingElse(t *testing.T) {
	var plain, painted strings.Builder
	require.NoError(t, Report(&plain, term.Style{}, committed(), nil))
	require.NoError(t, Report(&painted, term.NewStyle(true), committed(), nil))
	assert.NotEqual(t, plain.String(), painted.String())
	assert.Equal(t, plain.String(), uncoloured(painted.String()))
}

func uncoloured(text string) string {
	for {
		before, rest, found := strings.Cut(text, "\x1b[")
		if !found {
			return text
		}
		_, after, _ := strings.Cut(rest, "m")
		text = before + after
	}
}

func plan() *maintenance.Plan {
	plan := &maintenance.Plan{
		Table: "prod.sales.orders", Ref: "main", Action: maintenance.Compact, PlanID: "0123456789abcdef", SnapshotBefore: p(int64(1)), FormatVersion: 3, Before: before(), Work: true, Settings: maintenance.Settings{Where: "day >= '2026-01-01'"}, TakenAlong: []string{"s3://lake/other/1"},
		Puffins: []maintenance.PuffinPlan{
			{Location: "a", DeletionVectors: 3, Bytes: 1000, DeadBytes: 500, Reason: "dead-bytes"}, {Location: "b", DeletionVectors: 1, Bytes: 2000, Reason: "small"},
			{Location: "c", DeletionVectors: 1, Bytes: 2000, Reason: "small"}, {Location: "d", DeletionVectors: 1, Bytes: 2000, Reason: "dangling"},
		},
		DanglingDVs: []string{"s3://lake/gone/1", "s3://lake/gone/2", "s3://lake/gone/3", "s3://lake/gone/4"}, Skipped: skipped()[:3],
		Manifests: []maintenance.ManifestPlan{{Manifests: 1200, Bytes: 10 << 20, After: 2}, {SpecID: 1, Manifests: 100, Bytes: 1 << 20, After: 1}},
		Forecast: maintenance.Forecast{
			Before: maintenance.Reading{DeleteEntries: 1240, Requests: 48_000, Bytes: 3 << 30, StoredBytes: 3 << 20}, After: maintenance.Reading{DeleteEntries: 141, Requests: 141, Bytes: 2 << 20, StoredBytes: 2 << 20},
		},
	}
	for i := range 14 {
		plan.Partitions = append(plan.Partitions, maintenance.PartitionPlan{SpecID: 1, Partition: fmt.Sprintf("day=2026-01-%02d", i+1), DataFiles: 10, PositionDeleteFiles: i % 5, Records: int64(1000 * i)})
	}
	plan.Partitions = append(plan.Partitions, maintenance.PartitionPlan{PositionDeleteFiles: 100, Records: 7, DataFiles: 1})
	return plan
}

func TestPlans(t *testing.T) {
	upgrade := &maintenance.Plan{Table: "prod.sales.orders", Ref: "main", Action: maintenance.Migrate, PlanID: "0123", FormatVersion: 2, UpgradeFormat: true, Work: true, Partitions: []maintenance.PartitionPlan{{PositionDeleteFiles: 1, Records: 1, DataFiles: 1}}}
	idle := &maintenance.Plan{Table: "prod.sales.orders", Ref: "main", Action: maintenance.Compact, PlanID: "0123", FormatVersion: 3}
	for _, c := range []struct {
		name   string
		plan   *maintenance.Plan
		policy *document.Policy
		err    error
	}{
		{"work", plan(), nil, nil},
		{"nothing-to-do", idle, nil, nil},
		{"upgrade", upgrade, nil, nil},
		{"policy-fires", upgrade, &document.Policy{Name: "nightly", Why: "policy nightly: prod.* matches", Fires: true, Trigger: "min_delete_files 1 >= 1"}, nil},
		{"policy-waits", upgrade, &document.Policy{Name: "nightly", Why: "policy nightly: prod.* matches", Trigger: "min_delete_files 1 < 100"}, nil},
		{"policy-none", idle, &document.Policy{Why: "no policy for maintenance takes it"}, nil},
		{"would-be-refused", idle, nil, exit.With(exit.Refused, errors.New("migrating needs format version 3"))},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			require.NoError(t, Plan(&out, term.Style{}, c.plan, c.policy, c.err))
			golden.Assert(t, "plan-"+c.name+".txt", out.String())
		})
	}
}

func TestFailureAndSkipped(t *testing.T) {
	var out strings.Builder
	require.NoError(t, Failure(&out, term.Style{}, "prod.sales.gone", exit.With(exit.NotFound, errors.New("no such table"))))
	require.NoError(t, Failure(&out, term.Style{}, "prod.sales.stale", maintenance.ErrStale))
	require.NoError(t, Skipped(&out, term.Style{}, "prod.sales.private", "its property dvcompactor.enabled is false"))
	golden.Assert(t, "failures.txt", out.String())
}

// broken fails after some bytes, as a pipe whose reader went away.
type broken struct{ left int }

func (b *broken) Write(data []byte) (int, error) {
	if len(data) > b.left {
		return 0, errors.New("broken pipe")
	}
	b.left -= len(data)
	return len(data), nil
}

func TestAFailureToWriteIsReturned(t *testing.T) {
	for left := 0; left < 500; left += 37 {
		require.Error(t, Report(&broken{left}, term.Style{}, committed(), nil))
		require.Error(t, Plan(&broken{left}, term.Style{}, plan(), nil, nil))
	}
}
