package serve

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/daemon"
	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// lakes are the catalogs of a configuration, each connected to by itself, so that one that does not answer holds up no other.
// They are safe for concurrent use.
type lakes struct {
	config   *config.Config
	settings lake.Settings

	mu   sync.Mutex
	open map[string]*guarded
}

// guarded is a lake of which one at a time may make use.
type guarded struct {
	mu   sync.Mutex
	lake *lake.Lake
}

// open reads the configuration. observe, when there is one, is told of every request to a store.
func open(source lake.Source, observe func(storage.Op, time.Duration, error)) (*lakes, error) {
	c, err := source.Load()
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	if len(c.Policies) == 0 {
		return nil, exit.Usagef("the configuration has no policies: a daemon would have nothing to do")
	}
	settings := lake.NewSettings(c)
	settings.Observe = observe
	return &lakes{config: c, settings: settings, open: map[string]*guarded{}}, nil
}

// of returns the lake of a catalog, or of none.
func (l *lakes) of(catalog string) *guarded {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.open[catalog]
	if g == nil {
		g = &guarded{lake: lake.New(l.settings)}
		l.open[catalog] = g
	}
	return g
}

func (l *lakes) catalog(ctx context.Context, name string) (catalog.Catalog, error) {
	g := l.of(name)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lake.Catalog(ctx, name)
}

// list returns the full names of the tables of a catalog.
func (l *lakes) list(ctx context.Context, name string) ([]string, error) {
	c, err := l.catalog(ctx, name)
	if err != nil {
		return nil, err
	}
	tables, err := c.List(ctx, nil)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(tables))
	for _, id := range tables {
		out = append(out, name+"."+strings.Join(id, "."))
	}
	return out, nil
}

// states opens what is remembered.
func (l *lakes) states(ctx context.Context) (daemon.States, error) {
	if l.config.Daemon.State == "" {
		return daemon.NewMemory(), nil
	}
	location, err := lake.Location(l.config.Daemon.State)
	if err != nil {
		return nil, err
	}
	g := l.of("")
	g.mu.Lock()
	defer g.mu.Unlock()
	store, err := g.lake.Store(ctx)
	if err != nil {
		return nil, err
	}
	return daemon.NewObjects(store, location), nil
}

// close ends all connections.
func (l *lakes) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.open {
		g.mu.Lock()
		g.lake.Close()
		g.mu.Unlock()
	}
}
