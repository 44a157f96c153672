package maintenance_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/require"
)

// history is a table that a random sequence of writers and of our own runs works on, beside a plain model of what is
// deleted.
type history struct {
	t     *testing.T
	r     *rand.Rand
	lake  *testlake.Lake
	files []iceberg.DataFile
	model map[string]map[int64]bool // deleted positions by path of the live data file
	v3    bool
	log   []string
}

const historyRows = 500

func (h *history) load() *table.Table {
	tbl, err := lakewriter.Load(h.t.Context(), h.lake.Catalog, testlake.Ident("t"))
	require.NoError(h.t, err)
	return tbl
}

// append adds a data file to one of three partitions.
func (h *history) append() {
	region := int32(h.r.IntN(3))
	tbl, err := lakewriter.Append(h.t.Context(), h.load(), region, int64(len(h.files))*historyRows, historyRows)
	require.NoError(h.t, err)
	h.files, err = lakewriter.DataFiles(h.t.Context(), tbl, "main")
	require.NoError(h.t, err)
	for _, f := range h.files {
		if h.model[f.FilePath()] == nil {
			h.model[f.FilePath()] = map[int64]bool{}
		}
	}
}

func (h *history) pick() iceberg.DataFile { return h.files[h.r.IntN(len(h.files))] }

// some draws positions: a few scattered ones, or a run.
func (h *history) some() []int64 {
	var out []int64
	if start := h.r.Int64N(historyRows); h.r.IntN(3) == 0 {
		for p := start; p < min(start+h.r.Int64N(100)+1, historyRows); p++ {
			out = append(out, p)
		}
		return out
	}
	for range h.r.IntN(5) + 1 {
		out = append(out, h.r.Int64N(historyRows))
	}
	return out // unsorted, with duplicates
}

// positionDelete commits a position delete file for one data file, or for all of a partition and some that are gone.
func (h *history) positionDelete() {
	target := h.pick()
	positions := map[string][]int64{target.FilePath(): h.some()}
	if h.r.IntN(2) == 0 {
		for _, f := range h.files {
			if f.Partition()[1000] == target.Partition()[1000] {
				positions[f.FilePath()] = h.some()
			}
		}
		if h.r.IntN(3) == 0 {
			positions[fmt.Sprintf("file:///gone/%d.parquet", h.r.IntN(5))] = h.some()
		}
	}
	tbl := h.load()
	d, err := lakewriter.PositionDeletes(h.t.Context(), tbl, target, positions)
	require.NoError(h.t, err)
	_, err = lakewriter.Delta(h.t.Context(), tbl, "main", []iceberg.DataFile{d}, nil)
	require.NoError(h.t, err)
	for path, list := range positions {
		for _, p := range list {
			if h.model[path] != nil {
				h.model[path][p] = true
			}
		}
	}
}

// vector commits a deletion vector that holds everything deleted so far and more, as a correct writer does.
func (h *history) vector() {
	f := h.pick()
	for _, p := range h.some() {
		h.model[f.FilePath()][p] = true
	}
	_, err := lakewriter.ReplaceVector(h.t.Context(), h.load(), "main", f, h.deleted(f.FilePath()))
	require.NoError(h.t, err)
}

func (h *history) deleted(path string) []int64 {
	var out []int64
	for p := range h.model[path] {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

// maintain runs one of our actions and checks the table against the model; a second run must commit nothing.
func (h *history) maintain() {
	o := fast(maintenance.Compact)
	if h.r.IntN(2) == 0 {
		o = fast(maintenance.Migrate)
		o.UpgradeFormat = h.r.IntN(2) == 0
	}
	o.Memory = []int64{1, 2000, 1 << 30}[h.r.IntN(3)]
	o.TargetPuffinSize = []int64{300, 1500, 1 << 26}[h.r.IntN(3)]
	h.log = append(h.log, fmt.Sprintf("%s %+v", o.Action, o))
	r, err := maintenance.Run(h.t.Context(), h.lake.Catalog, testlake.Ident("t"), o)
	require.NoError(h.t, err)
	h.v3 = h.v3 || r.UpgradedFormat
	again, err := maintenance.Run(h.t.Context(), h.lake.Catalog, testlake.Ident("t"), o)
	require.NoError(h.t, err)
	require.False(h.t, again.Committed, "a second run commits")
	h.check()
}

func (h *history) check() {
	got := h.lake.Read(h.t, "t", "main")
	require.Len(h.t, got.Positions, len(h.model))
	for path := range h.model {
		want := [][2]int64{}
		for _, p := range h.deleted(path) {
			if n := len(want); n > 0 && want[n-1][1]+1 == p {
				want[n-1][1] = p
			} else {
				want = append(want, [2]int64{p, p})
			}
		}
		require.Equal(h.t, want, got.Positions[path], path)
	}
}

func (h *history) step() {
	switch n := h.r.IntN(10); {
	case n < 2:
		h.log = append(h.log, "append")
		h.append()
	case n < 6 && !h.v3:
		h.log = append(h.log, "position delete")
		h.positionDelete()
	case n < 6:
		h.log = append(h.log, "vector")
		h.vector()
	case n == 6 && !h.v3:
		h.log = append(h.log, "upgrade")
		update(h.t, h.lake, table.NewUpgradeFormatVersionUpdate(3))
		h.v3 = true
	default:
		h.maintain()
	}
}

func TestRandomHistoriesKeepWhatIsDeleted(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			_, err := lakewriter.CreateLake(t.Context(), dir, testlake.CatalogName)
			require.NoError(t, err)
			require.NoError(t, lakewriter.CreateTable(t.Context(), dir, testlake.CatalogName, "t", 2, lakewriter.ByRegion()))
			h := &history{t: t, r: rand.New(rand.NewPCG(seed, 7)), lake: testlake.Open(t, dir), model: map[string]map[int64]bool{}}
			defer func() {
				if t.Failed() {
					t.Logf("history: %q", h.log)
				}
			}()
			h.append()
			h.append()
			for range 25 {
				h.step()
			}
			h.maintain()
		})
	}
}
