package daemon

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/cli/golden"
	"github.com/dvcompactor/dvcompactor/internal/term"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Size of the day.
const (
	dayTables    = 12 // every second one of format version 3
	dayDataFiles = 12 // of each table
	dayRows      = 100_000
	dayCommits   = 2 // of each table's writers in an hour
	dayRaces     = 8 // one of so many commits of the daemon meets a writer that was quicker
)

// busy is a table with writers, and what they deleted.
type busy struct {
	lake    *forge.Lake
	version int
	files   []iceberg.DataFile
	deleted map[string]map[int64]bool
	random  *rand.Rand
}

func newBusy(t *testing.T, n int) *busy {
	b := &busy{version: 2 + n%2, deleted: map[string]map[int64]bool{}, random: rand.New(rand.NewPCG(7, uint64(n)))}
	b.lake = forge.New(t, forge.Options{Version: b.version})
	for i := range dayDataFiles {
		f := b.lake.DataFile(fmt.Sprintf("f%02d.parquet", i), 0, nil, dayRows)
		b.files = append(b.files, f)
		b.deleted[f.FilePath()] = map[int64]bool{}
	}
	b.lake.Commit(forge.Change{Operation: table.OpAppend, Add: forge.Files(b.files...)})
	return b
}

// write is what an engine commits that deletes rows of some data files: a position delete file, or in format version 3 a
// Puffin file with vectors that take the place of those there are.
func (b *busy) write(files int) {
	positions := map[string][]int64{}
	var vectors []forge.Vector
	for _, i := range b.random.Perm(len(b.files))[:files] {
		f := b.files[i]
		for range 20 {
			pos := b.random.Int64N(dayRows)
			b.deleted[f.FilePath()][pos] = true
			positions[f.FilePath()] = append(positions[f.FilePath()], pos)
		}
		vectors = append(vectors, forge.Vector{Data: f, Positions: slices.Sorted(maps.Keys(b.deleted[f.FilePath()]))})
	}
	c := forge.Change{Operation: table.OpDelete}
	if b.version < 3 {
		c.Add = forge.Files(b.lake.PositionDeletes(0, nil, forge.Records(positions)...).Build())
	} else {
		c.Add = forge.Files(b.lake.DeletionVectors(vectors...)...)
		c.Remove = func(f iceberg.DataFile) bool {
			ref := f.ReferencedDataFile()
			return ref != nil && positions[*ref] != nil
		}
	}
	b.lake.Commit(c)
}

// check compares the table with what was deleted, as another reader sees it.
func (b *busy) check(t *testing.T) {
	got := testlake.ReadSnapshot(t, b.lake.IO(), b.lake.Load().Metadata.CurrentSnapshot())
	for path, want := range b.deleted {
		var n int64
		for _, r := range got.Positions[path] {
			for pos := r[0]; pos <= r[1]; pos++ {
				require.True(t, want[pos], "%s: row %d came to be deleted", path, pos)
				n++
			}
		}
		require.Len(t, want, int(n), "%s: rows came back", path)
	}
}

// day is what a day brought.
type day struct {
	results map[Result]int
	commits int
	lost    int // races
	dropped int // data files
	bytes   int64
	counts  maintenance.Counts // at the end, of all tables
	reading maintenance.Reading
}

// live lets writers and, when it is there, a daemon work on tables for a day.
func live(t *testing.T, served bool) *day {
	d := &day{results: map[Result]int{}}
	start := at(t, "2026-06-01T00:00:00Z")
	policy := &config.Policy{Name: "hourly", Action: config.ActionCompact, Schedule: "30 * * * *", Jitter: 20 * time.Minute, Triggers: config.Triggers{
		Any: []config.Trigger{{Name: "min_puffin_files", Least: 6}, {Name: "max_delete_files_per_data_file", Least: 4}},
	}}
	w := newWorld(t, start, dayTables, policy)
	tables := map[string]*busy{}
	for i, name := range w.tables {
		tables[name] = newBusy(t, i)
	}
	w.outcome = func(j Job) Run { return d.run(t, tables[j.Table], j, w.clock) }
	for hour := range 24 {
		for _, name := range w.tables {
			for range dayCommits {
				tables[name].write(3)
			}
		}
		if served {
			w.until(start.Add(time.Duration(hour+1) * time.Hour))
		}
	}
	for _, b := range tables {
		b.check(t)
		d.end(t, b)
	}
	return d
}

