package repair_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/faults"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/repair"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestACommitOfARepairThatFailsOnTheWay(t *testing.T) {
	t.Parallel()
	for script, c := range map[string]struct {
		err    error
		landed bool
	}{
		"commit #1: conflict":               {nil, true},
		"commit #1: lost-reply":             {nil, true},
		"commit #1: conflict-after-success": {nil, true},
		"commit #1: unknown":                {catalog.ErrUnknown, false},
		"commit: refused":                   {catalog.ErrRefused, false},
		"commit: conflict":                  {maintenance.ErrConflicts, false},
	} {
		for _, name := range []string{
			"dv-duplicate: two vectors of different snapshots, neither of which holds the other",
			"delete-bounds: inverted, in format version 2, in a partition",
		} {
			t.Run(script+", "+name, func(t *testing.T) {
				t.Parallel()
				w := admitNamed(t, name)
				before := w.photo()
				rules, err := faults.Parse(script)
				require.NoError(t, err)
				report, err := w.runOn(rules.Catalog(w.Lake.Catalog), applying)
				if c.err != nil {
					require.ErrorIs(t, err, c.err)
				} else {
					require.NoError(t, err)
				}
				assert.Equal(t, c.landed, report.Applied)
				w.assertLanded(before, c.landed, c.err == catalog.ErrUnknown)
			})
		}
	}
}

// assertLanded says that a repair is there once, or not at all: then what it wrote is gone, unless nobody can know whether
// it is referenced. Either way a table is left that can be repaired.
func (w *ward) assertLanded(before photo, landed, kept bool) {
	meta := w.Lake.Load().Metadata
	if !landed {
		assert.True(w.t, before.meta.Equals(meta))
		if !kept {
			w.assertUnchanged(before, "a repair that was not committed")
		}
		_, err := w.run(applying)
		require.NoError(w.t, err)
	}
	assert.Len(w.t, w.Lake.Load().Metadata.Snapshots(), len(before.meta.Snapshots())+1)
	w.assertRight()
	w.assertSound()
	w.assertDone()
}

func TestARepairThatIsCancelledLeavesNothing(t *testing.T) {
	t.Parallel()
	w := admitNamed(t, "dv-duplicate: two vectors of different snapshots, neither of which holds the other")
	before := w.photo()
	ctx, cancel := context.WithCancel(t.Context())
	c := &testlake.Racing{Catalog: w.Lake.Catalog, Instead: func(ctx context.Context, tbl *catalog.Table, _ []table.Requirement, _ []table.Update) error {
		cancel()
		return &catalog.CommitError{Outcome: catalog.ErrConflict, Table: tbl.Name(), Err: ctx.Err()}
	}}
	o := w.options
	o.Apply = true
	_, err := repair.Run(ctx, c, forge.Ident(), o)
	require.ErrorIs(t, err, context.Canceled)
	w.assertUnchanged(before, "a repair that was cancelled")
}

func TestAStoreThatFailsDuringARepairIsAnErrorAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		"put *dvcompactor/repair/*/000-*: fail", "put *repair.json: fail", "put *.puffin: fail", "put *-m0.avro: fail", "put *snap-*: fail",
		"get-range *.puffin #3+: fail", "put *.puffin: garbage", "put *.puffin: pretend",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			w := admitNamed(t, "dv-duplicate: two vectors of different snapshots, neither of which holds the other")
			before := w.photo()
			rules, err := faults.Parse(script)
			require.NoError(t, err)
			_, err = w.runOn(w.Lake.Through(rules.Bucket(w.Lake.Bucket)), applying)
			require.Error(t, err)
			w.assertUnchanged(before, "a repair that could not be written")
		})
	}
}

func TestARepairThatIsKilledAtAnyWriteIsMadeGoodByTheNext(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"crash", "crash-after"} {
		for n := 1; ; n++ {
			w := admitNamed(t, "dv-bare-blob: no footer, in a partition and sharing its Puffin file with healthy ones")
			before := w.photo()
			rules, err := faults.Parse(fmt.Sprintf("write #%d: %s", n, fault))
			require.NoError(t, err)
			_, err = w.runOn(rules.Catalog(w.Lake.Through(rules.Bucket(w.Lake.Bucket))), applying)
			if !rules.Crashed() {
				require.NoError(t, err)
				require.Greater(t, n, 5, "copies, a report, a Puffin file, manifests, the list and the commit are written")
				break
			}
			require.Error(t, err)
			_, err = w.run(applying)
			require.NoError(t, err, "%s at write %d", fault, n)
			assert.Len(t, w.Lake.Load().Metadata.Snapshots(), len(before.meta.Snapshots())+1)
			w.assertRight()
			w.assertSound()
		}
	}
}
