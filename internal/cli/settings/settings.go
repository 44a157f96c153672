// Package settings carries out the command config: it checks the configuration, connects when asked to, and prints it
// with secrets masked.
package settings

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/cli/document"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/cli/runs"
	"github.com/dvcompactor/dvcompactor/internal/term"
)

// Result is the document of config check.
type Result struct {
	Config   string    `json:"config"` // path of the file, or the masked URI of the catalog
	Valid    bool      `json:"valid"`
	Mistakes []Mistake `json:"mistakes"`
	Catalogs []Catalog `json:"catalogs"`
	Policies []Policy  `json:"policies"`
}

// Mistake is one mistake in the file.
type Mistake struct {
	Line   int    `json:"line"` // from 1; 0 when the mistake is not at a place
	Path   string `json:"path"`
	Reason string `json:"reason"`
	Got    string `json:"got,omitempty"`
}

// Policy is one policy and how many tables it takes.
type Policy struct {
	Name   string `json:"name"`
	Action string `json:"action"`
	Tables *int   `json:"tables"` // null when not asked, or when a catalog does not answer
}

// CheckOptions of config check.
type CheckOptions struct {
	runs.Output
	Source lake.Source
	// Connect asks every catalog for its tables, and loads one of them.
	Connect bool
}

// Check reads the configuration and says what is wrong with it.
func Check(ctx context.Context, o CheckOptions) error {
	result := Result{Config: o.Source.Config, Valid: true, Mistakes: []Mistake{}, Catalogs: []Catalog{}, Policies: []Policy{}}
	if result.Config == "" {
		result.Config = config.Redact(o.Source.CatalogURI)
	}
	c, err := o.Source.Load()
	if err != nil {
		var mistakes config.Errors
		if !errors.As(err, &mistakes) {
			return exit.With(exit.Usage, err)
		}
		result.invalid(mistakes)
		return errors.Join(o.print(result), reported(exit.Usage, err))
	}
	failed := result.connect(ctx, c, o.Connect)
	return errors.Join(o.print(result), failed)
}

func reported(code exit.Code, err error) error {
	return &exit.Error{Code: code, Err: err, Reported: true}
}

func (r *Result) invalid(mistakes config.Errors) {
	r.Valid = false
	for _, m := range mistakes {
		r.Mistakes = append(r.Mistakes, Mistake{Line: m.Line, Path: m.Path, Reason: m.Reason, Got: m.Got})
	}
}

// connect lists the catalogs, and asks each when connect is true. The error has the code Partial when something works with
// some catalogs only.
func (r *Result) connect(ctx context.Context, c *config.Config, connect bool) error {
	l := lake.New(lake.NewSettings(c))
	defer l.Close()
	var failed []error
	var tables []string
	listed := connect
	for _, name := range c.CatalogNames() {
		entry := Catalog{Name: name, Type: c.Catalogs[name].Type, URI: config.Redact(c.Catalogs[name].URI)}
		if connect {
			found, err := entry.ask(ctx, l)
			if err != nil {
				failed = append(failed, err)
			}
			tables, listed = append(tables, found...), listed && entry.Tables != nil
		}
		r.Catalogs = append(r.Catalogs, entry)
	}
	r.policies(c, tables, listed)
	if len(failed) == 0 {
		return nil
	}
	code := exit.Failed
	if len(failed) < len(r.Catalogs) {
		code = exit.Partial
	}
	return reported(code, errors.Join(failed...))
}

// policies lists the policies, and counts what each takes when all tables are known.
func (r *Result) policies(c *config.Config, tables []string, known bool) {
	takes := map[string]int{}
	for _, table := range tables {
		for _, check := range []bool{false, true} {
			if p, _ := c.PolicyFor(table, check); p != nil {
				takes[p.Name]++
			}
		}
	}
	for _, p := range c.Policies {
		entry := Policy{Name: p.Name, Action: p.Action}
		if known {
			n := takes[p.Name]
			entry.Tables = &n
		}
		r.Policies = append(r.Policies, entry)
	}
}

func (o *CheckOptions) print(r Result) error {
	if o.JSON {
		return document.Write(o.Out, r)
	}
	return r.text(o.Out, o.Style)
}

func (r *Result) text(w io.Writer, s term.Style) error {
	if !r.Valid {
		_, err := fmt.Fprintf(w, "%s  %s\n", s.Bold(r.Config), s.Bad("not valid"))
		for _, m := range r.Mistakes {
			mistake := config.Error{File: r.Config, Line: m.Line, Path: m.Path, Reason: m.Reason, Got: m.Got}
			if err == nil {
				_, err = fmt.Fprintf(w, "  %s\n", term.Safe(mistake.Error()))
			}
		}
		return err
	}
	if _, err := fmt.Fprintf(w, "%s  %s\n", s.Bold(r.Config), s.Good("valid")); err != nil {
		return err
	}
	t := &term.Table{Indent: "  "}
	for _, c := range r.Catalogs {
		t.Row(c.cells(s)...)
	}
	for _, p := range r.Policies {
		takes := ""
		switch {
		case p.Tables == nil:
		case *p.Tables == 0:
			takes = s.Warn("takes no table")
		default:
			takes = s.Good("takes " + term.Plural(int64(*p.Tables), "table", "tables"))
		}
		t.Row("policy", s.Bold(p.Name), p.Action, takes)
	}
	if _, err := t.WriteTo(w); err != nil || len(r.Policies) == 0 {
		return err
	}
	_, err := fmt.Fprintf(w, "  %s\n", term.Plural(int64(len(r.Policies)), "policy", "policies"))
	return err
}

// Print writes the configuration as it is in effect: references replaced, defaults filled in, secrets masked.
func Print(w io.Writer, s lake.Source) error {
	c, err := s.Load()
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	text, err := c.Effective()
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}
