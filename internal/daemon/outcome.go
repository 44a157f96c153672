package daemon

import (
	"fmt"
	"strconv"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/term"
	"github.com/dvcompactor/dvcompactor/maintenance"
)

// Result is how a run ended.
type Result string

// The results.
const (
	ResultDone        Result = "done"        // something was done
	ResultNothing     Result = "nothing"     // there was nothing to do, or no trigger fired
	ResultSkipped     Result = "skipped"     // the table wants to be left alone
	ResultLocked      Result = "locked"      // another daemon is at work on it
	ResultDamaged     Result = "damaged"     // a check found damage
	ResultConflict    Result = "conflict"    // other writers won every race
	ResultInterrupted Result = "interrupted" // the daemon was stopped
	ResultFailed      Result = "failed"
	ResultHalted      Result = "halted" // a safety check refused
)

// Results lists every result.
func Results() []Result {
	return []Result{ResultDone, ResultNothing, ResultSkipped, ResultLocked, ResultDamaged, ResultConflict, ResultInterrupted, ResultFailed, ResultHalted}
}

// ended says whether a run that had this result came to its end. Of one that did not, what it was for stays due.
func (r Result) ended() bool { return r != ResultLocked && r != ResultInterrupted }

// Run is what happened on one table. It is what is remembered, and shown.
type Run struct {
	Started        time.Time           `json:"started"`
	Seconds        float64             `json:"seconds"`
	Policy         string              `json:"policy"`
	Action         string              `json:"action"`
	Result         Result              `json:"result"`
	Error          string              `json:"error,omitempty"`
	Why            string              `json:"why,omitempty"` // which trigger fired, or by how much none did
	PlanID         string              `json:"plan_id,omitempty"`
	SnapshotBefore *int64              `json:"snapshot_before,omitempty"`
	SnapshotAfter  *int64              `json:"snapshot_after,omitempty"`
	Committed      bool                `json:"committed"`
	Digest         string              `json:"digest,omitempty"`
	Before         *maintenance.Counts `json:"before,omitempty"`
	After          *maintenance.Counts `json:"after,omitempty"`
	Attempts       int                 `json:"attempts,omitempty"`
	Dropped        int                 `json:"dropped,omitempty"`  // data files that a conflict left for the next run
	Pending        int                 `json:"pending_files"`      // delete files that were there to be merged or written anew, and still are
	Findings       map[string]int      `json:"findings,omitempty"` // of a check, by issue
	Bytes          int64               `json:"bytes"`              // read and written
	Requests       int64               `json:"requests"`
	// Measures are those of the table before the run; nil for a check.
	Measures *maintenance.Measures `json:"measures,omitempty"`
	// Forecast is what the plan of the run was worth to readers, whether it was carried out or not; nil for a check.
	Forecast *maintenance.Forecast `json:"forecast,omitempty"`

	stats   storage.Stats
	blocked *Record // the table is blocked, or nobody knows whether it is, so that nothing was run
	taken   *Record // another daemon had made the run, and remembered this
	lease   *Lease  // that is held until the run is remembered; nil for none
}

// Worth says for people what the run is worth to those who read the table, or would have been; empty when it is nothing.
func (r Run) Worth() string {
	f := r.Forecast
	if f == nil || f.Before == f.After {
		return ""
	}
	when := "if it were carried out, "
	if r.Committed {
		when = ""
	}
	return when + fmt.Sprintf("in a full scan: requests for deletes %s → %s, their bytes %s → %s, delete entries %s → %s; stored %s → %s",
		term.Count(f.Before.Requests), term.Count(f.After.Requests), term.Size(f.Before.Bytes), term.Size(f.After.Bytes),
		term.Count(f.Before.DeleteEntries), term.Count(f.After.DeleteEntries), term.Size(f.Before.StoredBytes), term.Size(f.After.StoredBytes))
}

// Held says whether nothing was run because the table is paused or halted, or another daemon is at work on it.
func (r Run) Held() bool { return r.Result == ResultLocked || r.blocked != nil }

func itoa(n int) string { return strconv.Itoa(n) }
