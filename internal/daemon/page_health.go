package daemon

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/dvcompactor/dvcompactor/internal/term"
)

// health is how a table stands, worst first. The names are for style sheets.
type health string

const (
	healthUnread   health = "unread"
	healthHalted   health = "halted"
	healthDamaged  health = "damaged"
	healthFailed   health = "failed"
	healthPaused   health = "paused"
	healthConflict health = "conflict"
	healthRunning  health = "running"
	healthOK       health = "healthy"
	healthSkipped  health = "skipped"
	healthNew      health = "new"
)

// healths are all of them, worst first.
func healths() []health {
	return []health{healthUnread, healthHalted, healthDamaged, healthFailed, healthPaused, healthConflict, healthRunning, healthOK, healthSkipped, healthNew}
}

// rank is the place among all healths; the worst has 0.
func (h health) rank() int { return slices.Index(healths(), h) }

// Problem says whether somebody should look at the table.
func (h health) Problem() bool { return h.rank() <= healthConflict.rank() }

// Mark goes with the word, for eyes that look for a shape.
func (h health) Mark() string {
	return map[health]string{
		healthUnread: "?", healthHalted: "■", healthDamaged: "✖", healthFailed: "▲", healthPaused: "‖", healthConflict: "◆",
		healthRunning: "▶", healthOK: "●", healthSkipped: "–", healthNew: "○",
	}[h]
}

// Word is the health in words.
func (h health) Word() string {
	return map[health]string{
		healthUnread: "unread", healthHalted: "halted", healthDamaged: "damaged", healthFailed: "failed", healthPaused: "paused", healthConflict: "conflicts",
		healthRunning: "running", healthOK: "healthy", healthSkipped: "left alone", healthNew: "not run yet",
	}[h]
}

// health judges one kind of run on a table.
func (s *State) health() health {
	last, checked := s.Record.last(), s.Record.checked()
	switch {
	case s.Record.Unread != "":
		return healthUnread
	case s.Record.Halted != "":
		return healthHalted
	case checked != nil && checked.Result == ResultDamaged:
		return healthDamaged
	case s.Record.Pause() != "":
		return healthPaused
	case last != nil && last.Result == ResultFailed:
		return healthFailed
	case last != nil && last.Result == ResultConflict:
		return healthConflict
	case s.Running:
		return healthRunning
	case last == nil:
		return healthNew
	case last.Result == ResultSkipped:
		return healthSkipped
	}
	return healthOK
}

// checked returns the newest check that came to its end, nil for none: a check that failed does not undo what an earlier
// one found.
func (r *Record) checked() *Run {
	for i := len(r.Runs) - 1; i >= 0; i-- {
		if r.Runs[i].Findings != nil {
			return &r.Runs[i]
		}
	}
	return nil
}

// reasons say what is wrong with one kind of run on a table, and what to do.
func (s *State) reasons() []reason {
	var out []reason
	add := func(h health, text, advice string) {
		if text != "" {
			out = append(out, reason{h, s.Policy.Name, text, advice})
		}
	}
	add(healthUnread, s.Record.Unread, "What is remembered of the table cannot be read. It may be paused or halted, so it is left alone until that can be read again; dvcompactor resume gives up what is damaged.")
	add(healthHalted, s.Record.Halted, "A safety check refused. The table is left alone until somebody looks at it and calls dvcompactor resume.")
	add(healthPaused, s.Record.Pause(), "The table is left alone until somebody calls dvcompactor resume.")
	if checked := s.Record.checked(); checked != nil && checked.Result == ResultDamaged {
		add(healthDamaged, "The last check found "+strings.Join(findings(checked), ", ")+".", "dvcompactor check says where, and dvcompactor repair mends it.")
	}
	if last := s.Record.last(); last != nil && s.Record.Blocked() == "" {
		switch last.Result {
		case ResultFailed:
			add(healthFailed, last.Error, "It is tried again at the next run.")
		case ResultConflict:
			add(healthConflict, last.Error, "Other writers were faster each time. It is tried again at the next run.")
		}
	}
	return out
}

// reason is why a table has a problem.
type reason struct {
	Health health
	Policy string // or several, whose runs have it
	Text   string
	Advice string
}

// reasons are those of all runs on the table. What holds up both its maintenance and its check is said once.
func (g *tableGroup) reasons() []reason {
	var out []reason
	for i := range g.States {
		for _, r := range g.States[i].reasons() {
			at := slices.IndexFunc(out, func(o reason) bool { return o.Health == r.Health && o.Text == r.Text })
			if at < 0 {
				out = append(out, r)
			} else {
				out[at].Policy += ", " + r.Policy
			}
		}
	}
	return out
}

// findings are what a check found, as words.
func findings(r *Run) []string {
	var out []string
	for _, issue := range sortedKeys(r.Findings) {
		out = append(out, itoa(r.Findings[issue])+" × "+issue)
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// tableGroup is everything about one table: its maintenance and its check.
type tableGroup struct {
	Table  string
	States []State
	Health health
}

// group puts the states of each table together, tables with problems first.
func group(states []State) []tableGroup {
	var out []tableGroup
	for _, s := range states { // they are sorted by table
		if len(out) == 0 || out[len(out)-1].Table != s.Table {
			out = append(out, tableGroup{Table: s.Table, Health: s.health()})
		}
		g := &out[len(out)-1]
		g.States = append(g.States, s)
		if h := s.health(); h.rank() < g.Health.rank() {
			g.Health = h
		}
	}
	slices.SortStableFunc(out, func(a, b tableGroup) int { return a.place() - b.place() })
	return out
}

// place is the same for all tables without problems.
func (g *tableGroup) place() int {
	if g.Health.Problem() {
		return g.Health.rank()
	}
	return healthRunning.rank()
}

// matching returns the tables whose name, as it is shown, or policy contains a text, and those whose health it names.
func matching(groups []tableGroup, query string) []tableGroup {
	query = strings.ToLower(strings.TrimSpace(query))
	if query == "" {
		return groups
	}
	return slices.DeleteFunc(groups, func(g tableGroup) bool {
		return !strings.Contains(strings.ToLower(term.Safe(g.Table)), query) && g.Health.Word() != query &&
			!slices.ContainsFunc(g.States, func(s State) bool { return strings.Contains(s.Policy.Name, query) })
	})
}

// totals count the tables by their health, leaving out what no table has.
func totals(groups []tableGroup) []total {
	count := map[health]int{}
	for _, g := range groups {
		count[g.Health]++
	}
	var out []total
	for h, n := range count {
		out = append(out, total{h, n})
	}
	slices.SortFunc(out, func(a, b total) int { return cmp.Compare(a.Health.rank(), b.Health.rank()) })
	return out
}
