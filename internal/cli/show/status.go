package show

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/daemon"
	"github.com/dvcompactor/dvcompactor/internal/term"
)

// Status writes how tables stand under their policies, each with the reason.
func Status(w io.Writer, s term.Style, doc daemon.StatusDocument) error {
	p := &page{w: w}
	for _, name := range slices.Sorted(maps.Keys(doc.Missing)) {
		p.printf("catalog %s  %s: %s\n\n", s.Bold(term.Safe(name)), s.Bad("does not answer"), term.Safe(doc.Missing[name]))
	}
	blocked := 0
	for _, t := range doc.Tables {
		if t.Unread != "" || t.Halted != "" || t.Paused != "" {
			blocked++
		}
		standing(p, s, t)
	}
	p.printf("%s, %d unread, paused or halted\n", term.Plural(int64(len(doc.Tables)), "run on schedule", "runs on schedule"), blocked)
	return p.err
}

func standing(p *page, s term.Style, t daemon.TableStatus) {
	p.printf("%s  %s  %s\n", s.Bold(term.Safe(t.Table)), t.Action, state(s, t))
	rows := &term.Table{Indent: "  "}
	rows.Row(s.Dim("policy"), term.Safe(strings.TrimPrefix(t.Why, "policy ")))
	next := "none"
	if t.Next != nil {
		next = moment(*t.Next)
	}
	rows.Row(s.Dim("next run"), next)
	if len(t.Runs) == 0 {
		rows.Row(s.Dim("last run"), "none yet")
	} else {
		last := t.Runs[len(t.Runs)-1]
		rows.Row(s.Dim("last run"), moment(last.Started)+"  "+ended(s, last))
		if last.Why != "" {
			rows.Row(s.Dim("trigger"), term.Safe(last.Why))
		}
		if worth := last.Worth(); worth != "" {
			rows.Row(s.Dim("worth"), worth)
		}
	}
	p.table(rows)
	p.printf("\n")
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// state says in what state a table is and why.
func state(s term.Style, t daemon.TableStatus) string {
	switch {
	case t.Unread != "":
		return s.Bad("unread") + ": what is remembered of it cannot be read: " + term.Safe(t.Unread)
	case t.Halted != "" && t.Paused != "":
		return s.Bad("halted") + ": " + term.Safe(t.Halted) + "; and paused: " + term.Safe(t.Paused)
	case t.Halted != "":
		return s.Bad("halted") + ": " + term.Safe(t.Halted)
	case t.Paused != "":
		return s.Warn("paused") + ": " + term.Safe(t.Paused)
	case t.Running:
		return s.Good("running")
	}
	return "waits"
}

// ended says how a run ended and what it did.
func ended(s term.Style, r daemon.Run) string {
	result := string(r.Result)
	switch r.Result {
	case daemon.ResultDone, daemon.ResultNothing:
		result = s.Good(result)
	case daemon.ResultFailed, daemon.ResultHalted, daemon.ResultDamaged:
		result = s.Bad(result)
	default:
		result = s.Warn(result)
	}
	out := fmt.Sprintf("%s in %s, %s", result, term.Seconds(r.Seconds), term.Plural(r.Requests, "request", "requests"))
	if r.Committed && r.Before != nil && r.After != nil {
		before, after := r.Before, r.After
		out += fmt.Sprintf(", from %d position delete files and %d puffin files to %d and %d", before.PositionDeleteFiles, before.PuffinFiles, after.PositionDeleteFiles, after.PuffinFiles)
	}
	if r.Error != "" {
		out += ": " + term.Safe(r.Error)
	}
	return out
}
