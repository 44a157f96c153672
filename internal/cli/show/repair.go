package show

import (
	"fmt"
	"io"
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
	p.removed(s, r)
	for _, m := range r.Manifests {
		p.printf("  %s %s\n", s.Dim("manifest:"), term.Safe(m))
	}
	if r.RestoreRows > 0 || r.NeedsConfirmation {
		p.printf("\n  %s\n", s.Bad(term.Plural(r.RestoreRows, "deleted row comes", "deleted rows come")+" back"))
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

// repairedFiles is the table of data files: those that are repaired, and a line about those that only move.
func (p *page) repairedFiles(s term.Style, files []repair.DataFile) {
	t := &term.Table{Indent: "  ", Right: []bool{false, true, true, true}}
	t.Row(s.Dim("data file"), s.Dim("deleted before"), s.Dim("after"), s.Dim("come back"), "")
	var shown []repair.DataFile
	moved, more := 0, 0
	for _, f := range files {
		switch {
		case len(f.Issues) == 0:
			moved++
		case len(shown) == examples:
			more++
		default:
			shown = append(shown, f)
			t.Row(term.Safe(f.Path), known(f.Before), term.Count(f.After), comeBack(s, f.Restored), class(s, f.Repair)+" "+s.Dim(strings.Join(f.Issues, ", ")))
		}
	}
	if len(shown) > 0 {
		p.printf("\n")
		p.table(t)
	}
	if more > 0 {
		p.printf("  %s\n", s.Dim("and "+term.Count(int64(more))+" more; --output json lists all"))
	}
	for _, f := range shown {
		for _, source := range f.Sources {
			p.printf("  %s %s\n", s.Dim("from:"), term.Safe(source))
		}
	}
	if moved > 0 {
		p.printf("  %s\n", s.Dim(term.Plural(int64(moved), "more deletion vector moves", "more deletion vectors move")+" unchanged, because they share a Puffin file with what is repaired"))
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
			p.printf("  %s %s, on the snapshot before\n", s.Dim("tag:"), term.Safe(r.Tag))
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
