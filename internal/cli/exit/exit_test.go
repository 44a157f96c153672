package exit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
)

func TestEveryErrorHasItsCode(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		code Code
		kind string
	}{
		{"nothing", nil, 0, "failed"},
		{"anything else", errors.New("boom"), 1, "failed"},
		{"a missing object in a table", os.ErrNotExist, 1, "failed"},
		{"unknown outcome", &catalog.CommitError{Outcome: catalog.ErrUnknown, Err: errors.New("timeout")}, 1, "unknown-outcome"},
		{"verification", maintenance.ErrVerify, 1, "verify"},
		{"refused by the catalog", &catalog.CommitError{Outcome: catalog.ErrRefused, Err: errors.New("403")}, 1, "failed"},
		{"usage", Usagef("bad %s", "flag"), 2, "usage"},
		{"conflicts", maintenance.ErrConflicts, 6, "conflicts"},
		{"conflicts whose last reply was lost", fmt.Errorf("%w: %w", maintenance.ErrConflicts, catalog.ErrUnknown), 6, "conflicts"},
		{"stale", maintenance.ErrStale, 7, "stale"},
		{"refused", maintenance.ErrRefusedTable, 8, "refused"},
		{"a newer format version", catalog.ErrFormatVersion, 8, "refused"},
		{"proof", maintenance.ErrProof, 8, "proof"},
		{"no table", catalog.ErrNotFound, 10, "not-found"},
		{"no branch", maintenance.ErrNoRef, 10, "not-found"},
		{"given", With(NotFound, errors.New("no catalog")), 10, "not-found"},
		{"SIGINT", &Signal{Signal: os.Interrupt}, 130, "interrupted"},
		{"SIGTERM", &Signal{Signal: syscall.SIGTERM}, 143, "interrupted"},
		{"SIGTERM during a failure", fmt.Errorf("%w (%w)", &Signal{Signal: syscall.SIGTERM}, context.Canceled), 143, "interrupted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.code, Of(c.err))
			wrapped := c.err
			if wrapped != nil {
				wrapped = fmt.Errorf("prod.sales.orders: %w", c.err)
			}
			assert.Equal(t, c.code, Of(wrapped), "wrapped")
			assert.Equal(t, c.kind, Kind(wrapped))
		})
	}
}

func TestTheTableNamesEveryCode(t *testing.T) {
	for _, c := range []Code{OK, Failed, Usage, Partial, Damaged, Work, Conflicts, Stale, Refused, NotFound, Locked, Interrupted, Terminated} {
		assert.Regexp(t, `(?m)^  `+strconv.Itoa(int(c))+` +\S`, Table)
	}
	assert.Equal(t, 14, strings.Count(Table, "\n"), "no other code")
}

func TestReportedKeepsCodeAndText(t *testing.T) {
	err := Reported(maintenance.ErrStale)
	assert.Equal(t, Stale, Of(err))
	assert.Equal(t, maintenance.ErrStale.Error(), err.Error())
	assert.ErrorIs(t, err, maintenance.ErrStale)
	assert.True(t, WasReported(err))
	assert.True(t, WasReported(errors.Join(err, nil)))
	assert.False(t, WasReported(errors.Join(err, errors.New("another"))), "something is still to be told")
	assert.False(t, WasReported(nil))
	assert.NoError(t, Reported(nil))
	assert.NoError(t, With(Usage, nil))
}

func TestAnInterruptionIsTheCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := errors.New("failed")
	assert.Equal(t, failed, Interruption(ctx, failed))
	cancel(&Signal{Signal: os.Interrupt})
	err := Interruption(ctx, failed)
	assert.Equal(t, Interrupted, Of(err))
	assert.ErrorIs(t, err, failed)
	assert.Equal(t, err, Interruption(ctx, err), "once is enough")
	assert.Equal(t, Stale, Of(Interruption(ctx, Reported(maintenance.ErrStale))), "the result told another story already")
	assert.NoError(t, Interruption(ctx, nil), "what was finished in time is finished")

	ctx, cancel = context.WithCancelCause(t.Context())
	cancel(nil)
	assert.Equal(t, failed, Interruption(ctx, failed), "cancelled, but not by a signal")
}
