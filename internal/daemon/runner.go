package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
)

// Runner works on one table and says how it went.
type Runner interface {
	Run(ctx context.Context, j Job) Run
}

// TableOptions of a runner on real tables.
type TableOptions struct {
	// Catalog connects to a catalog; it may be called by several runs at once.
	Catalog func(ctx context.Context, name string) (catalog.Catalog, error)
	// Base is what a policy does not say: memory, parallelism, retries, version.
	Base  maintenance.Options
	Lease LeaseOptions
	Now   func() time.Time
}

// NewTables returns the runner on real tables.
func NewTables(o TableOptions) Runner { return &tables{o} }

type tables struct{ TableOptions }

// Run implements Runner.
func (t *tables) Run(ctx context.Context, j Job) Run {
	run := Run{Started: t.Now(), Policy: j.Policy.Name, Action: j.Policy.Action, Result: ResultDone}
	err := t.run(ctx, j, &run)
	run.Seconds = t.Now().Sub(run.Started).Seconds()
	if err != nil {
		run.Error = config.Redact(err.Error())
		run.Result = resultOf(ctx, err)
	}
	return run
}

// resultOf sorts errors at the point where it is known what they mean.
func resultOf(ctx context.Context, err error) Result {
	switch {
	case errors.Is(err, maintenance.ErrOptedOut):
		return ResultSkipped
	case errors.Is(err, ErrLocked):
		return ResultLocked
	case errors.Is(err, maintenance.ErrConflicts):
		return ResultConflict
	case errors.Is(err, maintenance.ErrRefusedTable), errors.Is(err, maintenance.ErrProof), errors.Is(err, maintenance.ErrVerify),
		errors.Is(err, catalog.ErrFormatVersion), errors.Is(err, storage.ErrInvalidLocation):
		return ResultHalted
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ResultInterrupted
	}
	return ResultFailed
}

func (t *tables) run(ctx context.Context, j Job, run *Run) error {
	cat, err := t.Catalog(ctx, j.Catalog())
	if err != nil {
		return err
	}
	identifier := strings.Split(j.Table, ".")[1:]
	loaded, err := cat.Load(ctx, identifier)
	if err != nil {
		return err
	}
	if loaded.Metadata.Properties()["dvcompactor.enabled"] == "false" {
		return fmt.Errorf("%s: %w", j.Table, maintenance.ErrOptedOut)
	}
	if j.Check {
		return t.check(ctx, j, loaded, run)
	}
	return t.maintain(ctx, j, cat, loaded, run)
}

// check looks for damage.
func (t *tables) check(ctx context.Context, j Job, loaded *catalog.Table, run *Run) error {
	o := check.Options{Ref: j.Policy.Ref, Memory: t.Base.Memory, Parallelism: t.Base.Parallelism, Now: t.Now}
	switch j.Policy.Level {
	case config.LevelFooters:
		o.Level = check.Footers
	case config.LevelVectors:
		o.Level = check.Vectors
	}
	if j.Policy.Subset != "" {
		var err error
		if o.Subset, err = check.ParseSubset(j.Policy.Subset); err != nil {
			return err
		}
	}
	r, err := check.Run(ctx, loaded, o)
	if err != nil {
		return err
	}
	run.SnapshotBefore, run.Before, run.stats = r.SnapshotID, &r.Before, r.Requests
	run.Findings = map[string]int{}
	for _, c := range r.Counts {
		if issue, ok := check.Find(c.Issue); ok && issue.Damage() && c.Effect != check.Waste {
			run.Findings[c.Issue] += c.Findings
		}
	}
	if r.Damaged {
		run.Result = ResultDamaged
		run.Error = "damage found"
	}
	run.spend(r.Requests)
	return nil
}

// errNoTrigger ends a run before anything is written.
var errNoTrigger = errors.New("no trigger fired")

// maintain compacts or migrates.
func (t *tables) maintain(ctx context.Context, j Job, cat catalog.Catalog, loaded *catalog.Table, run *Run) error {
	root, err := storage.TableRoot(loaded.Metadata.Location())
	if err != nil {
		return fmt.Errorf("%w: %w", maintenance.ErrRefusedTable, err)
	}
	ref := j.Policy.Ref
	if ref == "" {
		ref = "main"
	}
	lease, err := Acquire(ctx, loaded.Store, root, leaseName(ref), t.Lease)
	if err != nil {
		return err
	}
	run.lease = lease // whoever remembers the run gives it back
	if j.taken != nil {
		if run.taken = j.taken(ctx); run.taken != nil {
			return nil
		}
	}
	o := t.Base
	o.Action, o.Ref, o.UpgradeFormat, o.Where = maintenance.Action(j.Policy.Action), ref, j.Policy.UpgradeFormat, j.Policy.Where
	if j.Policy.CoolDown != nil {
		o.CoolDown = *j.Policy.CoolDown
	}
	o.InPlace = maintenance.InPlace{Granularity: maintenance.Granularity(j.Policy.Granularity), MinInputFiles: j.Policy.MinInputFiles}
	r, err := maintenance.RunIf(ctx, cat, loaded.Identifier, o, func(p *maintenance.Plan) error {
		run.Before = &p.Before
		run.spend(p.Cost())
		m := p.Measure()
		run.Measures, run.Pending, run.Forecast = &m, pending(p), &p.Forecast
		triggers, odd := Overridden(j.Policy.Triggers, loaded.Metadata.Properties())
		fires, why := Fires(triggers, m)
		run.Why = strings.Join(append(odd, why), "; ")
		if !fires {
			return errNoTrigger
		}
		return nil
	})
	if errors.Is(err, errNoTrigger) {
		run.Result = ResultNothing
		return nil
	}
	if r != nil {
		run.report(r)
	}
	return err
}

// pending is the number of delete files that a plan is about.
func pending(p *maintenance.Plan) int {
	n := len(p.Puffins)
	for _, part := range p.Partitions {
		n += part.PositionDeleteFiles
	}
	return n
}

// leaseName is what a branch is called in the name of an object.
func leaseName(ref string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '_'
	}, ref)
}

// report notes what a run of the pipeline did.
func (r *Run) report(done *maintenance.Report) {
	r.PlanID, r.SnapshotBefore, r.SnapshotAfter, r.Committed = done.PlanID, done.SnapshotBefore, done.SnapshotAfter, done.Committed
	r.Digest, r.Attempts, r.Dropped = done.DigestAfter, done.Attempts, len(done.Dropped)
	r.Before, r.After = &done.Before, &done.After
	if done.Committed {
		r.Pending = 0
	} else {
		r.Result = ResultNothing
	}
	r.spend(done.Requests)
}

// spend notes what a run cost.
func (r *Run) spend(s storage.Stats) {
	r.stats = s
	r.Bytes, r.Requests = s.BytesRead+s.BytesWritten, s.Requests()
}
