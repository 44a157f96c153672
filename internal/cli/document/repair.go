package document

import "github.com/dvcompactor/dvcompactor/maintenance/repair"

// Repair is what a repair did to one branch of a table, or would do, and why it failed when it did.
type Repair struct {
	*repair.Report
	Seconds float64 `json:"seconds"`
	// Committed is null when the outcome of the commit is not known.
	Committed *bool `json:"committed"`
	*Failure
}

// NewRepair makes the document of a repair. err is nil when it did not fail.
func NewRepair(r *repair.Report, err error) Repair {
	doc := Repair{Report: r, Seconds: rounded(r.Seconds), Failure: NewFailure(err, r.Committed)}
	doc.Committed = doc.Failure.committed(&r.Committed)
	return doc
}
