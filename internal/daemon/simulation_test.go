package daemon

import (
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFiveThousandTablesHaveEachRunOnceThroughRestartsReloadsAndDaylightSaving(t *testing.T) {
	t.Parallel()
	start := at(t, "2026-10-23T12:00:00Z") // the clock is put back on the 25th
	w := newWorld(t, start, testlake.Size(5000, 500), daily(), hourlyCheck())
	w.settings.Parallelism, w.settings.ParallelismPerCatalog = 200, 100
	w.restart()
	end := start.AddDate(0, 0, 4)
	for i := 0; w.now.Before(end); i++ {
		w.until(w.now.Add(7*time.Hour + 11*time.Minute))
		switch i % 3 {
		case 0:
			w.settle()
			w.restart()
		case 1: // the same configuration, read again
			w.policies = []*config.Policy{daily(), hourlyCheck()}
			w.fill()
		}
	}
	w.until(w.now.Add(time.Hour))
	w.settle()
	w.eachOnce(start, w.now.Add(-2*time.Hour).Truncate(time.Hour))
	assert.LessOrEqual(t, w.most, 200)
}

func TestARunThatWasMissedHappensOnceWhenTheDaemonIsBack(t *testing.T) {
	t.Parallel()
	start := at(t, "2026-06-01T12:00:00Z")
	w := newWorld(t, start, 3, daily())
	w.until(start.AddDate(0, 0, 1))
	w.settle()
	w.now = start.AddDate(0, 0, 5) // away for four nights
	w.restart()
	w.until(w.now.Add(time.Hour))
	for k, jobs := range w.begun {
		assert.Len(t, jobs, 2, "%v: one night, and one for all that were missed", k)
	}
}

func TestAClockThatIsPutBackRunsNothingTwice(t *testing.T) {
	t.Parallel()
	start := at(t, "2026-06-01T12:00:00Z")
	w := newWorld(t, start, 10, daily())
	w.until(at(t, "2026-06-02T01:00:00Z"))
	w.settle()
	w.wrong = -90 * time.Minute
	w.restart()
	w.until(at(t, "2026-06-02T12:00:00Z"))
	for k, jobs := range w.begun {
		assert.Len(t, jobs, 1, "%v", k)
	}
}

func TestAClockThatWasFarAheadForAWhileMissesNothingAfterwards(t *testing.T) {
	t.Parallel()
	start := at(t, "2026-06-01T12:00:00Z")
	w := newWorld(t, start, 10, daily())
	w.wrong = 30 * 24 * time.Hour
	w.until(start.Add(time.Hour))
	w.settle()
	w.wrong = 0
	w.restart()
	w.begun = map[Key][]Job{}
	w.until(start.AddDate(0, 0, 3))
	for _, table := range w.tables {
		assert.Len(t, w.begun[Key{Table: table}], 3, table)
	}
}

func TestATableThatAlwaysFailsIsPausedAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	start := at(t, "2026-06-01T12:00:00Z")
	w := newWorld(t, start, 50, &config.Policy{Name: "p", Action: config.ActionCompact, Schedule: "@hourly"})
	bad := w.tables[7]
	w.outcome = func(j Job) Run {
		if j.Table == bad {
			return Run{Result: ResultFailed, Error: "poison"}
		}
		return Run{Result: ResultDone}
	}
	w.until(start.AddDate(0, 0, 1))
	assert.Len(t, w.begun[Key{Table: bad}], 3)
	r, ok := w.roster.Record(Key{Table: bad})
	require.True(t, ok)
	assert.Equal(t, "it failed 3 times in a row, last with: poison", r.Paused)
	assert.InDelta(t, 24, len(w.begun[Key{Table: w.tables[8]}]), 1)
	w.outcome = func(Job) Run { return Run{Result: ResultDone} }
	_, ok = w.roster.Block(Key{Table: bad}, w.now, Record{})
	require.True(t, ok)
	w.until(w.now.Add(2 * time.Hour))
	assert.Len(t, w.begun[Key{Table: bad}], 5, "what was missed once, and the next hour")
}

func TestWhoWaitedLongestComesFirst(t *testing.T) {
	t.Parallel()
	start := at(t, "2026-06-01T12:00:00Z")
	w := newWorld(t, start, 300, &config.Policy{Name: "p", Action: config.ActionCompact, Schedule: "@hourly"})
	w.settings.Parallelism, w.settings.ParallelismPerCatalog = 1, 1
	w.restart()
	w.until(start.AddDate(0, 0, 2))
	for _, table := range w.tables {
		n := len(w.begun[Key{Table: table}])
		assert.InDelta(t, len(w.begun[Key{Table: w.tables[0]}]), n, 1, table)
	}
}

func TestABudgetIsKeptAndWhatIsLeftOverComesFirstInTheNextRound(t *testing.T) {
	t.Parallel()
	start := at(t, "2026-06-01T12:00:00Z")
	w := newWorld(t, start, 10, &config.Policy{Name: "p", Action: config.ActionCompact, Schedule: "0 2 * * *", Budget: config.Budget{Commits: 4}})
	w.settings.Parallelism, w.settings.ParallelismPerCatalog = 1, 1
	w.restart()
	for night := range 5 {
		w.until(start.AddDate(0, 0, night+1))
		total := 0
		for _, jobs := range w.begun {
			total += len(jobs)
		}
		assert.Equal(t, 4*(night+1), total, "night %d", night)
	}
	for _, table := range w.tables {
		assert.Len(t, w.begun[Key{Table: table}], 2, table)
	}
}

func TestNoCatalogGetsMoreRunsAtOnceThanItMay(t *testing.T) {
	t.Parallel()
	start := at(t, "2026-06-01T12:00:00Z")
	w := newWorld(t, start, 60, &config.Policy{Name: "p", Action: config.ActionCompact, Schedule: "@hourly"})
	w.settings.Parallelism, w.settings.ParallelismPerCatalog = 5, 2
	w.restart()
	jobs := w.roster.Next(start.Add(2 * time.Hour))
	byCatalog := map[string]int{}
	for _, j := range jobs {
		byCatalog[j.Catalog()]++
	}
	assert.Len(t, jobs, 5)
	for name, n := range byCatalog {
		assert.LessOrEqual(t, n, 2, name)
	}
}

func TestShardsShareTheTables(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for i := range uint64(3) {
		w := newWorld(t, at(t, "2026-06-01T12:00:00Z"), 100, daily())
		w.roster = NewRoster(w.settings, Shard{Index: i + 1, Of: 3})
		w.fill()
		for _, s := range w.roster.States() {
			seen[s.Table]++
		}
	}
	assert.Len(t, seen, 100)
	for table, n := range seen {
		assert.Equal(t, 1, n, table)
	}
}
