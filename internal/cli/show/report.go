package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/term"
	"github.com/dvcompactor/dvcompactor/maintenance"
)

// Report writes what a run did. err is why it failed, or nil.
func Report(w io.Writer, s term.Style, r *maintenance.Report, err error) error {
	p := &page{w: w}
	p.printf("%s  %s  %s  %s\n", s.Bold(term.Safe(r.Table)), term.Safe(r.Ref), r.Action, outcome(s, r, err))
	p.failure(s, err)
	for _, warning := range r.Warnings {
		p.printf("  %s\n", s.Warn(term.Safe(warning)))
	}
	p.printf("\n")
	if r.Committed {
		beforeAfter(p, s, r.Before, r.After)
		digests(p, s, r)
		verified(p, r.Verification)
	} else {
		counts(p, r.Before)
	}
	skips(p, s, r.Skipped)
	dropped(p, s, r.Dropped)
	effort(p, s, r)
	return p.err
}

// Failure writes why nothing was done to a table.
func Failure(w io.Writer, s term.Style, table string, err error) error {
	p := &page{w: w}
	p.printf("%s  %s\n", s.Bold(term.Safe(table)), s.Bad(failed(err)))
	p.failure(s, err)
	return p.err
}

// Skipped writes why a table was left alone.
func Skipped(w io.Writer, s term.Style, table, reason string) error {
	p := &page{w: w}
	p.printf("%s  %s\n", s.Bold(term.Safe(table)), s.Warn("skipped: "+reason))
	return p.err
}

func (p *page) failure(s term.Style, err error) {
	if err != nil {
		p.printf("  %s\n", s.Bad(term.Safe(exit.Text(err))))
	}
}

// failed says in a word or two how a run failed.
func failed(err error) string {
	if exit.Kind(err) == exit.KindUnknownOutcome {
		return "failed, and whether it was committed is not known"
	}
	switch exit.Of(err) {
	case exit.Refused:
		return "refused, nothing was done"
	case exit.Stale:
		return "plan is stale, nothing was done"
	case exit.NotFound:
		return "not found"
	case exit.Interrupted, exit.Terminated:
		return "interrupted"
	}
	return "failed"
}

func outcome(s term.Style, r *maintenance.Report, err error) string {
	switch {
	case err != nil && r.Committed:
		return s.Bad("failed after committing snapshot " + id(r.SnapshotAfter))
	case err != nil:
		return s.Bad(failed(err))
	case !r.Committed:
		return "nothing to do"
	}
	text := s.Good("committed snapshot "+id(r.SnapshotAfter)) + s.Dim(" after "+id(r.SnapshotBefore))
	if r.UpgradedFormat {
		text += s.Warn("  upgraded to format version 3")
	}
	return text
}

func id(n *int64) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}

// count is one line of the table of counts.
type count struct {
	name  string
	value func(maintenance.Counts) int64
	text  func(int64) string
	// less says that fewer are better.
	less bool
}

func countLines() []count {
	n := term.Count
	return []count{
		{"position delete files", func(c maintenance.Counts) int64 { return int64(c.PositionDeleteFiles) }, n, true},
		{"equality delete files", func(c maintenance.Counts) int64 { return int64(c.EqualityDeleteFiles) }, n, false},
		{"deletion vectors", func(c maintenance.Counts) int64 { return int64(c.DeletionVectors) }, n, false},
		{"puffin files", func(c maintenance.Counts) int64 { return int64(c.PuffinFiles) }, n, true},
		{"delete manifests", func(c maintenance.Counts) int64 { return int64(c.DeleteManifests) }, n, true},
		{"deleted rows", func(c maintenance.Counts) int64 { return c.DeletedRows }, n, false},
		{"size of deletes", func(c maintenance.Counts) int64 { return c.DeleteBytes }, term.Size, true},
	}
}

func beforeAfter(p *page, s term.Style, before, after maintenance.Counts) {
	t := &term.Table{Indent: "  ", Right: []bool{false, true, true}}
	t.Row("", s.Dim("before"), s.Dim("after"))
	for _, line := range countLines() {
		b, a := line.value(before), line.value(after)
		text := line.text(a)
		if line.less && a < b {
			text = s.Good(text)
		}
		t.Row(line.name, line.text(b), text)
	}
	p.table(t)
}

func counts(p *page, c maintenance.Counts) {
	t := &term.Table{Indent: "  ", Right: []bool{false, true}}
	for _, line := range countLines() {
		t.Row(line.name, line.text(line.value(c)))
	}
	p.table(t)
}

func digests(p *page, s term.Style, r *maintenance.Report) {
	if r.DigestBefore == "" {
		return
	}
	verdict := s.Good("equal")
	if r.DigestBefore != r.DigestAfter {
		verdict = s.Bad("DIFFERENT")
	}
	p.printf("\n  digest of the deleted positions of %s\n", term.Plural(int64(r.DataFiles), "data file", "data files"))
	p.printf("    before  %s\n    after   %s  %s\n", r.DigestBefore, r.DigestAfter, verdict)
}

func verified(p *page, v maintenance.Verification) {
	if len(v.Checks) == 0 {
		return
	}
	p.printf("\n  %s compared after the commit: %s, %s read, %s\n", term.Plural(int64(len(v.Checks)), "invariant", "invariants"),
		term.Plural(v.Requests, "request", "requests"), term.Size(v.Bytes), term.Seconds(v.Seconds))
}

func dropped(p *page, s term.Style, files []string) {
	if len(files) == 0 {
		return
	}
	p.printf("\n  %s left out because their deletes changed during the run; the next run takes them\n", s.Warn(term.Plural(int64(len(files)), "data file", "data files")))
	for i, f := range files {
		if i == examples {
			p.printf("    %s\n", s.Dim(fmt.Sprintf("and %d more", len(files)-examples)))
			return
		}
		p.printf("    %s\n", term.Safe(f))
	}
}

func effort(p *page, s term.Style, r *maintenance.Report) {
	var parts []string
	if text := requests(r.Requests); text != "" {
		parts = append(parts, text)
	}
	if r.Attempts > 1 {
		parts = append(parts, fmt.Sprintf("%d attempts to commit", r.Attempts))
	}
	parts = append(parts, term.Seconds(r.Seconds))
	p.printf("\n  %s\n", s.Dim(strings.Join(parts, "; ")))
}

func requests(r storage.Stats) string {
	if r.Requests() == 0 {
		return ""
	}
	text := term.Plural(r.Requests(), "request", "requests")
	if r.Retries > 0 {
		text += fmt.Sprintf(" (%s)", term.Plural(r.Retries, "retry", "retries"))
	}
	return fmt.Sprintf("%s; %s read, %s written", text, term.Size(r.BytesRead), term.Size(r.BytesWritten))
}
