package show

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/cli/golden"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/term"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/maintenance/repair"
	"github.com/dvcompactor/dvcompactor/maintenance/verify"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// repaired is a dry run on five data files, one of them unreadable today, with two that only move.
func repaired() *repair.Report {
	r := &repair.Report{
		Table: "prod.sales.orders", Ref: "main", Action: repair.Action, PlanID: "0123456789abcdef", SnapshotBefore: p(int64(1)), Operation: "delete",
		Before: before(), After: before(), Seconds: 0.5, Requests: storage.Stats{Gets: 10, Retries: 1, BytesRead: 5 << 20},
		Removed: []repair.Removed{
			{Location: "s3://lake/a.puffin", Offset: p(int64(4)), Length: p(int64(50)), DataFile: "s3://lake/0.parquet", Records: 5}, {Location: "s3://lake/b.parquet", Records: 3},
			{Location: "s3://lake/c.parquet"}, {Location: "s3://lake/d.parquet"}, {Location: "s3://lake/e.parquet"},
		},
		RollBack: "CALL CATALOG.system.rollback_to_snapshot('sales.orders', 1)",
	}
	for i := range 5 {
		r.DataFiles = append(r.DataFiles, repair.DataFile{
			Path: fmt.Sprintf("s3://lake/data/%d.parquet", i), Issues: []string{"dv-incomplete", "dv-partition"}, Repair: check.Fix, Before: p(int64(1000 * i)), After: int64(1234 * i),
			Sources: []string{"the deletion vector at 4+50 of s3://lake/a.puffin (7 positions)", "position delete files that apply (1,234 positions)"},
		})
	}
	r.DataFiles[0].Before, r.DataFiles[1].Path = nil, "s3://lake/evil\x1b[2J.parquet"
	for range 2 {
		r.DataFiles = append(r.DataFiles, repair.DataFile{Path: "s3://lake/moved.parquet", Issues: []string{}, Repair: check.Safe, Before: p(int64(3)), After: 3})
	}
	r.Findings = []check.Finding{{Issue: "dv-incomplete", Repair: check.Fix}, {Issue: "dv-partition", Repair: check.Fix}}
	return r
}

// mended is the same, done, with a tag and a copy.
func mended() *repair.Report {
	r := repaired()
	r.Applied, r.Committed, r.SnapshotAfter, r.After, r.Tag = true, true, p(int64(2)), after(), "dvcompactor-before-01234567"
	r.Copies = []repair.Copy{{Of: "s3://lake/a.puffin", Location: "s3://lake/metadata/dvcompactor/repair/0123456789abcdef/000-a.puffin", Bytes: 50}}
	r.Warnings = []string{"the clock is wrong"}
	r.Verification = maintenance.Verification{Checks: make([]verify.Check, 20), Requests: 9, Bytes: 70 << 10, Seconds: 0.25}
	return r
}

// ask is a repair by which rows come back, beside one that cannot be done.
func ask() *repair.Report {
	r := repaired()
	r.DataFiles, r.Removed = r.DataFiles[:1], r.Removed[:1]
	r.DataFiles[0].Repair, r.DataFiles[0].Restored, r.DataFiles[0].After, r.DataFiles[0].Issues = check.Ask, 1234, 0, []string{"dv-corrupt"}
	r.Findings = []check.Finding{{Issue: "dv-corrupt", Repair: check.Ask}}
	r.RestoreRows, r.NeedsConfirmation = 1234, true
	r.Skipped = []maintenance.Skip{{Reason: "data-file-twice", DataFile: "s3://lake/twice.parquet", Detail: "live in two entries", Hint: "look into the writer"}}
	return r
}

// listed is a repair of manifests alone.
func listed() *repair.Report {
	r := repaired()
	r.DataFiles, r.Removed, r.Operation = nil, nil, "replace"
	r.Findings = nil
	for i := range 4 {
		r.Findings = append(r.Findings, check.Finding{Issue: "manifest-content", Repair: check.Safe, Location: fmt.Sprintf("m%d", i), Detail: fmt.Sprintf("the header of manifest %d says data", i)})
	}
	r.Manifests = []string{"s3://lake/metadata/m0.avro"}
	return r
}

func TestRepairs(t *testing.T) {
	t.Parallel()
	confirm := fmt.Errorf("prod.sales.orders: %w: 1234 of them; to agree, give --restore-rows 1234", repair.ErrConfirm)
	asked := ask()
	asked.Committed, asked.SnapshotAfter = true, p(int64(2))
	for _, c := range []struct {
		name   string
		report *repair.Report
		err    error
	}{
		{"dry", repaired(), nil},
		{"committed", mended(), nil},
		{"ask", ask(), nil},
		{"ask-refused", ask(), confirm},
		{"ask-committed", asked, nil},
		{"manifests", listed(), nil},
		{"nothing", &repair.Report{Table: "prod.sales.orders", Ref: "main", Action: repair.Action, SnapshotBefore: p(int64(1))}, nil},
		{"conflicts", repaired(), maintenance.ErrConflicts},
		{"verification-failed", mended(), maintenance.ErrVerify},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			require.NoError(t, Repair(&out, term.Style{}, c.report, c.err))
			golden.Assert(t, "repair-"+c.name+".txt", out.String())
		})
	}
}

func TestColoursOfARepairChangeNothingElse(t *testing.T) {
	t.Parallel()
	for _, r := range []*repair.Report{repaired(), mended(), ask(), listed()} {
		var plain, painted strings.Builder
		require.NoError(t, Repair(&plain, term.Style{}, r, nil))
		require.NoError(t, Repair(&painted, term.NewStyle(true), r, nil))
		assert.NotEqual(t, plain.String(), painted.String())
		assert.Equal(t, plain.String(), uncoloured(painted.String()))
	}
}

func TestAFailureToWriteARepairIsReturned(t *testing.T) {
	t.Parallel()
	for left := 0; left < 900; left += 37 {
		require.Error(t, Repair(&broken{left}, term.Style{}, mended(), nil))
	}
}
