package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/cli/document"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/cli/show"
	"github.com/dvcompactor/dvcompactor/internal/logkey"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"go.uber.org/zap"
)

// CheckOptions of check.
type CheckOptions struct {
	Output
	Lake   *lake.Lake
	Tables []string // names and globs
	Check  check.Options
}

// errDamage says that a check found damage. The findings tell of it.
var errDamage = errors.New("damage found")

// Check looks for damaged deletes. Damage on any table is an error with the code exit.Damaged, also when other tables
// could not be checked: that is what the command is asked about. An interruption outweighs it.
func Check(ctx context.Context, o CheckOptions) error {
	if err := o.Check.Validate(); err != nil {
		return exit.With(exit.Usage, fmt.Errorf("--issue: %w", err))
	}
	targets, err := o.Lake.Find(ctx, o.Tables)
	if err != nil {
		return err
	}
	defaults := o.Lake.Settings().Defaults
	o.Check.Memory = cmp.Or(o.Check.Memory, defaults.Memory)
	o.Check.Parallelism = cmp.Or(o.Check.Parallelism, defaults.Parallelism)
	damaged := false
	j := &job{Output: o.Output, lake: o.Lake, ref: o.Check.Ref, list: several(o.Tables)}
	j.run = func(ctx context.Context, cat catalog.Catalog, t lake.Target) result {
		r, err := o.one(ctx, cat, t)
		if err != nil {
			return result{err: exit.Interruption(ctx, err)}
		}
		damaged = damaged || r.Damaged
		return checked(o.Output, r)
	}
	err = j.all(ctx, targets)
	if damaged && exit.Of(err) < exit.Interrupted {
		return &exit.Error{Code: exit.Damaged, Err: errors.Join(errDamage, err), Reported: true}
	}
	return err
}

func (o *CheckOptions) one(ctx context.Context, cat catalog.Catalog, t lake.Target) (*check.Report, error) {
	loaded, err := cat.Load(ctx, t.Identifier)
	if err != nil {
		return nil, err
	}
	return check.Run(ctx, loaded, o.Check)
}

// checked logs the one summary line of a check and makes its result.
func checked(o Output, r *check.Report) result {
	log := o.Log.Info
	if r.Damaged {
		log = o.Log.Warn
	}
	log("check finished", zap.String(logkey.Table, r.Table), zap.String(logkey.Ref, r.Ref), zap.Int64p(logkey.SnapshotBefore, r.SnapshotID),
		zap.Bool(logkey.Damaged, r.Damaged), zap.Int(logkey.Findings, len(r.Findings)), zap.Int64(logkey.Requests, r.Requests.Requests()),
		zap.Int64(logkey.BytesRead, r.Requests.BytesRead), zap.Float64(logkey.Seconds, r.Seconds))
	return result{doc: document.NewCheck(r), text: func(w io.Writer) error { return show.Findings(w, o.Style, r) }}
}

// CheckLevel makes a level of flags. subset is nil when none was given.
func CheckLevel(footers, vectors bool, subset *string) (check.Level, check.Subset, error) {
	switch {
	case subset != nil && vectors:
		return 0, check.Subset{}, exit.Usagef("--read-dvs reads all and --read-dvs-subset a part: give one of them")
	case subset != nil:
		part, err := check.ParseSubset(*subset)
		if err != nil {
			return 0, part, exit.With(exit.Usage, fmt.Errorf("--read-dvs-subset: %w", err))
		}
		return check.Vectors, part, nil
	case vectors:
		return check.Vectors, check.Subset{}, nil
	case footers:
		return check.Footers, check.Subset{}, nil
	}
	return check.Metadata, check.Subset{}, nil
}
