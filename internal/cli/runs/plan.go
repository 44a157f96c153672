package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/cli/document"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/cli/show"
	"github.com/dvcompactor/dvcompactor/internal/daemon"
	"github.com/dvcompactor/dvcompactor/internal/logkey"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"go.uber.org/zap"
)

// PlanOptions of plan.
type PlanOptions struct {
	Output
	Lake   *lake.Lake
	Tables []string // names and globs; none means every table of every catalog
	Run    maintenance.Options
	// Save is a path or location to write the plan to, for apply. Empty saves nothing.
	Save string
	// DetailedExitCode makes work to do an error with the code exit.Work.
	DetailedExitCode bool
}

// errWork says that there is work, where a script asked to be told by exit code.
var errWork = errors.New("there is work")

// Plan says what would be done.
func Plan(ctx context.Context, o PlanOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	o.Run = o.Lake.Settings().Defaults.Fill(o.Run)
	targets, err := o.targets(ctx)
	if err != nil {
		return err
	}
	work := false
	j := &job{Output: o.Output, lake: o.Lake, ref: o.Run.Ref, list: several(o.Tables)}
	j.run = func(ctx context.Context, cat catalog.Catalog, t lake.Target) result {
		p, loaded, err := makePlan(ctx, cat, t, o.Run)
		if err != nil {
			return result{err: err}
		}
		work = work || p.Work
		return planned(o.Output, p, policyFor(o.Lake.Settings(), t.Name(), p, loaded), nil)
	}
	j.save = func(doc any) error { return o.save(ctx, doc) }
	err = j.all(ctx, targets)
	if err == nil && work && o.DetailedExitCode {
		return &exit.Error{Code: exit.Work, Err: errWork, Reported: true}
	}
	return err
}

func (o *PlanOptions) check() error {
	switch {
	case o.Run.Action != maintenance.Compact && o.Run.Action != maintenance.Migrate:
		return exit.Usagef("--action %q is not one of compact, migrate", o.Run.Action)
	case o.Run.UpgradeFormat && o.Run.Action != maintenance.Migrate:
		return exit.Usagef("--upgrade-format goes with --action migrate")
	case o.Run.InPlace != maintenance.InPlace{} && o.Run.Action != maintenance.Compact:
		return exit.Usagef("--granularity, --delete-file-size, --min-input-files and --rewrite-all go with --action compact")
	}
	return nil
}

func (o *PlanOptions) targets(ctx context.Context) ([]lake.Target, error) {
	if len(o.Tables) > 0 {
		return o.Lake.Find(ctx, o.Tables)
	}
	return o.Lake.All(ctx)
}

// save writes the same document that --output json prints.
func (o *PlanOptions) save(ctx context.Context, doc any) error {
	if o.Save == "" || ctx.Err() != nil {
		return nil
	}
	var b bytes.Buffer
	if err := document.Write(&b, doc); err != nil {
		return err
	}
	location, err := lake.Location(o.Save)
	if err != nil {
		return err
	}
	store, err := o.Lake.Store(ctx)
	if err != nil {
		return err
	}
	if err := store.WriteFile(ctx, location, b.Bytes()); err != nil {
		return fmt.Errorf("saving the plan: %w", err)
	}
	return nil
}

func planned(o Output, p *maintenance.Plan, policy *document.Policy, err error) result {
	o.Log.Info("plan made", zap.String(logkey.Table, p.Table), zap.String(logkey.Ref, p.Ref), zap.String(logkey.Action, string(p.Action)),
		zap.String(logkey.PlanID, p.PlanID), zap.Bool(logkey.Work, p.Work), zap.Int(logkey.Skipped, len(p.Skipped)))
	return result{doc: document.NewPlan(p, policy, err), err: err, text: func(w io.Writer) error { return show.Plan(w, o.Style, p, policy, err) }}
}

func makePlan(ctx context.Context, cat catalog.Catalog, t lake.Target, o maintenance.Options) (*maintenance.Plan, *catalog.Table, error) {
	loaded, err := cat.Load(ctx, t.Identifier)
	if err != nil {
		return nil, nil, err
	}
	p, err := maintenance.MakePlan(ctx, loaded, o)
	return p, loaded, err
}

// policyFor says what a daemon would do about a table, nil when the configuration has no policies.
func policyFor(s lake.Settings, table string, p *maintenance.Plan, loaded *catalog.Table) *document.Policy {
	if s.PolicyFor == nil {
		return nil
	}
	policy, why := s.PolicyFor(table, false)
	out := &document.Policy{Why: why}
	if policy == nil {
		return out
	}
	out.Name = policy.Name
	triggers, odd := daemon.Overridden(policy.Triggers, loaded.Metadata.Properties())
	out.Fires, out.Trigger = daemon.Fires(triggers, p.Measure())
	out.Trigger = strings.Join(append(odd, out.Trigger), "; ")
	return out
}
