package lake

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// Lake is the catalogs of a configuration, connected to when they are first needed. It is not safe for concurrent use.
type Lake struct {
	settings Settings
	open     map[string]catalog.Closer
	store    *storage.Store
}

// New makes a lake of settings. Nothing is connected to.
func New(s Settings) *Lake { return &Lake{settings: s, open: map[string]catalog.Closer{}} }

// Settings returns what the lake was made of.
func (l *Lake) Settings() Settings { return l.settings }

// Catalogs returns the names of the catalogs, sorted.
func (l *Lake) Catalogs() []string {
	out := make([]string, 0, len(l.settings.Catalogs))
	for name := range l.settings.Catalogs {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Catalog connects to a catalog.
func (l *Lake) Catalog(ctx context.Context, name string) (catalog.Catalog, error) {
	if c, ok := l.open[name]; ok {
		return c, nil
	}
	o, ok := l.settings.Catalogs[name]
	if !ok {
		return nil, exit.With(exit.NotFound, fmt.Errorf("%w %q in the configuration", errNoCatalog, name))
	}
	o.Observe = l.settings.Observe
	c, err := catalog.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	l.open[name] = c
	return c, nil
}

// Commits says what commits to a catalog rely on, once it is connected to.
func (l *Lake) Commits(name string) string {
	if c, ok := l.open[name]; ok {
		return c.Commits()
	}
	return ""
}

// Close ends all connections. Nothing that was done depends on how they end, so there is no error.
func (l *Lake) Close() {
	for _, c := range l.open {
		_ = c.Close()
	}
	if l.store != nil {
		_ = l.store.Close()
	}
	l.open, l.store = map[string]catalog.Closer{}, nil
}

// Target is a table to work on.
type Target struct {
	Catalog    string
	Identifier []string
	// Globbed says that a glob found the table and nobody named it.
	Globbed bool
}

// Name returns "catalog.namespace.table".
func (t Target) Name() string { return t.Catalog + "." + strings.Join(t.Identifier, ".") }

// Find returns the tables that names and globs mean, each once, in the order of the names. A glob that matches nothing
// is an error, because it is most likely a mistake.
func (l *Lake) Find(ctx context.Context, names []string) ([]Target, error) {
	var out []Target
	seen := map[string]bool{}
	for _, text := range names {
		n, err := ParseName(text, l.Catalogs())
		if err != nil {
			return nil, err
		}
		found, err := l.find(ctx, n)
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			if !seen[t.Name()] {
				seen[t.Name()] = true
				out = append(out, t)
			}
		}
	}
	return out, nil
}

// All returns every table of every catalog.
func (l *Lake) All(ctx context.Context) ([]Target, error) {
	var out []Target
	for _, name := range l.Catalogs() {
		tables, err := l.list(ctx, name, Name{Catalog: name, Table: []string{"*"}})
		if err != nil {
			return nil, err
		}
		out = append(out, tables...)
	}
	return out, nil
}

func (l *Lake) find(ctx context.Context, n Name) ([]Target, error) {
	if !n.Glob() {
		return []Target{{Catalog: n.Catalog, Identifier: n.Table}}, nil
	}
	var out []Target
	for _, name := range l.Catalogs() {
		if !config.MatchText(n.Catalog, name) {
			continue
		}
		tables, err := l.list(ctx, name, n)
		if err != nil {
			return nil, err
		}
		out = append(out, tables...)
	}
	if len(out) == 0 {
		return nil, exit.With(exit.NotFound, fmt.Errorf("%w: nothing matches %s", catalog.ErrNotFound, n.Text))
	}
	return out, nil
}

func (l *Lake) list(ctx context.Context, name string, n Name) ([]Target, error) {
	c, err := l.Catalog(ctx, name)
	if err != nil {
		return nil, err
	}
	tables, err := c.List(ctx, n.namespace())
	if err != nil {
		return nil, err
	}
	var out []Target
	for _, id := range tables {
		if n.Match(name, id) {
			out = append(out, Target{Catalog: name, Identifier: id, Globbed: true})
		}
	}
	slices.SortFunc(out, func(a, b Target) int { return slices.Compare(a.Identifier, b.Identifier) })
	return out, nil
}

// namespace returns the namespace levels before the first glob: only what is below them needs to be listed.
func (n Name) namespace() []string {
	levels := n.Table[:len(n.Table)-1]
	for i, level := range levels {
		if config.IsGlob(level) {
			return levels[:i]
		}
	}
	return levels
}
