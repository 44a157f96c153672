package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/daemon"
)

// once runs what is due and prints how the tables stand then.
func (s *server) once(ctx context.Context) error {
	done, err := s.daemon.Run(ctx, context.WithoutCancel(ctx))
	printed := printStatus(s.Output, s.daemon.Status().Document(s.Version))
	if cause := context.Cause(ctx); cause != nil {
		return told(printed, errors.Join(cause, err))
	}
	return told(printed, verdict(done, err))
}

// verdict makes one error of the runs of a daemon that ran once. away says which tables could not be looked at.
func verdict(runs []daemon.Run, away error) error {
	count, held := map[daemon.Result]int{}, 0
	for _, r := range runs {
		if r.Held() {
			held++
		} else {
			count[r.Result]++
		}
	}
	failed, halted, conflict := count[daemon.ResultFailed], count[daemon.ResultHalted], count[daemon.ResultConflict]
	text := fmt.Errorf("%d of %d runs failed, %d were halted, %d lost every race, %d found damage, %d were locked or paused", failed, len(runs), halted, conflict,
		count[daemon.ResultDamaged], held)
	bad := failed + halted + conflict
	switch {
	case away != nil && len(runs) > 0:
		return exit.With(exit.Partial, errors.Join(text, away))
	case away != nil:
		return away
	case bad > 0 && bad < len(runs)-held:
		return exit.With(exit.Partial, text)
	case failed > 0:
		return exit.With(exit.Failed, text)
	case halted > 0:
		return exit.With(exit.Refused, text)
	case conflict > 0:
		return exit.With(exit.Conflicts, text)
	case count[daemon.ResultDamaged] > 0:
		return exit.With(exit.Damaged, text)
	case held > 0 && held == len(runs):
		return exit.With(exit.Locked, text)
	}
	return nil
}
