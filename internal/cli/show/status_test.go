package show

import (
	"strings"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/cli/golden"
	"github.com/dvcompactor/dvcompactor/internal/daemon"
	"github.com/dvcompactor/dvcompactor/internal/term"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/require"
)

func standings() daemon.StatusDocument {
	night := time.Date(2026, 6, 1, 2, 15, 0, 0, time.UTC)
	next := night.AddDate(0, 0, 1)
	merged := daemon.Run{
		Started: night, Seconds: 3.21, Result: daemon.ResultDone, Requests: 1234, Committed: true, Why: "min_puffin_files 40 >= 10",
		Before: &maintenance.Counts{PositionDeleteFiles: 3, PuffinFiles: 40}, After: &maintenance.Counts{PuffinFiles: 1},
		Forecast: &maintenance.Forecast{Before: maintenance.Reading{DeleteEntries: 43, Requests: 120, Bytes: 1 << 20, StoredBytes: 1 << 16}, After: maintenance.Reading{DeleteEntries: 40, Requests: 40, Bytes: 4000, StoredBytes: 9000}},
	}
	return daemon.StatusDocument{
		Missing: map[string]string{"far": "connection refused"},
		Tables: []daemon.TableStatus{
			{Table: "prod.sales.a", Action: "compact", Why: "policy nightly: prod.sales.* matches", Next: &next, Runs: []daemon.Run{{}, merged}},
			{Table: "prod.sales.a", Action: "check", Why: "policy look: * matches", Next: &next, Running: true, Runs: []daemon.Run{{Started: night, Result: daemon.ResultDamaged, Error: "damage found", Requests: 1}}},
			{Table: "prod.sales.b", Action: "compact", Why: "policy nightly: prod.sales.* matches", Halted: "proof failed", Runs: []daemon.Run{{Started: night, Result: daemon.ResultHalted, Error: "proof failed"}}},
			{Table: "prod.sales.c\x1b[1m", Action: "migrate", Why: "policy up: * matches", Paused: "moving\x1b[2J house", Runs: []daemon.Run{{Started: night, Result: daemon.ResultNothing, Why: "min_delete_files 1 < 10"}}},
			{Table: "prod.sales.d", Action: "check", Why: "policy look: * matches", Halted: "x", Paused: "y"},
			{Table: "prod.sales.e", Action: "compact", Why: "policy nightly: prod.sales.* matches", Unread: "no\x1b route to host"},
		},
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, Status(&out, term.Style{}, standings()))
	golden.Assert(t, "status.txt", out.String())
	require.NotContains(t, out.String(), "\x1b")
}

func TestAStatusThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, Status(&broken{200}, term.Style{}, standings()), "broken pipe")
}
