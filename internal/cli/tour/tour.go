// Package tour carries out the command demo: it has a lakehouse made and worn down, and shows it before and after.
package tour

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/dvcompactor/dvcompactor/internal/cli/document"
	"github.com/dvcompactor/dvcompactor/internal/cli/runs"
	"github.com/dvcompactor/dvcompactor/internal/demo"
	"github.com/dvcompactor/dvcompactor/internal/term"
)

// Options of demo.
type Options struct {
	runs.Output
	Demo demo.Options // an empty Dir means a new folder for temporary files
}

// Document is the result as JSON.
type Document struct {
	*demo.Result
	Migrate document.Run `json:"migrate"`
	Compact document.Run `json:"compact"`
}

// Run makes the lakehouse, shows what happened to it and how to look around. The folder stays.
func Run(ctx context.Context, o Options) error {
	if o.Demo.Dir == "" {
		dir, err := os.MkdirTemp("", "dvcompactor-demo-")
		if err != nil {
			return err
		}
		o.Demo.Dir = dir
	}
	r, err := demo.Run(ctx, o.Demo)
	if err != nil {
		return fmt.Errorf("%w (what was made is in %s)", err, o.Demo.Dir)
	}
	if o.JSON {
		return document.Write(o.Out, Document{Result: r, Migrate: document.NewRun(r.Migrate, nil), Compact: document.NewRun(r.Compact, nil)})
	}
	return show(o.Out, o.Style, r)
}

func show(w io.Writer, s term.Style, r *demo.Result) error {
	if _, err := fmt.Fprintf(w, "%s  %s\n\n", s.Bold(r.Table), s.Dim("in "+r.Dir)); err != nil {
		return err
	}
	if _, err := steps(s, r).WriteTo(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n%s", s.Good("Every scan after a run read the same rows as before it."), lookAround(r))
	return err
}

// steps is the table with a row for each step.
func steps(s term.Style, r *demo.Result) *term.Table {
	t := &term.Table{Indent: "  ", Right: []bool{false, true, true, true, true, true, true, true}}
	header := []string{"step", "position deletes", "vectors", "puffins", "size of deletes", "objects per scan", "scan", "rows", "checksum"}
	for i, h := range header {
		header[i] = s.Dim(h)
	}
	t.Row(header...)
	for _, step := range r.Steps {
		c := step.Counts
		t.Row(step.Name, term.Count(int64(c.PositionDeleteFiles)), term.Count(int64(c.DeletionVectors)), term.Count(int64(c.PuffinFiles)),
			term.Size(c.DeleteBytes), term.Count(int64(step.OpenObjects)), term.Seconds(step.ScanSeconds), term.Count(step.Rows), short(step.Checksum))
	}
	return t
}

func short(checksum string) string {
	const enough = 12
	return checksum[:min(enough, len(checksum))]
}

func lookAround(r *demo.Result) string {
	return fmt.Sprintf(`
Look around:
  dvcompactor inspect --catalog-uri %[1]s %[2]s
  dvcompactor plan    --catalog-uri %[1]s %[2]s
  dvcompactor inspect %[3]s
Clean up:
  rm -r %[4]s
`, r.CatalogURI, r.Table, onePuffin(r), r.Dir)
}

// onePuffin is a file to inspect.
func onePuffin(r *demo.Result) string {
	if r.Compact != nil && len(r.Compact.Puffins) > 0 {
		return r.Compact.Puffins[0]
	}
	return "FILE"
}
