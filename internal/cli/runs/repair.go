package runs

import (
	"cmp"
	"context"
	"io"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/cli/document"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/cli/show"
	"github.com/dvcompactor/dvcompactor/internal/logkey"
	"github.com/dvcompactor/dvcompactor/maintenance/repair"
	"go.uber.org/zap"
)

// RepairOptions of repair.
type RepairOptions struct {
	Output
	Lake   *lake.Lake
	Table  string
	Repair repair.Options
}

// Repair mends one table, or says what it would do.
func Repair(ctx context.Context, o RepairOptions) error {
	if err := o.Repair.Validate(); err != nil {
		return exit.With(exit.Usage, err)
	}
	if config.IsGlob(o.Table) {
		return exit.Usagef("%q: a repair is about one table", o.Table)
	}
	targets, err := o.Lake.Find(ctx, []string{o.Table})
	if err != nil {
		return err
	}
	defaults := o.Lake.Settings().Defaults
	o.Repair.Memory = cmp.Or(o.Repair.Memory, defaults.Memory)
	o.Repair.Parallelism = cmp.Or(o.Repair.Parallelism, defaults.Parallelism)
	j := &job{Output: o.Output, lake: o.Lake, ref: o.Repair.Ref}
	j.run = func(ctx context.Context, cat catalog.Catalog, t lake.Target) result {
		r, err := repair.Run(ctx, cat, t.Identifier, o.Repair)
		return repaired(o.Output, r, exit.Interruption(ctx, err))
	}
	return j.all(ctx, targets)
}

// repaired logs the one summary line of a repair and makes its result.
func repaired(o Output, r *repair.Report, err error) result {
	if r == nil {
		return result{err: err}
	}
	fields := []zap.Field{
		zap.String(logkey.Table, r.Table), zap.String(logkey.Ref, r.Ref), zap.String(logkey.Action, string(r.Action)), zap.String(logkey.PlanID, r.PlanID),
		zap.Int64p(logkey.SnapshotBefore, r.SnapshotBefore), zap.Int64p(logkey.SnapshotAfter, r.SnapshotAfter), zap.Bool(logkey.Committed, r.Committed),
		zap.Int(logkey.Findings, len(r.Findings)), zap.Int(logkey.DataFiles, len(r.DataFiles)), zap.Int64(logkey.RestoredRows, r.RestoreRows),
		zap.Int(logkey.Skipped, len(r.Skipped)), zap.Int(logkey.Attempts, r.Attempts), zap.Int64(logkey.Requests, r.Requests.Requests()),
		zap.Int64(logkey.BytesRead, r.Requests.BytesRead), zap.Int64(logkey.BytesWritten, r.Requests.BytesWritten), zap.Float64(logkey.Seconds, r.Seconds),
	}
	if err != nil {
		o.Log.Error("repair failed", append(fields, failure(err)...)...)
	} else {
		o.Log.Info("repair finished", fields...)
	}
	return result{
		doc: document.NewRepair(r, err), committed: r.Committed, err: err,
		text: func(w io.Writer) error { return show.Repair(w, o.Style, r, err) },
	}
}
