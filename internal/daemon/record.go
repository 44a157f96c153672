package daemon

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Key names what is scheduled: the maintenance of a table, or its check.
type Key struct {
	Table string `json:"table"` // catalog.namespace.table
	Check bool   `json:"check"`
}

// Catalog is the first part of the table's name.
func (k Key) Catalog() string {
	name, _, _ := strings.Cut(k.Table, ".")
	return name
}

func (k Key) compare(o Key) int {
	return cmp.Or(strings.Compare(k.Table, o.Table), b2i(k.Check)-b2i(o.Check))
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Record is what is remembered of a key across restarts.
type Record struct {
	// Slot is the scheduled time that the last run was for; before the first run the time at which the table was first seen,
	// or the zero time when it was paused before a daemon saw it.
	Slot time.Time `json:"slot"`
	// Failures in a row.
	Failures int `json:"failures,omitempty"`
	// Halted says why the table is left alone until an operator resumes it: a safety check refused.
	Halted string `json:"halted,omitempty"`
	// Paused says why the table is left alone until an operator resumes it: it failed too often.
	Paused string `json:"paused,omitempty"`
	// Ordered says why an operator paused it. It is kept apart from the rest, which daemons write after each run: an order
	// that is given at that moment is not lost.
	Ordered string `json:"-"`
	// Unread says why what is remembered cannot be read: the table may be paused or halted, and is left alone until it can.
	Unread string `json:"-"`
	Runs   []Run  `json:"runs,omitempty"` // newest last

	first bool // it only says when the table was first seen
}

// Blocked says why nothing is run, or nothing.
func (r *Record) Blocked() string { return cmp.Or(r.Unread, r.Halted, r.Pause()) }

// Pause says why the table is paused, or nothing.
func (r *Record) Pause() string { return cmp.Or(r.Ordered, r.Paused) }

// sameBlock says whether two records are blocked for the same reasons.
func (r *Record) sameBlock(o Record) bool {
	return r.Unread == o.Unread && r.Halted == o.Halted && r.Paused == o.Paused && r.Ordered == o.Ordered
}

// last returns the newest run, nil before the first.
func (r *Record) last() *Run {
	if len(r.Runs) == 0 {
		return nil
	}
	return &r.Runs[len(r.Runs)-1]
}

// lastSuccess returns the newest run that did not fail, nil when there is none.
func (r *Record) lastSuccess() *Run {
	for i := len(r.Runs) - 1; i >= 0; i-- {
		switch r.Runs[i].Result {
		case ResultDone, ResultNothing, ResultDamaged, ResultSkipped:
			return &r.Runs[i]
		}
	}
	return nil
}

// succeeded is when the newest run that did not fail began; the zero time for never.
func (r *Record) succeeded() time.Time {
	if last := r.lastSuccess(); last != nil {
		return last.Started
	}
	return time.Time{}
}

// maxRuns is how many runs are remembered of each table.
const maxRuns = 50

// judge notes a run and what follows from it.
func (r *Record) judge(run Run, limit int) {
	r.Runs = append(r.Runs, run)
	if n := len(r.Runs); n > maxRuns {
		r.Runs = slices.Clone(r.Runs[n-maxRuns:])
	}
	switch run.Result {
	case ResultHalted:
		r.Halted = run.Error
	case ResultFailed:
		if r.Failures++; limit > 0 && r.Failures >= limit {
			r.Paused = "it failed " + plural(r.Failures) + " in a row, last with: " + run.Error
		}
	case ResultLocked, ResultInterrupted:
	default:
		r.Failures = 0
	}
}

func plural(n int) string {
	if n == 1 {
		return "once"
	}
	return itoa(n) + " times"
}
