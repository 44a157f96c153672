package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dvcompactor/dvcompactor/internal/term"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
)

// Findings writes what a check found, wrong rows first.
func Findings(w io.Writer, s term.Style, r *check.Report) error {
	p := &page{w: w}
	p.printf("%s  %s  check (%s)  %s\n", s.Bold(term.Safe(r.Table)), term.Safe(r.Ref), r.Level, verdict(s, r))
	if len(r.Findings) > 0 {
		p.printf("\n")
	}
	for first := 0; first < len(r.Findings); {
		end := first + 1
		for end < len(r.Findings) && r.Findings[end].Issue == r.Findings[first].Issue && r.Findings[end].Effect == r.Findings[first].Effect {
			end++
		}
		p.issue(s, r.Findings[first:end])
		first = end
	}
	skips(p, s, r.Skipped)
	p.read(s, r)
	return p.err
}

func verdict(s term.Style, r *check.Report) string {
	switch n := len(r.Findings); {
	case r.SnapshotID == nil && n == 0:
		return s.Dim("no snapshot yet")
	case r.Damaged:
		return s.Bad("damaged")
	case n > 0:
		return s.Good("no damage") + ", " + term.Plural(int64(n), "note", "notes")
	}
	return s.Good("nothing found")
}

// issue writes all findings of one issue: what it is, where, who is concerned and what to do.
func (p *page) issue(s term.Style, findings []check.Finding) {
	f := findings[0]
	known, _ := check.Find(f.Issue)
	p.printf("  %s  %s  %s  %s\n", painted(s, f.Effect), s.Bold(f.Issue), term.Count(int64(len(findings))), s.Dim(known.What))
	for i, f := range findings {
		if i == examples {
			p.printf("    %s\n", s.Dim("and "+term.Count(int64(len(findings)-examples))+" more; --output json lists all"))
			break
		}
		p.finding(s, f)
	}
	if text := readers(f.Engines); text != "" {
		p.printf("    %s %s\n", s.Dim("readers:"), text)
	}
	for _, hint := range differentHints(findings) {
		p.printf("    %s %s\n", s.Dim("hint:"), term.Safe(hint))
	}
}

// finding writes one place: the data file or the object, what is wrong there, and where the bytes are.
func (p *page) finding(s term.Style, f check.Finding) {
	place := f.DataFile
	if place == "" {
		place = f.Location
	}
	p.printf("    %s\n", term.Safe(place))
	p.printf("      %s\n", term.Safe(f.Detail))
	var notes []string
	if f.Location != "" && f.Location != place {
		at := "in " + f.Location
		if f.Offset != nil && f.Length != nil {
			at += fmt.Sprintf(" at %d+%d", *f.Offset, *f.Length)
		}
		notes = append(notes, at)
	}
	if f.Rows != nil {
		notes = append(notes, term.Plural(*f.Rows, "deleted row", "deleted rows"))
	}
	if f.Writer != "" {
		notes = append(notes, "written by "+f.Writer)
	}
	if len(notes) > 0 {
		p.printf("      %s\n", s.Dim(term.Safe(strings.Join(notes, ", "))))
	}
}

func painted(s term.Style, e check.Effect) string {
	switch text := fmt.Sprintf("%-10s", e); e {
	case check.Wrong, check.Unreadable:
		return s.Bad(text)
	case check.Risk:
		return s.Warn(text)
	default:
		return s.Dim(text)
	}
}

// readers says what the measured readers make of an issue.
func readers(e check.Engines) string {
	var parts []string
	for _, group := range []struct {
		names []string
		do    string
	}{{e.Wrong, "wrong rows in"}, {e.Fail, "failure in"}, {e.Unaware, "not noticed by"}} {
		if len(group.names) > 0 {
			parts = append(parts, group.do+" "+strings.Join(group.names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

func differentHints(findings []check.Finding) []string {
	var out []string
	for _, f := range findings {
		if f.Hint != "" && !slices.Contains(out, f.Hint) && len(out) < examples {
			out = append(out, f.Hint)
		}
	}
	return out
}

// read is the summary line: how much of the table was looked at.
func (p *page) read(s term.Style, r *check.Report) {
	parts := []string{term.Plural(r.Checked.Manifests, "manifest", "manifests")}
	for _, c := range []struct {
		n         int64
		one, many string
	}{
		{r.Checked.PuffinFiles, "Puffin footer", "Puffin footers"}, {r.Checked.DeletionVectors, "deletion vector", "deletion vectors"},
		{r.Checked.PositionDeleteFiles, "position delete file", "position delete files"},
	} {
		if c.n > 0 {
			parts = append(parts, term.Plural(c.n, c.one, c.many))
		}
	}
	p.printf("\n  %s\n", s.Dim("read: "+strings.Join(parts, ", ")))
}
