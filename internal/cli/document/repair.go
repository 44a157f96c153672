package document

import (
	"math"

	"github.com/dvcompactor/dvcompactor/maintenance/repair"
)

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
	const milliseconds = 1000
	doc := Repair{
		Report: r, Seconds: math.Round(r.Seconds*milliseconds) / milliseconds,
		Committed: &r.Committed, Failure: NewFailure(err, r.Committed),
	}
	if doc.Failure != nil {
		doc.Committed = doc.Failure.Committed
	}
	return doc
}
