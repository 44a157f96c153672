package check

import "slices"

// Level is how deep a check looks, and which of its levels an issue is seen at.
type Level int

// The levels. Each includes those before it.
const (
	// Metadata reads manifests only.
	Metadata Level = iota
	// Footers also asks for the sizes of delete files and reads the footers of Puffin files.
	Footers
	// Vectors also reads deletion vectors and the records of position delete files.
	Vectors
)

// String names the level.
func (l Level) String() string {
	switch l {
	case Metadata:
		return "metadata"
	case Footers:
		return "footers"
	}
	return "vectors"
}

// Effect is what a fault does to readers.
type Effect string

// The effects, worst first.
const (
	Wrong      Effect = "wrong"      // scans succeed with wrong rows
	Unreadable Effect = "unreadable" // scans fail in some engine
	Risk       Effect = "risk"       // will become one of these
	Waste      Effect = "waste"      // costs space or time only
)

func (e Effect) rank() int { return slices.Index([]Effect{Wrong, Unreadable, Risk, Waste}, e) }

// Repair is whether and how a fault can be mended.
type Repair string

// The classes of repair.
const (
	Safe Repair = "safe" // no conforming reader's answer changes
	Fix  Repair = "fix"  // some reader's answer changes towards what the writer meant
	Ask  Repair = "ask"  // rows may come back or information is lost: an operator has to decide
	None Repair = "none" // report only
)

// Engines are readers and what they make of a fault, as far as it was measured.
type Engines struct {
	Fail    []string `json:"fail"`    // their scans end with an error
	Wrong   []string `json:"wrong"`   // their scans give wrong rows
	Unaware []string `json:"unaware"` // they do not notice, and give the right rows
}

// Issue describes a fault.
type Issue struct {
	ID     string
	Level  Level  // the cheapest level that sees it
	Effect Effect // most often; a finding says its own
	Repair Repair // most often; a finding says its own
	What   string // one sentence
	Hint   string // what to do about it
	Engines
}

// colifetime is the issue that sound tables of the reference have all the time.
const colifetime = "puffin-colifetime"

// Damage says whether a table with this issue is damaged. One that only wastes space is not, nor one whose writers follow
// the format and that a clean-up may damage.
func (i Issue) Damage() bool { return i.Effect != Waste && i.ID != colifetime }

// Find returns the issue with an id.
func Find(id string) (Issue, bool) {
	all := Issues()
	i := slices.IndexFunc(all, func(issue Issue) bool { return issue.ID == id })
	if i < 0 {
		return Issue{}, false
	}
	return all[i], true
}

// The readers that were measured.
const (
	java      = "Java"
	pyiceberg = "PyIceberg"
	duckdb    = "DuckDB"
	golang    = "iceberg-go"
	rust      = "iceberg-rust"
)

// Issues returns every fault that a check may find. Ids never change.
func Issues() []Issue {
	return slices.Concat(setIssues(), entryIssues(), fileIssues(), vectorIssues(), recordIssues(), historyIssues())
}

func engines(fail, wrong, unaware []string) Engines {
	e := Engines{Fail: fail, Wrong: wrong, Unaware: unaware}
	for _, list := range []*[]string{&e.Fail, &e.Wrong, &e.Unaware} {
		if *list == nil {
			*list = []string{}
		}
	}
	return e
}

// nobody is for faults of which no reader was measured.
func nobody() Engines { return engines(nil, nil, nil) }
