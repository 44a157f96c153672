package maintenance

import (
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/maintenance/verify"
)

// Report says what a run did to one branch of a table. Its JSON form is a documented contract.
type Report struct {
	Table          string `json:"table"`
	Ref            string `json:"ref"`
	Action         Action `json:"action"`
	PlanID         string `json:"plan_id"`
	SnapshotBefore *int64 `json:"snapshot_before"`
	SnapshotAfter  *int64 `json:"snapshot_after"` // null when nothing was committed
	Committed      bool   `json:"committed"`
	UpgradedFormat bool   `json:"upgraded_format"` // the commit upgraded the table to version 3
	Before         Counts `json:"before"`
	After          Counts `json:"after"`
	// DigestBefore and DigestAfter are over the deleted positions of the data files that got another deletion vector:
	// before from what was merged, after from what was read back from storage. They are equal, or nothing is committed.
	// Empty when no data file got one.
	DigestBefore string `json:"digest_before"`
	DigestAfter  string `json:"digest_after"`

	DataFiles   int      `json:"data_files"`   // with a new deletion vector, or with records in a new position delete file
	Puffins     []string `json:"puffins"`      // locations written and referenced
	DeleteFiles []string `json:"delete_files"` // position delete files written and referenced
	Skipped     []Skip   `json:"skipped"`
	Dropped     []string `json:"dropped"` // data files left out because another writer changed their deletes meanwhile
	Findings    []any    `json:"findings"`
	Warnings    []string `json:"warnings"` // what an operator should look into although the run went well
	Attempts    int      `json:"attempts"` // commits tried
	Verified    []string `json:"verified"` // what was compared after the commit, in words
	// Verification is the same for programs, with what it cost.
	Verification Verification `json:"verification"`

	Requests storage.Stats `json:"requests"` // to the table's store, during this run
	Seconds  float64       `json:"seconds"`
}

func newReport(p *Plan) *Report {
	return &Report{
		Table: p.Table, Ref: p.Ref, Action: p.Action, PlanID: p.PlanID, SnapshotBefore: p.SnapshotBefore, Before: p.Before, After: p.Before,
		Skipped: p.Skipped, Puffins: []string{}, DeleteFiles: []string{}, Dropped: []string{}, Findings: []any{}, Warnings: []string{}, Verified: []string{}, Verification: Verification{Checks: []verify.Check{}},
	}
}
