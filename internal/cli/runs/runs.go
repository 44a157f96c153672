// Package runs carries out a command on the tables it names, one after the other: it finds them, runs, prints what was
// done as text or as one document, and makes one exit code of many outcomes.
package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/cli/document"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/cli/show"
	"github.com/dvcompactor/dvcompactor/internal/logkey"
	"github.com/dvcompactor/dvcompactor/internal/term"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"go.uber.org/zap"
)

// Output is where results go and in what form.
type Output struct {
	Out   io.Writer
	JSON  bool
	Style term.Style
	Log   *zap.Logger
}

// result is what there is to tell of one table.
type result struct {
	doc       any
	text      func(io.Writer) error
	committed bool
	err       error
}

// job is one command on several tables.
type job struct {
	Output
	lake *lake.Lake
	ref  string
	list bool                // print the list form, because the command line may mean several tables
	save func(doc any) error // before the result is complete; may be nil
	run  func(ctx context.Context, cat catalog.Catalog, t lake.Target) result

	docs document.List
	done int
	errs []error
}

// all runs the job on every table. One failure never stops the others, an interruption does.
func (j *job) all(ctx context.Context, targets []lake.Target) error {
	j.docs = document.List{Tables: []any{}, Skipped: []document.Skipped{}, Failed: []any{}}
	for i, t := range targets {
		if ctx.Err() != nil {
			j.notBegun(targets[i:], context.Cause(ctx))
			break
		}
		if err := j.one(ctx, t, i); err != nil {
			return err
		}
	}
	if err := j.finish(); err != nil {
		return err
	}
	return summarise(j.errs, j.done)
}

// notBegun notes the tables that an interruption left no time for.
func (j *job) notBegun(targets []lake.Target, cause error) {
	for _, t := range targets {
		err := fmt.Errorf("not begun: %w", cause)
		j.errs = append(j.errs, err)
		j.docs.Failed = append(j.docs.Failed, document.Failed{Table: t.Name(), Ref: j.ref, Failure: document.NewFailure(err, false)})
	}
}

func (j *job) one(ctx context.Context, t lake.Target, index int) error {
	cat, err := j.lake.Catalog(ctx, t.Catalog)
	r := result{err: err}
	if err == nil {
		r = j.run(ctx, cat, t)
	}
	if t.Globbed && errors.Is(r.err, maintenance.ErrOptedOut) {
		j.docs.Skipped = append(j.docs.Skipped, document.Skipped{Table: t.Name(), Reason: maintenance.ErrOptedOut.Error()})
		return j.print(index, func(w io.Writer) error { return show.Skipped(w, j.Style, t.Name(), maintenance.ErrOptedOut.Error()) })
	}
	return j.note(ctx, t, r, index)
}

// note keeps a result for the document, or prints its text.
func (j *job) note(ctx context.Context, t lake.Target, r result, index int) error {
	if r.doc == nil && r.err != nil {
		r = j.nothing(t, exit.Interruption(ctx, r.err))
	}
	j.docs.Committed = j.docs.Committed || r.committed
	if r.err == nil {
		j.done++
		j.docs.Tables = append(j.docs.Tables, r.doc)
	} else {
		j.errs = append(j.errs, r.err)
		j.docs.Failed = append(j.docs.Failed, r.doc)
	}
	return j.print(index, r.text)
}

// nothing is the result of a table on which nothing was done.
func (j *job) nothing(t lake.Target, err error) result {
	j.Log.Error("run failed", append([]zap.Field{zap.String(logkey.Table, t.Name())}, failure(err)...)...)
	return result{
		doc: document.Failed{Table: t.Name(), Ref: j.ref, Failure: document.NewFailure(err, false)}, err: err,
		text: func(w io.Writer) error { return show.Failure(w, j.Style, t.Name(), err) },
	}
}

// print writes the text of one table, with an empty line before all but the first.
func (j *job) print(index int, text func(io.Writer) error) error {
	if j.JSON {
		return nil
	}
	if index > 0 {
		if _, err := fmt.Fprintln(j.Out); err != nil {
			return err
		}
	}
	return text(j.Out)
}

// finish prints the document, or a line about how many tables there were.
func (j *job) finish() error {
	if j.save != nil {
		if err := j.save(j.document()); err != nil {
			return err
		}
	}
	if j.JSON {
		return document.Write(j.Out, j.document())
	}
	if !j.list {
		return nil
	}
	_, err := fmt.Fprintf(j.Out, "\n%s done, %d skipped, %d failed\n", term.Plural(int64(j.done), "table", "tables"), len(j.docs.Skipped), len(j.errs))
	return err
}

// document is that of the only table, or of the list.
func (j *job) document() any {
	if only := slices.Concat(j.docs.Tables, j.docs.Failed); !j.list && len(only) == 1 {
		return only[0]
	}
	return j.docs
}

// summarise makes one error of the errors of several tables: Partial when some tables went well, the common code of
// all errors when none did, else Failed. An interruption outweighs everything.
func summarise(errs []error, done int) error {
	if len(errs) == 0 {
		return nil
	}
	all := errors.Join(errs...)
	code := exit.Of(errs[0])
	for _, err := range errs {
		switch c := exit.Of(err); {
		case c >= exit.Interrupted:
			return exit.Reported(err)
		case c != code:
			code = exit.Failed
		}
	}
	if done > 0 {
		code = exit.Partial
	}
	return &exit.Error{Code: code, Err: all, Reported: true}
}
