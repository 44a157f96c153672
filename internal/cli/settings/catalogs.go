package settings

import (
	"context"
	"fmt"
	"strings"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/term"
)

// Catalog is one catalog, and what works with it. Everything that was not asked, or did not work, is null.
type Catalog struct {
	Name       string  `json:"name"`
	Type       string  `json:"type"`
	URI        string  `json:"uri"` // masked
	Tables     *int    `json:"tables"`
	Namespaces *int    `json:"namespaces"` // of these tables
	Commits    *string `json:"commits"`    // what a commit relies on
	Loaded     *string `json:"loaded"`     // a table that was loaded, and whose metadata file is there; also null when there is no table
	Store      *string `json:"store"`      // where that file is, as scheme://bucket
	Error      *string `json:"error"`      // the first thing that did not work
}

// tried is how many tables are loaded at most until one works: the first may be damaged.
const tried = 3

// ask asks a catalog for its tables, loads one, and returns their full names as far as they are known.
func (c *Catalog) ask(ctx context.Context, l *lake.Lake) ([]string, error) {
	cat, err := l.Catalog(ctx, c.Name)
	if err != nil {
		return nil, c.failed(err)
	}
	c.Commits = ptr(l.Commits(c.Name))
	tables, err := cat.List(ctx, nil)
	if err != nil {
		return nil, c.failed(err)
	}
	names, namespaces := make([]string, 0, len(tables)), map[string]bool{}
	for _, id := range tables {
		names = append(names, c.Name+"."+strings.Join(id, "."))
		namespaces[strings.Join(id[:len(id)-1], ".")] = true
	}
	c.Tables, c.Namespaces = ptr(len(tables)), ptr(len(namespaces))
	return names, c.failed(c.load(ctx, cat, tables))
}

func ptr[T any](v T) *T { return &v }

// failed notes an error, if it is one.
func (c *Catalog) failed(err error) error {
	if err != nil {
		c.Error = ptr(config.Redact(err.Error()))
	}
	return err
}

// load loads the first tables until one works. The error is that of the first.
func (c *Catalog) load(ctx context.Context, cat catalog.Catalog, tables [][]string) (first error) {
	for _, id := range tables[:min(len(tables), tried)] {
		t, err := cat.Load(ctx, id)
		if err == nil {
			_, err = t.Store.Size(ctx, t.MetadataLocation)
		}
		if err == nil {
			c.Loaded, c.Store = ptr(strings.Join(id, ".")), ptr(config.Redact(storeOf(t.MetadataLocation)))
			return nil
		}
		if first == nil {
			first = fmt.Errorf("loading %s: %w", strings.Join(id, "."), err)
		}
	}
	return first
}

// storeOf is the part of a location that names its store: s3://bucket, file://.
func storeOf(location string) string {
	scheme, rest, found := strings.Cut(location, "://")
	if !found {
		return "file://"
	}
	bucket, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + bucket
}

// cells are the row of the table for people. What may be long is last.
func (c *Catalog) cells(s term.Style) []string {
	out := []string{"catalog", s.Bold(c.Name), c.Type, term.Safe(c.URI)}
	switch {
	case c.Tables != nil:
		out = append(out, s.Good(term.Plural(int64(*c.Tables), "table", "tables")+" in "+term.Plural(int64(*c.Namespaces), "namespace", "namespaces")))
	case c.Error != nil:
		out = append(out, s.Bad("does not list"))
	}
	switch {
	case c.Error != nil:
		out = append(out, s.Bad(term.Safe(*c.Error)))
	case c.Loaded != nil:
		out = append(out, s.Good("loads "+term.Safe(*c.Loaded)+" from "+term.Safe(*c.Store))+", commits by "+*c.Commits)
	case c.Commits != nil:
		out = append(out, "commits by "+*c.Commits)
	}
	return out
}
