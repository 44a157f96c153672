package document

import (
	"errors"
	"testing"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/cli/golden"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/maintenance/repair"
	"github.com/dvcompactor/dvcompactor/maintenance/verify"
	"github.com/stretchr/testify/assert"
)

func mended() *repair.Report {
	before, after, offset, length, rows := int64(1), int64(2), int64(4), int64(50), int64(3)
	return &repair.Report{
		Table: "prod.sales.orders", Ref: "main", Action: repair.Action, Applied: true, PlanID: "0123456789abcdef", SnapshotBefore: &before, SnapshotAfter: &after,
		Committed: true, Operation: "delete", Before: maintenance.Counts{DeletionVectors: 2}, After: maintenance.Counts{DeletionVectors: 1},
		Findings: []check.Finding{{Issue: "dv-incomplete", Effect: check.Wrong, Repair: check.Fix, DataFile: "s3://lake/f"}},
		DataFiles: []repair.DataFile{
			{Path: "s3://lake/f", Issues: []string{"dv-incomplete"}, Repair: check.Fix, Before: &rows, After: 8, Restored: 0, Sources: []string{"the deletion vector at 4+50 of s3://lake/<&>.puffin (3 positions)"}},
			{Path: "s3://lake/g", Issues: []string{"dv-corrupt"}, Repair: check.Ask, Before: nil, After: 0, Restored: 7, Sources: []string{}},
		},
		Removed:   []repair.Removed{{Location: "s3://lake/<&>.puffin", Offset: &offset, Length: &length, DataFile: "s3://lake/f", Records: 3}, {Location: "s3://lake/d.parquet", Records: 5}},
		Manifests: []string{"s3://lake/m.avro"}, RestoreRows: 7, NeedsConfirmation: true,
		Copies: []repair.Copy{{Of: "s3://lake/<&>.puffin", Location: "s3://lake/copy", Bytes: 100}}, Tag: "dvcompactor-before-01234567", RollBack: "CALL", DigestAfter: "ab",
		Skipped: []maintenance.Skip{}, Warnings: []string{"the clock is wrong"}, Attempts: 1, Verified: []string{"A1: 2 data manifests are the same"},
		Verification: maintenance.Verification{Checks: []verify.Check{{Name: "A1", What: "2 data manifests are the same", Compared: 2}}, Requests: 3, Bytes: 400, Seconds: 0.25},
		Requests:     storage.Stats{Gets: 1}, Seconds: 0.123456,
	}
}

func TestRepairDocuments(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]any{
		"repair":        NewRepair(mended(), nil),
		"repair-failed": NewRepair(&repair.Report{Table: "prod.sales.orders", RestoreRows: 7}, repair.ErrConfirm),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden.Assert(t, name+".json", text(t, doc))
		})
	}
}

func TestARepairSaysWhetherItCommitted(t *testing.T) {
	t.Parallel()
	unknown := &catalog.CommitError{Outcome: catalog.ErrUnknown, Err: errors.New("EOF")}
	assert.Equal(t, true, committedIn(t, NewRepair(mended(), nil)))
	assert.Equal(t, true, committedIn(t, NewRepair(mended(), maintenance.ErrVerify)), "it did, although the repair failed")
	assert.Equal(t, false, committedIn(t, NewRepair(&repair.Report{}, repair.ErrConfirm)))
	assert.Nil(t, committedIn(t, NewRepair(&repair.Report{}, unknown)), "nobody knows")
}
