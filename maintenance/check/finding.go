package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dvcompactor/dvcompactor/puffin"
)

// Finding is one fault at one place.
type Finding struct {
	Issue    string `json:"issue"`  // id, one of [Issues]
	Effect   Effect `json:"effect"` // what it does to readers
	Repair   Repair `json:"repair"` // whether it can be mended
	Table    string `json:"table"`
	Ref      string `json:"ref"`
	DataFile string `json:"data_file,omitempty"`
	// Location is the object that is wrong: a Puffin file, a position delete file, a manifest, a manifest list.
	Location string `json:"location,omitempty"`
	// Offset and Length are the range of a deletion vector in its Puffin file, in bytes; nil when it is about no range.
	Offset *int64 `json:"offset,omitempty"`
	Length *int64 `json:"length,omitempty"`
	// Expected and Actual are the two values that should be one, as text; empty when there are none.
	Expected string `json:"expected,omitempty"`
	Actual   string `json:"actual,omitempty"`
	// Rows is how many deleted rows are concerned, nil when that is not known.
	Rows    *int64  `json:"rows,omitempty"`
	Detail  string  `json:"detail"`           // for people
	Hint    string  `json:"hint"`             // what to do about it
	Writer  string  `json:"writer,omitempty"` // who wrote it, as far as the table tells
	Engines Engines `json:"engines"`
	// Positions are those that are to be deleted again, of a finding about deletes that were lost, when the options ask
	// for them; nil when they are not known, as at level [Metadata].
	Positions *puffin.Bitmap `json:"-"`

	snapshotID int64 // that added the entry; 0 when it is about none
}

// Damaged says whether the finding means that the table is damaged: see [Issue.Damage].
func (f *Finding) Damaged() bool {
	issue, known := Find(f.Issue)
	return !known || issue.Damage()
}

// compare orders findings: worst effect first, then by issue and place.
func compare(a, b Finding) int {
	return cmp.Or(cmp.Compare(a.Effect.rank(), b.Effect.rank()), strings.Compare(a.Issue, b.Issue), strings.Compare(a.DataFile, b.DataFile),
		strings.Compare(a.Location, b.Location), cmp.Compare(number(a.Offset), number(b.Offset)), cmp.Compare(number(a.Length), number(b.Length)),
		strings.Compare(a.Detail, b.Detail))
}

func number(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

// sorted orders findings and leaves out those that are told twice.
func sorted(findings []Finding) []Finding {
	slices.SortFunc(findings, compare)
	return slices.CompactFunc(findings, func(a, b Finding) bool { return compare(a, b) == 0 })
}

// Count is how often an issue was found.
type Count struct {
	Issue    string `json:"issue"`
	Effect   Effect `json:"effect"`
	Findings int    `json:"findings"`
	Rows     int64  `json:"rows"` // deleted rows concerned, as far as they are known
}

// alone returns the issues of which there is one finding.
func alone(findings []Finding) map[string]bool {
	out := map[string]bool{}
	for _, f := range findings {
		_, several := out[f.Issue]
		out[f.Issue] = !several
	}
	return out
}

// counts sums findings by issue and effect, in their order.
func counts(findings []Finding) []Count {
	out := []Count{}
	for _, f := range findings {
		if n := len(out); n == 0 || out[n-1].Issue != f.Issue || out[n-1].Effect != f.Effect {
			out = append(out, Count{Issue: f.Issue, Effect: f.Effect})
		}
		last := &out[len(out)-1]
		last.Findings++
		if f.Rows != nil {
			last.Rows += *f.Rows
		}
	}
	return out
}
