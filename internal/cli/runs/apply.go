package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/cli/document"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/maintenance"
)

// ApplyOptions of apply.
type ApplyOptions struct {
	Output
	Source lake.Source
	Plan   string // path or location of a saved plan
	// Run says how, not what: action, branch and what decides the plan come from the plan.
	Run maintenance.Options
}

// Apply carries out a saved plan, or refuses.
func Apply(ctx context.Context, o ApplyOptions) error {
	plans, err := o.read(ctx)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(plans))
	for _, p := range plans {
		names = append(names, p.Table)
	}
	l, err := o.Source.Open(names...)
	if err != nil {
		return err
	}
	defer l.Close()
	o.Run = l.Settings().Defaults.Fill(o.Run)
	j := &job{Output: o.Output, lake: l, list: len(plans) != 1}
	targets, err := j.targets(names)
	if err != nil {
		return err
	}
	next := 0
	j.run = func(ctx context.Context, cat catalog.Catalog, t lake.Target) result {
		reviewed := plans[next] // targets are in the order of the plans
		next++
		r, err := maintenance.Apply(ctx, cat, t.Identifier, reviewed, o.Run)
		return finished(o.Output, r, exit.Interruption(ctx, err))
	}
	return j.all(ctx, targets)
}

// targets are the tables of saved plans, of which none may be a glob.
func (j *job) targets(names []string) ([]lake.Target, error) {
	targets := make([]lake.Target, 0, len(names))
	for _, name := range names {
		n, err := lake.ParseName(name, j.lake.Catalogs())
		if err != nil {
			return nil, err
		}
		targets = append(targets, lake.Target{Catalog: n.Catalog, Identifier: n.Table})
	}
	return targets, nil
}

func (o *ApplyOptions) read(ctx context.Context) ([]*maintenance.Plan, error) {
	location, err := lake.Location(o.Plan)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	l, err := o.reader()
	if err != nil {
		return nil, err
	}
	defer l.Close()
	store, err := l.Store(ctx)
	if err != nil {
		return nil, err
	}
	data, err := store.ReadFile(ctx, location)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.With(exit.NotFound, err)
	}
	if err != nil {
		return nil, err
	}
	plans, err := document.ReadPlans(data)
	if err != nil {
		return nil, exit.With(exit.Usage, fmt.Errorf("%s: %w", o.Plan, err))
	}
	return plans, nil
}

// reader is a lake to read the plan through: the plan names the tables, which the other lake has to know.
func (o *ApplyOptions) reader() (*lake.Lake, error) {
	if o.Source.CatalogURI != "" {
		return lake.New(lake.Settings{}), nil
	}
	return o.Source.Open()
}
