// Package document is the JSON that commands print for programs. Its fields are a contract.
package document

import (
	"encoding/json"
	"io"
	"math"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/maintenance"
)

// Run is what a run did to one branch of a table: the report, and why it failed when it did.
type Run struct {
	*maintenance.Report
	Seconds float64 `json:"seconds"`
	// Committed is null when the outcome of the commit is not known.
	Committed *bool `json:"committed"`
	*Failure
}

// Plan is what would be done to one branch of a table. It is also the form of a saved plan.
type Plan struct {
	*maintenance.Plan
	SnapshotAfter *int64 `json:"snapshot_after"` // always null
	Committed     bool   `json:"committed"`      // always false
	// Policy is what a daemon would do about the table; nil when the configuration has no policies.
	Policy *Policy `json:"policy,omitempty"`
	*Failure
}

// Policy is the policy for the maintenance of a table.
type Policy struct {
	Name string `json:"name"` // empty when none takes the table
	Why  string `json:"why"`
	// Fires says whether a daemon would carry out the plan when the table is due, and Trigger why or by how much not.
	Fires   bool   `json:"fires"`
	Trigger string `json:"trigger"`
}

// Failure is why a run failed.
type Failure struct {
	Error string `json:"error"`
	Kind  string `json:"kind"` // a stable word: see package exit
	Code  int    `json:"exit_code"`
	// Committed is null when the outcome of the commit is not known.
	Committed *bool `json:"committed"`
}

// Failed is a table on which a command failed before there was anything else to tell.
type Failed struct {
	Table string `json:"table"`
	Ref   string `json:"ref,omitempty"`
	*Failure
}

// Skipped is a table that a glob matched and that wants to be left alone.
type Skipped struct {
	Table  string `json:"table"`
	Reason string `json:"reason"`
}

// List is the document of a command on several tables. Tables and Failed hold the documents of single tables.
type List struct {
	Tables    []any     `json:"tables"`
	Skipped   []Skipped `json:"skipped"`
	Failed    []any     `json:"failed"`
	Committed bool      `json:"committed"` // on any table
}

// Error is the document of a command that failed before it got to any table.
type Error struct{ *Failure }

// NewRun makes the document of a run. err is nil when it did not fail.
func NewRun(r *maintenance.Report, err error) Run {
	doc := Run{Report: r, Seconds: rounded(r.Seconds), Failure: NewFailure(err, r.Committed)}
	doc.Committed = doc.Failure.committed(&r.Committed)
	return doc
}

// rounded leaves out what is less than a millisecond.
func rounded(seconds float64) float64 {
	const milliseconds = 1000
	return math.Round(seconds*milliseconds) / milliseconds
}

// committed is what is known about the commit: what the report says, unless the failure knows better.
func (f *Failure) committed(reported *bool) *bool {
	if f == nil {
		return reported
	}
	return f.Committed
}

// NewPlan makes the document of a plan. policy may be nil. err is why it cannot be carried out as it is, or nil.
func NewPlan(p *maintenance.Plan, policy *Policy, err error) Plan {
	return Plan{Plan: p, Policy: policy, Failure: NewFailure(err, false)}
}

// NewFailure makes the failure of an error, nil for nil.
func NewFailure(err error, committed bool) *Failure {
	if err == nil {
		return nil
	}
	f := &Failure{Error: exit.Text(err), Kind: exit.Kind(err), Code: int(exit.Of(err)), Committed: &committed}
	if f.Kind == exit.KindUnknownOutcome {
		f.Committed = nil
	}
	return f
}

// Write prints one document.
func Write(w io.Writer, doc any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}
