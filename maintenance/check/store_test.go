package check_test

import (
	"context"
	"errors"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/faults"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestATableWithoutSnapshotsIsSound(t *testing.T) {
	t.Parallel()
	lake := testlake.Copy(t, "v2-empty-and-full")
	r, err := check.Run(t.Context(), lake.Load(t, "empty"), everything())
	require.NoError(t, err)
	assert.Empty(t, r.Findings)
	assert.NotNil(t, r.Findings, "a list, also in JSON")
}

func TestABranchThatIsNotThereIsAnError(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	_, err := check.Run(t.Context(), l.Load(), check.Options{Ref: "nope"})
	assert.ErrorIs(t, err, maintenance.ErrNoRef)
}

func TestAnEncryptedTableIsRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	l.EditMetadata(func(m map[string]any) { m["properties"] = map[string]any{"encryption.key-id": "k"} })
	_, err := check.Run(t.Context(), l.Load(), check.Options{})
	assert.ErrorIs(t, err, maintenance.ErrRefusedTable)
}

func TestACheckEndsWithItsContext(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	l.add(one(l, 1)...)
	tbl := l.Load()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := check.Run(ctx, tbl, everything())
	assert.ErrorIs(t, err, context.Canceled)
}

// stopping is a progress that cancels at its n-th stage.
type stopping struct {
	left   int
	cancel func()
}

// Stage implements maintenance.Progress.
func (s *stopping) Stage(string, int64, string) {
	if s.left--; s.left == 0 {
		s.cancel()
	}
}

// Add implements maintenance.Progress.
func (*stopping) Add(int64) {}

func TestACheckThatIsInterruptedAnywhereReportsNothing(t *testing.T) {
	t.Parallel()
	lake := testlake.Copy(t, "v3-upgraded-mixed")
	for n := 1; ; n++ {
		ctx, cancel := context.WithCancelCause(t.Context())
		p := &stopping{left: n, cancel: func() { cancel(errors.New("stopped")) }}
		o := everything()
		o.Progress = p
		r, err := check.Run(ctx, lake.Load(t, "t"), o)
		cancel(nil)
		if p.left > 0 {
			assert.NoError(t, err)
			assert.Greater(t, n, 4, "there are several stages")
			return
		}
		assert.ErrorIs(t, err, context.Canceled, "stage %d", n)
		assert.Nil(t, r)
	}
}

func TestAStoreThatFailsIsAnErrorAndNoDamage(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{
		"get *.avro always: fail", "get *snap-* always: fail", "head *.puffin always: fail", "get-range *.puffin always: fail", "get-range *.puffin #2+: fail",
		"head *.parquet always: fail", "get-range *.parquet always: fail",
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			v := newVictim(t)
			script, err := faults.Parse(rule)
			require.NoError(t, err)
			tbl, err := v.Through(script.Bucket(v.Bucket)).Load(t.Context(), forge.Ident())
			require.NoError(t, err)
			r, err := check.Run(t.Context(), tbl, everything())
			assert.ErrorIs(t, err, storage.ErrPermission)
			assert.Nil(t, r)
		})
	}
}

func TestAStoreThatMayNotBeListedIsCheckedWithoutOrphans(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	script, err := faults.Parse("list always: fail")
	require.NoError(t, err)
	tbl, err := v.Through(script.Bucket(v.Bucket)).Load(t.Context(), forge.Ident())
	require.NoError(t, err)
	r, err := check.Run(t.Context(), tbl, everything())
	require.NoError(t, err)
	assert.Empty(t, r.Findings)
	require.Len(t, r.Skipped, 1)
	assert.Equal(t, "puffin-orphan", r.Skipped[0].Reason)
}
