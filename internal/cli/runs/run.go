package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/cli/document"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/cli/show"
	"github.com/dvcompactor/dvcompactor/internal/logkey"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"go.uber.org/zap"
)

// Options of compact and migrate.
type Options struct {
	Output
	Lake   *lake.Lake
	Tables []string // names and globs
	Run    maintenance.Options
	DryRun bool
}

// Run compacts or migrates the tables.
func Run(ctx context.Context, o Options) error {
	targets, err := o.Lake.Find(ctx, o.Tables)
	if err != nil {
		return err
	}
	o.Run = o.Lake.Settings().Defaults.Fill(o.Run)
	j := &job{Output: o.Output, lake: o.Lake, ref: o.Run.Ref, list: several(o.Tables), run: o.one}
	if o.DryRun {
		j.run = o.dry
	}
	return j.all(ctx, targets)
}

// several says whether names may mean more than one table: the form of the result depends on the command line only,
// not on how many tables a glob happens to match.
func several(names []string) bool {
	return len(names) != 1 || config.IsGlob(names[0])
}

func (o *Options) one(ctx context.Context, cat catalog.Catalog, t lake.Target) result {
	r, err := maintenance.Run(ctx, cat, t.Identifier, o.Run)
	return finished(o.Output, r, exit.Interruption(ctx, err))
}

// finished logs the one summary line of a run and makes its result.
func finished(o Output, r *maintenance.Report, err error) result {
	if r == nil {
		return result{err: err}
	}
	if err == nil {
		err = needsUpgrade(r.Table, r.Action, r.Skipped)
	}
	if err != nil {
		o.Log.Error("run failed", append(summary(r), failure(err)...)...)
	} else {
		o.Log.Info("run finished", summary(r)...)
	}
	return result{
		doc: document.NewRun(r, err), committed: r.Committed, err: err,
		text: func(w io.Writer) error { return show.Report(w, o.Style, r, err) },
	}
}

func summary(r *maintenance.Report) []zap.Field {
	return []zap.Field{
		zap.String(logkey.Table, r.Table), zap.String(logkey.Ref, r.Ref), zap.String(logkey.Action, string(r.Action)), zap.String(logkey.PlanID, r.PlanID),
		zap.Int64p(logkey.SnapshotBefore, r.SnapshotBefore), zap.Int64p(logkey.SnapshotAfter, r.SnapshotAfter), zap.Bool(logkey.Committed, r.Committed),
		zap.Int(logkey.DeletesBefore, r.Before.PositionDeleteFiles), zap.Int(logkey.DeletesAfter, r.After.PositionDeleteFiles),
		zap.Int(logkey.PuffinsBefore, r.Before.PuffinFiles), zap.Int(logkey.PuffinsAfter, r.After.PuffinFiles), zap.Int(logkey.DataFiles, r.DataFiles),
		zap.Int(logkey.Skipped, len(r.Skipped)), zap.Int(logkey.Dropped, len(r.Dropped)), zap.Int(logkey.Attempts, r.Attempts),
		zap.Int64(logkey.Requests, r.Requests.Requests()), zap.Int64(logkey.BytesRead, r.Requests.BytesRead), zap.Int64(logkey.BytesWritten, r.Requests.BytesWritten),
		zap.Float64(logkey.Seconds, r.Seconds),
	}
}

func failure(err error) []zap.Field {
	return []zap.Field{zap.String(logkey.Error, exit.Text(err)), zap.String(logkey.Kind, exit.Kind(err)), zap.Int(logkey.ExitCode, int(exit.Of(err)))}
}

// ErrNeedsUpgrade: a migration was asked for that is not possible without upgrading the table's format.
var ErrNeedsUpgrade = errors.New("migrating needs format version 3")

// needsUpgrade says that migrate could do nothing because it may not upgrade the table.
func needsUpgrade(table string, action maintenance.Action, skipped []maintenance.Skip) error {
	i := slices.IndexFunc(skipped, func(s maintenance.Skip) bool { return s.Reason == "format-version" })
	if action != maintenance.Migrate || i < 0 {
		return nil
	}
	return exit.With(exit.Refused, fmt.Errorf("%s: %w: %s", table, ErrNeedsUpgrade, skipped[i].Hint))
}

// dry tells what a run would do.
func (o *Options) dry(ctx context.Context, cat catalog.Catalog, t lake.Target) result {
	p, _, err := makePlan(ctx, cat, t, o.Run)
	if err != nil {
		return result{err: err}
	}
	return planned(o.Output, p, nil, needsUpgrade(p.Table, p.Action, p.Skipped))
}
