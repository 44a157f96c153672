package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

func TestOneCodeOfManyOutcomes(t *testing.T) {
	lost, stale, refused := maintenance.ErrConflicts, maintenance.ErrStale, maintenance.ErrRefusedTable
	signal := fmt.Errorf("%w (%w)", &exit.Signal{Signal: os.Interrupt}, context.Canceled)
	for _, c := range []struct {
		name string
		errs []error
		done int
		want exit.Code
	}{
		{"all went well", nil, 3, exit.OK},
		{"nothing to do at all", nil, 0, exit.OK},
		{"the only table failed", []error{lost}, 0, exit.Conflicts},
		{"all failed alike", []error{stale, stale}, 0, exit.Stale},
		{"all failed, each in its way", []error{stale, refused}, 0, exit.Failed},
		{"some failed", []error{refused}, 1, exit.Partial},
		{"interrupted in the middle", []error{stale, signal}, 5, exit.Interrupted},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := summarise(c.errs, c.done)
			assert.Equal(t, c.want, exit.Of(err))
			assert.True(t, err == nil || exit.WasReported(err), "each table told of its own error")
		})
	}
}

func TestTheFormDependsOnTheCommandLineOnly(t *testing.T) {
	assert.False(t, several([]string{"prod.sales.orders"}))
	assert.True(t, several([]string{"prod.sales.*"}))
	assert.True(t, several([]string{"prod.sales.orders", "prod.sales.items"}))
	assert.True(t, several(nil), "every table")
}

func TestOnlyMigrateNeedsAnUpgrade(t *testing.T) {
	old := []maintenance.Skip{{Reason: "other"}, {Reason: "format-version", Detail: "why", Hint: "migrate --upgrade-format"}}
	err := needsUpgrade("prod.sales.orders", maintenance.Migrate, old)
	assert.Equal(t, exit.Refused, exit.Of(err))
	assert.ErrorIs(t, err, ErrNeedsUpgrade)
	assert.ErrorContains(t, err, "migrate --upgrade-format")
	assert.NoError(t, needsUpgrade("prod.sales.orders", maintenance.Compact, old))
	assert.NoError(t, needsUpgrade("prod.sales.orders", maintenance.Migrate, old[:1]))
}

func newJob(out io.Writer) *job {
	return &job{Output: Output{Out: out, JSON: true, Log: zap.NewNop()}, lake: lake.New(lake.Settings{}), list: true}
}

func TestACatalogThatIsNotThereIsAFailureOfItsTables(t *testing.T) {
	var out strings.Builder
	j := newJob(&out)
	err := j.all(t.Context(), []lake.Target{{Catalog: "gone", Identifier: []string{"sales", "orders"}}})
	assert.Equal(t, exit.NotFound, exit.Of(err))
	assert.Contains(t, out.String(), `"table": "gone.sales.orders"`)
}

func TestAFailureToSaveComesBeforeTheDocument(t *testing.T) {
	var out strings.Builder
	j := newJob(&out)
	full := errors.New("disk full")
	j.save = func(any) error { return full }
	err := j.all(t.Context(), nil)
	require.ErrorIs(t, err, full)
	assert.Empty(t, out.String(), "the error becomes the only document")
	assert.False(t, exit.WasReported(err))
}
