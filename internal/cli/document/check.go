package document

import "github.com/dvcompactor/dvcompactor/maintenance/check"

// Check is what a check found on one branch or tag of a table.
type Check struct {
	Action string `json:"action"` // always "check"
	*check.Report
	SnapshotAfter *int64  `json:"snapshot_after"` // always null
	Committed     bool    `json:"committed"`      // always false
	Seconds       float64 `json:"seconds"`
}

// NewCheck makes the document of a check.
func NewCheck(r *check.Report) Check {
	return Check{Action: "check", Report: r, Seconds: rounded(r.Seconds)}
}
