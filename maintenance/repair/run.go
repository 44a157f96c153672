package repair

import (
	"context"
	"errors"
	"fmt"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/verify"
)

// maxDiagnoses is how often a table is diagnosed anew because another writer changed what a repair is about.
const maxDiagnoses = 5

// Run repairs the findings that the options choose on one branch of a table, or says what it would do. Errors are
// ErrOptions, ErrConfirm and ErrNoRepair, those of package maintenance, of the store and of ctx. A report comes with an error
// as soon as it was worked out what is to be done.
func Run(ctx context.Context, cat maintenance.Catalog, identifier []string, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	start := o.Now()
	for attempt := 1; ; attempt++ {
		t, err := cat.Load(ctx, identifier)
		if err != nil {
			return nil, err
		}
		stats := t.Store.Stats()
		report, err := once(ctx, cat, t, o)
		if report != nil {
			report.Requests, report.Seconds = t.Store.Stats().Sub(stats), o.Now().Sub(start).Seconds()
		}
		if !errors.Is(err, maintenance.ErrStale) {
			return report, err
		}
		if attempt == maxDiagnoses {
			return report, fmt.Errorf("%w: %d times another writer changed what is to be repaired", maintenance.ErrConflicts, attempt)
		}
	}
}

// once diagnoses and repairs one state of a table.
func once(ctx context.Context, cat maintenance.Catalog, t *catalog.Table, o Options) (*Report, error) {
	r, err := diagnose(ctx, t, o)
	if err != nil {
		return nil, err
	}
	report, err := r.plan(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name(), err)
	}
	if err := r.agreed(report); err != nil {
		return report, fmt.Errorf("%s: %w", t.Name(), err)
	}
	if !o.Apply || len(r.chosen) == 0 {
		return report, nil
	}
	return report, r.apply(ctx, cat, report)
}

// agreed says whether what was worked out may be done.
func (r *repairer) agreed(report *Report) error {
	rows := r.options.RestoreRows
	switch {
	case len(r.chosen) == 0 && len(r.skipped) > 0:
		s := r.skipped[0]
		return fmt.Errorf("%w: %s is only reported: %s", ErrNoRepair, s.Reason, s.Hint)
	case len(r.chosen) == 0:
		return nil
	case rows != nil && *rows != report.RestoreRows:
		return fmt.Errorf("%w: %d of them, and --restore-rows says %d", ErrConfirm, report.RestoreRows, *rows)
	case report.NeedsConfirmation && rows == nil && r.options.Apply:
		return fmt.Errorf("%w: %d of them; to agree, give --restore-rows %d", ErrConfirm, report.RestoreRows, report.RestoreRows)
	}
	return nil
}

func emptyVerification() maintenance.Verification {
	return maintenance.Verification{Checks: []verify.Check{}}
}
