package damage

import (
	"slices"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/stretchr/testify/require"
)

// Case is a table that is wrong, or a healthy one close to it.
type Case struct {
	Name  string // a sentence
	Issue string // id of the fault; of a neighbour: that of the fault it does not have
	// Also are the ids of other faults that a complete check finds in the table.
	Also []string
	// Class is the class of repair of the findings of Issue: safe, fix, ask or none. Empty for a neighbour.
	Class string
	// Level is the name of the cheapest level of a check that finds it.
	Level string
	Make  func(t require.TestingT) *Table
}

// Issues are the ids of all faults of the table, sorted.
func (c Case) Issues() []string {
	return slices.Compact(slices.Sorted(slices.Values(append([]string{c.Issue}, c.Also...))))
}

// Table is a table of a case.
type Table struct {
	Lake *forge.Lake
	Ref  string // branch that is wrong
	// Right are the deleted positions of every live data file after a repair, sorted. In a case of class ask after one to
	// which an operator agreed; in one of class none as they are, or with Aliases after a repair that knows them.
	Right map[string][]int64
	// RestoreRows is how many deleted rows a repair of class ask gives back.
	RestoreRows int64
	// DataFile is the one that findings of the case's issue are about, and Location the object; empty where the issue is
	// about none, or about several.
	DataFile, Location string
	// Healthy are locations of live delete files that have nothing to do with the fault, and stay in their entries.
	Healthy []string
	// Aliases are prefixes of locations by the prefixes that they stand for, which only an operator knows.
	Aliases map[string]string
}

// All returns every damaged table.
func All() []Case {
	var out []Case
	for _, faults := range [][]fault{
		setFaults(), resurrections(), danglings(), entryFaults(), unboundFaults(), manifestFaults(), objectFaults(), containerFaults(), boundFaults(), blobFaults(), countFaults(),
		recordFaults(), positionFaults(), deleteFaults(), historyFaults(), rewriteFaults(), doubleFaults(),
	} {
		for _, f := range faults {
			out = append(out, f.cases()...)
		}
	}
	return out
}

// Few returns all of some cases, or in a short test run a part of them, spread over all.
func Few(cases []Case) []Case {
	const every = 6
	if !testing.Short() {
		return cases
	}
	var out []Case
	for i := 0; i < len(cases); i += every {
		out = append(out, cases[i])
	}
	return out
}

// Neighbours returns healthy tables that are close to a fault: a check that finds it there is wrong.
func Neighbours() []Case {
	var out []Case
	for _, n := range neighbours() {
		out = append(out, n.cases()...)
	}
	return out
}

// fault is how the first data file of a table, or its deletes, are made wrong.
type fault struct {
	name  string
	issue string
	class string
	level string
	also  []string
	in    []shape
	make  func(l *lab)
}

// cases puts the fault into each of its shapes.
func (f fault) cases() []Case {
	var out []Case
	for _, s := range f.in {
		name := strings.TrimSuffix(f.issue+": "+f.name+", "+s.name, ", ")
		out = append(out, Case{Name: name, Issue: f.issue, Also: f.also, Class: f.class, Level: f.level, Make: func(t require.TestingT) *Table {
			l := newLab(t, s)
			f.make(l)
			if s.upgraded {
				l.upgrade()
			}
			return l.table()
		}})
	}
	return out
}

// The classes of repair and the levels of a check, as package check names them.
const (
	safe = "safe"
	fix  = "fix"
	ask  = "ask"
	none = "none"

	metadata = "metadata"
	footers  = "footers"
	vectors  = "vectors"
)
