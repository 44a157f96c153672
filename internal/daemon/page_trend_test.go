package daemon

import (
	"testing"

	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
)

// between is a run that counted position delete files before and after.
func between(before, after int) Run {
	return Run{Before: &maintenance.Counts{PositionDeleteFiles: before}, After: &maintenance.Counts{PositionDeleteFiles: after}}
}

func TestATrendFallsAtARunAndRisesBetweenTwo(t *testing.T) {
	t.Parallel()
	got := newTrend("position delete files", []Run{between(100, 0), between(50, 0)}, positionDeletes)
	assert.Equal(t, "6,6 120,6 120,50 234,28 234,50", got.Points)
	assert.Equal(t, "0", got.Latest)
	assert.Equal(t, "100 before the first of 2 runs, 0 after the last, 100 at most", got.Text)
}

func TestARunThatChangedNothingIsLevel(t *testing.T) {
	t.Parallel()
	got := newTrend("position delete files", []Run{{Before: &maintenance.Counts{PositionDeleteFiles: 7}}}, positionDeletes)
	assert.Equal(t, "6,6 234,6 234,6", got.Points)
	assert.Equal(t, "7", got.Latest)
}

func TestATrendOfNothingIsAtTheBottomAndOneOfNoRunsIsNone(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "6,50 234,50 234,50", newTrend("x", []Run{between(0, 0)}, positionDeletes).Points)
	assert.Empty(t, newTrend("x", nil, positionDeletes).Points)
}

func TestATrendTakesTheCountsOfChecksAndLeavesOutRunsThatCountedNothing(t *testing.T) {
	t.Parallel()
	counted := found(nil)
	counted.Before.PositionDeleteFiles = 1234
	g := group([]State{maintained("l.db.t", Run{Result: ResultFailed}, between(10, 0), Run{Result: ResultLocked}), checked("l.db.t", counted)})
	got := newTrend("position delete files", g[0].counted(0), positionDeletes)
	assert.Equal(t, "10 before the first of 2 runs, 1,234 after the last, 1,234 at most", got.Text)
	assert.Len(t, g[0].counted(1), 1)
}
