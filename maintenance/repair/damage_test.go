package repair_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/testlake/damage"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/repair"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mendable are the cases that have a repair, one with an alias of an operator among them.
func mendable() []damage.Case {
	return slices.DeleteFunc(damage.All(), func(c damage.Case) bool { return c.Class == "none" && c.Issue != "path-near-miss" })
}

func TestEveryDamagedTableIsMended(t *testing.T) {
	t.Parallel()
	for _, c := range damage.Few(mendable()) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			w := admit(t, c)
			before := w.photo()
			dry := w.dryRun(before)
			w.assertAsks(before, dry)
			report, err := w.run(w.consent(dry))
			require.NoError(t, err)
			assert.True(t, report.Applied)
			assert.Equal(t, dry.Operation, report.Operation)

			w.assertPast(before, report)
			w.assertRight()
			w.assertHealthy(before)
			w.assertLeft(report)
			w.assertCopies(before, report)
			w.assertSound()
			w.assertDone()
		})
	}
}

func TestWhatHasNoRepairIsRefusedAndNothingChanges(t *testing.T) {
	t.Parallel()
	for _, c := range damage.All() {
		if c.Class != "none" || c.Issue == "puffin-orphan" { // those have to be old
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			w := admit(t, c)
			before := w.photo()
			_, err := w.run(func(o *repair.Options) { o.Apply, o.Aliases = true, nil })
			assert.True(t, errors.Is(err, repair.ErrNoRepair) || errors.Is(err, maintenance.ErrRefusedTable), "%v", err)
			w.assertUnchanged(before, "what has no repair")
		})
	}
}

func TestNothingIsRepairedInHealthyTables(t *testing.T) {
	t.Parallel()
	for _, c := range damage.Few(damage.Neighbours()) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			w := admit(t, damage.Case{Issue: c.Issue, Make: c.Make})
			before := w.photo()
			report, err := w.run(applying)
			require.NoError(t, err)
			assert.False(t, report.Applied)
			w.assertUnchanged(before, "a repair of what is not there")
		})
	}
}
