package demo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/maintenance"
)

// Names of the demo's catalog and table.
const (
	CatalogName = "demo"
	TableName   = "orders"
)

// ErrRowsChanged says that a scan read other rows after a run than before it.
var ErrRowsChanged = errors.New("the rows of the table changed")

// Options of a demo.
type Options struct {
	Dir      string // where the lakehouse is made; must not hold one yet
	Version  string // of this program
	Progress maintenance.Progress
	// Scale divides the size of the table, for tests; 0 means 1.
	Scale int
}

// Step is the table after one step of the demo.
type Step struct {
	Name        string             `json:"name"`
	Counts      maintenance.Counts `json:"counts"`
	Rows        int64              `json:"rows"`
	Checksum    string             `json:"checksum"`     // of all rows, whatever their order
	OpenObjects int                `json:"open_objects"` // that a full scan opens: data files and delete files
	ScanSeconds float64            `json:"scan_seconds"`
}

// Result is what the demo showed.
type Result struct {
	Dir        string              `json:"dir"`
	CatalogURI string              `json:"catalog_uri"`
	Table      string              `json:"table"`
	Steps      []Step              `json:"steps"`
	Migrate    *maintenance.Report `json:"migrate"`
	Compact    *maintenance.Report `json:"compact"`
}

// demo is a running demo.
type demo struct {
	options Options
	catalog catalog.Closer
	result  *Result
	jobs    *jobs
}

// Run makes the lakehouse and walks through the steps. The folder stays, so that one can look around in it.
func Run(ctx context.Context, o Options) (_ *Result, err error) {
	o.Scale = max(o.Scale, 1)
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, err
	}
	uri, err := lakewriter.CreateLake(ctx, o.Dir, CatalogName)
	if err != nil {
		return nil, fmt.Errorf("demo lakehouse: %w", err)
	}
	c, err := catalog.Open(ctx, catalog.Options{Name: CatalogName, Type: "sql", URI: uri})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	d := &demo{options: o, catalog: c, result: &Result{Dir: o.Dir, CatalogURI: uri, Table: CatalogName + ".db." + TableName}}
	return d.result, d.run(ctx)
}

func (d *demo) run(ctx context.Context) error {
	var err error
	if d.jobs, err = newJobs(ctx, d); err != nil {
		return fmt.Errorf("making the table: %w", err)
	}
	if err := d.step(ctx, "worn down by position deletes", d.jobs.positionDeletes); err != nil {
		return err
	}
	d.result.Migrate, err = d.maintain(ctx, "migrated", maintenance.Options{Action: maintenance.Migrate, UpgradeFormat: true})
	if err != nil {
		return err
	}
	if err := d.step(ctx, "worn down by deletion vectors", d.jobs.deletionVectors); err != nil {
		return err
	}
	d.result.Compact, err = d.maintain(ctx, "compacted", maintenance.Options{Action: maintenance.Compact})
	return err
}

// step does something to the table and looks at the result.
func (d *demo) step(ctx context.Context, name string, do func(context.Context) error) error {
	if err := do(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s, err := d.look(ctx, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	d.result.Steps = append(d.result.Steps, *s)
	return nil
}

// maintain runs the program and checks that the rows are the same before and after.
func (d *demo) maintain(ctx context.Context, name string, o maintenance.Options) (report *maintenance.Report, err error) {
	o.Version, o.Progress = d.options.Version, d.options.Progress
	err = d.step(ctx, name, func(ctx context.Context) error {
		report, err = maintenance.Run(ctx, d.catalog, ident(), o)
		return err
	})
	if err != nil {
		return nil, err
	}
	n := len(d.result.Steps)
	before, after := d.result.Steps[n-2], d.result.Steps[n-1]
	if before.Rows != after.Rows || before.Checksum != after.Checksum {
		return nil, fmt.Errorf("%w: %d rows with checksum %s before %s, %d with %s after", ErrRowsChanged, before.Rows, before.Checksum, name, after.Rows, after.Checksum)
	}
	return report, nil
}

// look counts what is live and reads every row.
func (d *demo) look(ctx context.Context, name string) (*Step, error) {
	t, err := d.catalog.Load(ctx, ident())
	if err != nil {
		return nil, err
	}
	p, err := maintenance.MakePlan(ctx, t, maintenance.Options{Action: maintenance.Compact})
	if err != nil {
		return nil, err
	}
	s := &Step{Name: name, Counts: p.Before, OpenObjects: d.jobs.dataFiles() + p.Before.PositionDeleteFiles + p.Before.PuffinFiles}
	start := time.Now()
	if s.Rows, s.Checksum, err = scan(ctx, d.catalog); err != nil {
		return nil, err
	}
	s.ScanSeconds = time.Since(start).Seconds()
	return s, nil
}

func ident() []string { return []string{"db", TableName} }
