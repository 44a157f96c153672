package repair

import (
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
)

// Report says what a repair did, or without Apply what it would do. Its JSON form is a documented contract.
type Report struct {
	Table          string             `json:"table"`
	Ref            string             `json:"ref"`
	Action         maintenance.Action `json:"action"` // always "repair"
	Applied        bool               `json:"applied"`
	PlanID         string             `json:"plan_id"`
	SnapshotBefore *int64             `json:"snapshot_before"`
	SnapshotAfter  *int64             `json:"snapshot_after"` // null when nothing was committed
	Committed      bool               `json:"committed"`
	Operation      string             `json:"operation"` // replace | delete; empty when there is nothing to do
	Before         maintenance.Counts `json:"before"`
	After          maintenance.Counts `json:"after"`
	Findings       []check.Finding    `json:"findings"`   // that are repaired
	DataFiles      []DataFile         `json:"data_files"` // whose deletes get another form, or change
	Removed        []Removed          `json:"removed"`    // delete entries that go
	Manifests      []string           `json:"manifests"`  // that are written anew, or described rightly
	// RestoreRows is how many deleted rows come back: what has to be confirmed when NeedsConfirmation is set.
	RestoreRows       int64                    `json:"restore_rows"`
	NeedsConfirmation bool                     `json:"needs_confirmation"`
	Copies            []Copy                   `json:"copies"` // of damaged objects
	Tag               string                   `json:"tag"`    // on the snapshot before
	RollBack          string                   `json:"rollback"`
	DigestAfter       string                   `json:"digest_after"`
	Skipped           []maintenance.Skip       `json:"skipped"` // found, and not to be repaired
	Warnings          []string                 `json:"warnings"`
	Attempts          int                      `json:"attempts"`
	Verified          []string                 `json:"verified"`
	Verification      maintenance.Verification `json:"verification"`
	Requests          storage.Stats            `json:"requests"`
	Seconds           float64                  `json:"seconds"`
}

// DataFile is what a repair does to the deletes of one data file.
type DataFile struct {
	Path   string       `json:"data_file"`
	Issues []string     `json:"issues"` // empty for one that only moves with its Puffin file
	Repair check.Repair `json:"repair"`
	// Before is how many rows readers take as deleted now, null when they fail, or disagree.
	Before   *int64   `json:"deleted_rows_before"`
	After    int64    `json:"deleted_rows_after"`
	Restored int64    `json:"restored_rows"` // that come back, or may
	Sources  []string `json:"sources"`       // what the deletes were worked out from
}

// Removed is a delete entry that goes.
type Removed struct {
	Location string `json:"location"`
	Offset   *int64 `json:"offset,omitempty"`
	Length   *int64 `json:"length,omitempty"`
	DataFile string `json:"data_file,omitempty"`
	Records  int64  `json:"records"`
}

// Copy is the copy of a damaged object.
type Copy struct {
	Of       string `json:"of"`
	Location string `json:"location"`
	Bytes    int64  `json:"bytes"`
}
