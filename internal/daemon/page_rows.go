package daemon

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/term"
	"github.com/dvcompactor/dvcompactor/maintenance"
)

// moment is a time for programs and for people.
type moment struct {
	ISO  string // empty for no time
	Text string // in UTC, to the minute
	Ago  string // or how far ahead
}

func newMoment(t, now time.Time) moment {
	if t.IsZero() {
		return moment{}
	}
	t = t.UTC()
	return moment{ISO: t.Format(time.RFC3339), Text: t.Format("2006-01-02 15:04"), Ago: humanize.RelTime(t, now, "ago", "from now")}
}

// row is a table on the overview.
type row struct {
	Table       string
	Link        string
	Health      health
	Reasons     []reason
	DeleteFiles trend
	Vectors     trend
	Jobs        []job
}

// job is one kind of run on a table: its maintenance or its check.
type job struct {
	Policy, Why, Action string
	Schedule            string // as it is configured
	Limits              string // window, jitter and budget, empty for none
	Running             bool
	Next                moment
	Waits               string // for what, when there is no time to show
	Last                *run
}

// newRow makes the row of a table, with no more of each reason than so many characters.
func newRow(g tableGroup, now time.Time, most int) row {
	r := row{Table: g.Table, Link: "table?" + url.Values{"name": {g.Table}}.Encode(), Health: g.Health}
	const shown = 30 // runs in a small picture
	counted := g.counted(shown)
	r.DeleteFiles, r.Vectors = newTrend("delete files", counted, deleteFiles), newTrend("deletion vectors", counted, vectors)
	for _, why := range g.reasons() {
		why.Text = term.Cut(why.Text, most)
		r.Reasons = append(r.Reasons, why)
	}
	for _, s := range g.States {
		r.Jobs = append(r.Jobs, newJob(s, now))
	}
	return r
}

func newJob(s State, now time.Time) job {
	p := s.Policy
	j := job{Policy: p.Name, Why: strings.TrimPrefix(s.Why, "policy "+p.Name+": "), Action: p.Action, Running: s.Running, Schedule: strings.TrimSpace(p.Schedule + " " + p.Timezone), Limits: limits(p)}
	switch {
	case s.Record.Unread != "":
		j.Waits = "not until what is remembered can be read"
	case s.Record.Blocked() != "":
		j.Waits = "not until it is resumed"
	case s.Running:
		j.Waits = "running now"
	case s.Next.IsZero():
		j.Waits = "never"
	case !s.Next.After(now):
		j.Waits = "due, waits for its turn"
	default:
		j.Next = newMoment(s.Next, now)
	}
	if last := s.Record.last(); last != nil {
		r := newRun(*last, now)
		j.Last = &r
	}
	return j
}

// limits says what else decides when a policy runs.
func limits(p *config.Policy) string {
	var out []string
	if p.Window != nil {
		out = append(out, fmt.Sprintf("from %s to %s", p.Window.Start, p.Window.End))
	}
	if p.Jitter > 0 {
		out = append(out, "up to "+term.Seconds(p.Jitter.Seconds())+" later")
	}
	if b := p.Budget; b.Bytes > 0 {
		out = append(out, term.Size(int64(b.Bytes))+" a round")
	}
	if b := p.Budget; b.Commits > 0 {
		out = append(out, term.Plural(int64(b.Commits), "commit", "commits")+" a round")
	}
	if b := p.Budget; b.Duration > 0 {
		out = append(out, "no table begun after "+term.Seconds(b.Duration.Seconds()))
	}
	return strings.Join(out, ", ")
}

// run is one run on a table, as it is shown.
type run struct {
	Started                                            moment
	Worth                                              string
	Took, Policy, Action, Why, Error, PlanID, Snapshot string
	Result                                             Result
	Files, Vectors, Positions, Puffins, Rows, Size     string // before and after, empty when unknown
	Traffic                                            string
	Attempts, Dropped                                  int
	Findings                                           []string
}

func newRun(r Run, now time.Time) run {
	out := run{
		Started: newMoment(r.Started, now), Took: term.Seconds(r.Seconds), Worth: r.Worth(), Policy: r.Policy, Action: r.Action, Why: r.Why, Error: r.Error, PlanID: r.PlanID, Result: r.Result,
		Files: change(r, deleteFiles, term.Count), Vectors: change(r, vectors, term.Count), Positions: change(r, positionDeletes, term.Count), Puffins: change(r, puffins, term.Count),
		Rows: change(r, deletedRows, term.Count), Size: change(r, deleteBytes, term.Size), Traffic: term.Size(r.Bytes) + " in " + term.Plural(r.Requests, "request", "requests"),
		Attempts: r.Attempts, Dropped: r.Dropped, Findings: findings(&r),
	}
	if r.Committed && r.SnapshotAfter != nil {
		out.Snapshot = itoa64(*r.SnapshotAfter)
	}
	return out
}

// Word is the result for people.
func (r Result) Word() string {
	switch r {
	case ResultNothing:
		return "nothing to do"
	case ResultSkipped:
		return "left alone"
	case ResultLocked:
		return "left to another daemon"
	case ResultConflict:
		return "lost every race"
	}
	return string(r)
}

// change writes what a run made of a number, or the number when it is the same after it.
func change(r Run, pick counter, write func(int64) string) string {
	if r.Before == nil {
		return ""
	}
	before := write(pick(*r.Before))
	if r.After == nil || write(pick(*r.After)) == before {
		return before
	}
	return before + " → " + write(pick(*r.After))
}

// counter picks one number of the counts of a table.
type counter func(maintenance.Counts) int64

// deleteFiles are the files that hold deletes, which a scan opens beside the data files.
func deleteFiles(c maintenance.Counts) int64 {
	return int64(c.PositionDeleteFiles) + int64(c.EqualityDeleteFiles) + int64(c.PuffinFiles)
}

func vectors(c maintenance.Counts) int64         { return int64(c.DeletionVectors) }
func positionDeletes(c maintenance.Counts) int64 { return int64(c.PositionDeleteFiles) }
func puffins(c maintenance.Counts) int64         { return int64(c.PuffinFiles) }
func deletedRows(c maintenance.Counts) int64     { return c.DeletedRows }
func deleteBytes(c maintenance.Counts) int64     { return c.DeleteBytes }

// history returns all runs on the table, newest last.
func (g *tableGroup) history() []Run {
	var out []Run
	for _, s := range g.States {
		out = append(out, s.Record.Runs...)
	}
	if len(g.States) > 1 {
		slices.SortStableFunc(out, func(a, b Run) int { return a.Started.Compare(b.Started) })
	}
	return out
}

// runs are the runs of the page of a table, newest first.
func (g *tableGroup) runs(now time.Time) []run {
	var out []run
	for _, r := range g.history() {
		out = append(out, newRun(r, now))
	}
	slices.Reverse(out)
	return out
}

// counted returns the last runs that counted deletes, newest last; 0 for all.
func (g *tableGroup) counted(most int) []Run {
	out := slices.DeleteFunc(g.history(), func(r Run) bool { return r.Before == nil })
	if most > 0 && len(out) > most {
		out = out[len(out)-most:]
	}
	return out
}
