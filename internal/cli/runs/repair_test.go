package runs

import (
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/logkey"
	"github.com/dvcompactor/dvcompactor/maintenance/repair"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

func TestARepairOfSeveralTablesIsWrongUsage(t *testing.T) {
	t.Parallel()
	o := RepairOptions{Output: Output{Log: zap.NewNop()}, Lake: lake.New(lake.Settings{}), Table: "prod.sales.*", Repair: repair.Options{Issues: []string{"dv-corrupt"}}}
	err := Repair(t.Context(), o)
	assert.Equal(t, exit.Usage, exit.Of(err))
	assert.ErrorContains(t, err, "one table")
	o.Table, o.Repair.Issues = "prod.sales.orders", []string{"dv-nonsense"}
	err = Repair(t.Context(), o)
	assert.Equal(t, exit.Usage, exit.Of(err))
	assert.ErrorContains(t, err, "dv-nonsense")
}

func TestARepairTellsTheLogHowManyRowsComeBack(t *testing.T) {
	t.Parallel()
	core, seen := observer.New(zap.InfoLevel)
	r := &repair.Report{Table: "prod.sales.orders", RestoreRows: 7}
	var out strings.Builder
	result := repaired(Output{Log: zap.New(core)}, r, repair.ErrConfirm)
	require.NoError(t, result.text(&out))
	assert.Contains(t, out.String(), "7 deleted rows would come back")
	require.Equal(t, 1, seen.Len())
	line := seen.All()[0]
	assert.Equal(t, zap.ErrorLevel, line.Level)
	assert.EqualValues(t, 7, line.ContextMap()[logkey.RestoredRows])
	assert.EqualValues(t, exit.Refused, line.ContextMap()[logkey.ExitCode])
	assert.Equal(t, result.err, repair.ErrConfirm)
	assert.Nil(t, repaired(Output{}, nil, repair.ErrNoRepair).doc, "without a report there is only the error")
}