// run is one of the daemon, on the real table, with a writer that is sometimes quicker.
func (d *day) run(t *testing.T, b *busy, j Job, now func() time.Time) Run {
	racing := &testlake.Racing{Catalog: b.lake.Catalog, Before: func(n int) {
		if n == 1 && b.random.IntN(dayRaces) == 0 {
			b.write(1)
		}
	}}
	r := NewTables(TableOptions{
		Catalog: func(context.Context, string) (catalog.Catalog, error) { return racing, nil }, Now: now, Lease: LeaseOptions{Owner: "daemon", Now: now},
		Base: maintenance.Options{Memory: 64 << 20, Retry: maintenance.Retry{Attempts: 3, BaseDelay: time.Microsecond, MaxDelay: time.Microsecond}},
	})
	run := r.Run(t.Context(), Job{Key: Key{Table: "lake.db.t"}, Policy: j.Policy})
	if run.lease != nil {
		require.NoError(t, run.lease.Release(t.Context()))
	}
	require.Empty(t, run.Error)
	d.results[run.Result]++
	d.dropped += run.Dropped
	d.bytes += run.Bytes
	if run.Committed {
		d.commits++
		d.lost += run.Attempts - 1
	}
	return run
}

// end adds how a table stands at the end of the day.
func (d *day) end(t *testing.T, b *busy) {
	p, err := maintenance.MakePlan(t.Context(), b.lake.Load(), maintenance.Options{Action: maintenance.Compact})
	require.NoError(t, err)
	d.counts.PositionDeleteFiles += p.Before.PositionDeleteFiles
	d.counts.PuffinFiles += p.Before.PuffinFiles
	d.counts.DeleteManifests += p.Before.DeleteManifests
	d.counts.DeletedRows += p.Before.DeletedRows
	d.reading.DeleteEntries += p.Forecast.Before.DeleteEntries
	d.reading.Requests += p.Forecast.Before.Requests
	d.reading.Bytes += p.Forecast.Before.Bytes
}

func TestADayOfADaemonIsAsTheReadmeSays(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a day takes too long")
	}
	without, with := live(t, false), live(t, true)
	assert.Less(t, with.reading.Requests, without.reading.Requests/2)
	assert.Positive(t, with.lost, "no race was lost")
	var out strings.Builder
	const step = 10 << 20 // ids and times make bytes differ a little from day to day
	fmt.Fprintf(&out, "%d tables with %d data files each, half of them of format version 3, whose writers commit deletes %s times in a day.\n", dayTables, dayDataFiles, term.Count(dayTables*dayCommits*24))
	fmt.Fprintf(&out, "The daemon looks at each table every hour: %s, %s of them with a commit, less than %s read and written;\n", term.Plural(int64(with.results[ResultDone]+with.results[ResultNothing]), "run", "runs"),
		term.Count(int64(with.commits)), term.Size((with.bytes/step+1)*step))
	fmt.Fprintf(&out, "%s to a writer, %s left to the next run, no row lost or back.\n\n", term.Plural(int64(with.lost), "race lost", "races lost"), term.Plural(int64(with.dropped), "data file", "data files"))
	table := &term.Table{Right: []bool{false, true, true}}
	table.Row("at the end of the day", "without", "with the daemon")
	for _, row := range []struct {
		what          string
		without, with int64
	}{
		{"position delete files", int64(without.counts.PositionDeleteFiles), int64(with.counts.PositionDeleteFiles)},
		{"Puffin files", int64(without.counts.PuffinFiles), int64(with.counts.PuffinFiles)},
		{"delete manifests", int64(without.counts.DeleteManifests), int64(with.counts.DeleteManifests)},
		{"requests for deletes in a full scan of all", without.reading.Requests, with.reading.Requests},
		{"delete entries that planning it goes over", without.reading.DeleteEntries, with.reading.DeleteEntries},
	} {
		table.Row(row.what, term.Count(row.without), term.Count(row.with))
	}
	table.Row("bytes of these requests", term.Size(without.reading.Bytes), term.Size(with.reading.Bytes))
	_, err := table.WriteTo(&out)
	require.NoError(t, err)
	t.Logf("%s read and written", term.Size(with.bytes))
	golden.Assert(t, "day.txt", out.String())
	readme, err := os.ReadFile(filepath.Join(testlake.Root(t), "README.md"))
	require.NoError(t, err)
	assert.Contains(t, string(readme), out.String())
}
