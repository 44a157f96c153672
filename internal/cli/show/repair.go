package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dvcompactor/dvcompactor/internal/term"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/maintenance/repair"
)

// Repair writes what a repair did, or would do. err is why it failed, or nil.
func Repair(w io.Writer, s term.Style, r *repair.Report, err error) error {
	p := &page{w: w}
	p.printf("%s  %s  repair  %s\n", s.Bold(term.Safe(r.Table)), term.Safe(r.Ref), repairOutcome(s, r, err))
	p.failure(s, err)
	for _, warning := range r.Warnings {
		p.printf("  %s\n", s.Warn(term.Safe(warning)))
	}
	p.repairedFiles(s, r.DataFiles)
	p.otherFindings(s, r)
	p.removed(s, r)
	for _, m := range r.Manifests {
		p.printf("  %s %s\n", s.Dim("manifest:"), term.Safe(m))
	}
	if r.RestoreRows > 0 || r.NeedsConfirmation {
		p.printf("\n  %s\n", s.Bad(term.Plural(r.RestoreRows, "deleted row", "deleted rows")+comingBack(r)))
	}
	if r.Committed {
		p.printf("\n")
		beforeAfter(p, s, r.Before, r.After)
		verified(p, r.Verification)
	}
	skips(p, s, r.Skipped)
	p.next(s, r, err)
	var parts []string
	if text := requests(r.Requests); text != "" {
		parts = append(parts, text)
	}
	p.printf("\n  %s\n", s.Dim(strings.Join(append(parts, term.Seconds(r.Seconds)), "; ")))
	return p.err
}

func repairOutcome(s term.Style, r *repair.Report, err error) string {
	switch {
	case err != nil && r.Committed:
		return s.Bad("failed after committing snapshot " + id(r.SnapshotAfter))
	case err != nil:
		return s.Bad(failed(err))
	case r.Committed:
		return s.Good("committed snapshot "+id(r.SnapshotAfter)) + s.Dim(" after "+id(r.SnapshotBefore))
	case len(r.Findings) == 0:
		return s.Good("nothing to repair")
	}
	return s.Warn("would commit one snapshot") + s.Dim(", operation "+r.Operation)
}

// repairedFiles is the table of data files, below each what its deletes were worked out from, and a line about those that
// only move. Paths are last, because long ones would push everything behind them out of sight.
func (p *page) repairedFiles(s term.Style, files []repair.DataFile) {
	mended := slices.DeleteFunc(slices.Clone(files), func(f repair.DataFile) bool { return len(f.Issues) == 0 })
	moved, shown := len(files)-len(mended), mended[:min(examples, len(mended))]
	t := &term.Table{Indent: "  ", Right: []bool{true, true, true}}
	t.Row(s.Dim("deleted before"), s.Dim("after"), s.Dim("come back"), s.Dim("repair"))
	for _, f := range shown {
		t.Row(known(f.Before), term.Count(f.After), comeBack(s, f.Restored), class(s, f.Repair), s.Dim(strings.Join(f.Issues, ", ")), term.Safe(f.Path))
	}
	if len(shown) > 0 {
		p.withSources(t, shown)
	}
	if more := len(mended) - len(shown); more > 0 {
		p.printf("  %s\n", s.Dim("and "+term.Count(int64(more))+" more; --output json lists all"))
	}
	if slices.ContainsFunc(shown, func(f repair.DataFile) bool { return f.Before == nil }) {
		p.printf("  %s\n", s.Dim("?: readers fail, or disagree"))
	}
	if moved > 0 {
		p.printf("  %s\n", s.Dim(term.Plural(int64(moved), "more deletion vector moves", "more deletion vectors move")+" unchanged: the same Puffin file holds what is repaired"))
	}
}

// withSources writes the table with the sources of each data file below its row.
func (p *page) withSources(t *term.Table, files []repair.DataFile) {
	var rows strings.Builder
	_, _ = t.WriteTo(&rows) // a builder takes everything
	lines := strings.Split(rows.String(), "\n")
	p.printf("\n%s\n", lines[0])
	for i, f := range files {
		p.printf("%s\n", lines[i+1])
		for _, source := range f.Sources {
			p.printf("      %s\n", term.Safe(source))
		}
	}
}

// otherFindings lists what is repaired and is about no data file.
func (p *page) otherFindings(s term.Style, r *repair.Report) {
	told := map[string]bool{}
	for _, f := range r.DataFiles {
		for _, issue := range f.Issues {
			told[issue] = true
		}
	}
	n := 0
	for _, f := range r.Findings {
		if told[f.Issue] {
			continue
		}
		if n++; n == 1 {
			p.printf("\n")
		}
		if n > examples {
			continue
		}
		p.printf("  %s %s  %s\n", class(s, f.Repair), s.Dim(f.Issue), term.Safe(f.Detail))
	}
	if n > examples {
		p.printf("  %s\n", s.Dim("and "+term.Count(int64(n-examples))+" more; --output json lists all"))
	}
}

func known(n *int64) string {
	if n == nil {
		return "?"
	}
	return term.Count(*n)
}

func comeBack(s term.Style, n int64) string {
	if n == 0 {
		return "0"
	}
	return s.Bad(term.Count(n))
}

func comingBack(r *repair.Report) string {
	if r.Committed {
		return " came back"
	}
	return " would come back"
}

func class(s term.Style, r check.Repair) string {
	if r == check.Ask {
		return s.Bad(string(r))
	}
	return string(r)
}

// removed lists the entries that go.
func (p *page) removed(s term.Style, r *repair.Report) {
	if len(r.Removed) == 0 {
		return
	}
	p.printf("\n  %s\n", term.Plural(int64(len(r.Removed)), "delete entry goes", "delete entries go"))
	for i, d := range r.Removed {
		if i == examples {
			p.printf("    %s\n", s.Dim(fmt.Sprintf("and %d more", len(r.Removed)-examples)))
			break
		}
		at := d.Location
		if d.Offset != nil && d.Length != nil {
			at += fmt.Sprintf(" at %d+%d", *d.Offset, *d.Length)
		}
		p.printf("    %s\n", term.Safe(at))
	}
}

// next says what to do from here: how to apply, or how to go back.
func (p *page) next(s term.Style, r *repair.Report, err error) {
	switch {
	case r.Committed:
		p.printf("\n  %s %s\n", s.Dim("to go back:"), term.Safe(r.RollBack))
		if r.Tag != "" {
			p.printf("  %s %s keeps the snapshot before from expiring; drop it when nobody has to go back\n", s.Dim("tag:"), term.Safe(r.Tag))
		}
		for _, c := range r.Copies {
			p.printf("  %s %s %s\n", s.Dim("copy:"), term.Safe(c.Of), s.Dim("in "+term.Safe(c.Location)))
		}
	case err != nil || len(r.Findings) == 0:
	case r.NeedsConfirmation:
		p.printf("\n  %s add --apply --restore-rows %d to do it and agree that these rows come back\n", s.Dim("next:"), r.RestoreRows)
	default:
		p.printf("\n  %s add --apply to do it\n", s.Dim("next:"))
	}
}
