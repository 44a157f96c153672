package maintenance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// manyManifests makes db.t with n data files, which nobody has to open, and a deletion vector for each: one snapshot whose
// every entry has a manifest of its own.
func manyManifests(t *testing.T, n int) (*testlake.Lake, []iceberg.DataFile) {
	lake, _ := ownTable(t, 3, 0)
	tbl := mustLoad(t, lake)
	var files []iceberg.DataFile
	var list bytes.Buffer
	const snapshotID, seq = int64(11), int64(1)
	w, err := iceberg.NewManifestListWriterV3(&list, snapshotID, seq, 0, nil)
	require.NoError(t, err)
	io := lake.Load(t, "t").Store.FileIO(t.Context())
	add := func(f iceberg.DataFile, content iceberg.ManifestContent) {
		location := fmt.Sprintf("%s/metadata/%s-%05d.avro", tbl.Location(), content, len(files))
		m, data, err := oneEntry(location, snapshotID, seq, f, content)
		require.NoError(t, err)
		require.NoError(t, io.WriteFile(location, data))
		require.NoError(t, w.AddManifests([]iceberg.ManifestFile{m}))
	}
	for i := range n {
		b, err := iceberg.NewDataFileBuilder(*iceberg.UnpartitionedSpec, iceberg.EntryContentData, fmt.Sprintf("%s/data/%05d.parquet", tbl.Location(), i), iceberg.ParquetFile, nil, nil, nil, 1000, 1)
		require.NoError(t, err)
		files = append(files, b.Build())
		dvs, err := lakewriter.DeletionVectors(t.Context(), tbl, map[string][]int64{files[i].FilePath(): {int64(i)}}, files[i])
		require.NoError(t, err)
		add(files[i], iceberg.ManifestContentData)
		add(dvs[0], iceberg.ManifestContentDeletes)
	}
	require.NoError(t, w.Close())
	location := tbl.Location() + "/metadata/snap-11.avro"
	require.NoError(t, io.WriteFile(location, list.Bytes()))
	first, rows, schema := int64(0), *w.NextRowID(), tbl.Schema().ID
	snap := &table.Snapshot{
		SnapshotID: snapshotID, SequenceNumber: seq, TimestampMs: time.Now().UnixMilli(), ManifestList: location, SchemaID: &schema, FirstRowID: &first, AddedRows: &rows,
		Summary: &table.Summary{Operation: table.OpAppend},
	}
	update(t, lake, table.NewAddSnapshotUpdate(snap), table.NewSetSnapshotRefUpdate("main", snapshotID, table.BranchRef, 0, 0, 0))
	return lake, files
}

// oneEntry encodes a manifest with one added entry.
func oneEntry(location string, snapshotID, seq int64, f iceberg.DataFile, content iceberg.ManifestContent) (iceberg.ManifestFile, []byte, error) {
	var buf bytes.Buffer
	w, err := iceberg.NewManifestWriter(3, &buf, *iceberg.UnpartitionedSpec, lakewriter.Schema(), snapshotID, iceberg.WithManifestWriterContent(content))
	if err != nil {
		return nil, nil, err
	}
	e := iceberg.NewManifestEntry(iceberg.EntryStatusADDED, new(snapshotID), new(seq), nil, f)
	if err := errors.Join(w.Add(e), w.Close()); err != nil {
		return nil, nil, err
	}
	m, err := w.ToManifestFile(location, int64(buf.Len()))
	return m, buf.Bytes(), err
}

// The other writer works through a catalog of its own, so that its requests are not counted.
func TestARebaseReadsOnlyWhatIsNewHoweverManyManifestsThereAre(t *testing.T) {
	t.Parallel()
	const conflicts = 3
	lake, f := manyManifests(t, testlake.Size(250, 50))
	store := lake.Load(t, "t").Store
	other := testlake.Open(t, lake.Dir)
	var marks []storage.Stats
	cat := &testlake.Racing{Catalog: lake.Catalog, Before: func(n int) {
		marks = append(marks, store.Stats())
		if n <= conflicts {
			replaceVector(t, other, f[n], int64(n), 500)
		}
	}}
	r, err := maintenance.Run(t.Context(), cat, testlake.Ident("t"), fast(maintenance.Compact))
	require.NoError(t, err)
	assert.Equal(t, conflicts+1, r.Attempts)
	assert.Len(t, r.Dropped, conflicts)
	for i := range conflicts {
		rebase := marks[i+1].Sub(marks[i])
		assert.LessOrEqual(t, rebase.Gets, int64(7), "the table, its manifest list, and the manifests that the other writer wrote: %+v", rebase)
		assert.Zero(t, rebase.RangeGets)
	}
}

// vectorWriter deletes further rows of data files, one after the other, each with a deletion vector that holds all before.
type vectorWriter struct {
	lake *testlake.Lake
	f    []iceberg.DataFile
	rows map[int][]int64 // by index into f
	next int
	done atomic.Int32 // commits that succeeded
}

// write commits one deletion vector. A conflict with somebody else is not an error: nothing was written then.
func (w *vectorWriter) write(ctx context.Context) error {
	i := w.next % len(w.f)
	positions := append(slices.Clone(w.rows[i]), int64(500+w.next))
	tbl, err := lakewriter.Load(ctx, w.lake.Catalog, testlake.Ident("t"))
	if err != nil {
		return err
	}
	w.next++
	if _, err = lakewriter.ReplaceVector(ctx, tbl, "main", w.f[i], positions); err == nil {
		w.rows[i] = positions
		w.done.Add(1)
	}
	return err
}

// checkRows compares what is deleted with what the writer deleted and what there was before.
func checkRows(t *testing.T, lake *testlake.Lake, f []iceberg.DataFile, rows map[int][]int64) {
	got := lake.Read(t, "t", "main").Positions
	for i, d := range f {
		want := [][2]int64{}
		for _, p := range rows[i] {
			if n := len(want); n > 0 && want[n-1][1]+1 == p {
				want[n-1][1] = p
			} else {
				want = append(want, [2]int64{p, p})
			}
		}
		assert.Equal(t, want, got[d.FilePath()], "data file %d", i)
	}
}

func manyVectors(t *testing.T, files int) (*testlake.Lake, []iceberg.DataFile, map[int][]int64) {
	lake, f := manyManifests(t, files)
	rows := map[int][]int64{}
	for i := range f {
		rows[i] = []int64{int64(i)}
	}
	return lake, f, rows
}

func TestAWriterThatIsFirstSeveralTimesTakesItsDataFilesOutAndTheRestLands(t *testing.T) {
	t.Parallel()
	const files, wins = 12, 5
	lake, f, rows := manyVectors(t, files)
	w := &vectorWriter{lake: lake, f: f[:wins], rows: rows}
	cat := &testlake.Racing{Catalog: lake.Catalog, Before: func(n int) {
		if n <= wins {
			assert.NoError(t, w.write(t.Context()))
		}
	}}
	r, err := maintenance.Run(t.Context(), cat, testlake.Ident("t"), fast(maintenance.Compact))
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.Equal(t, wins+1, r.Attempts)
	var left []string
	for _, d := range f[:wins] {
		left = append(left, d.FilePath())
	}
	assert.ElementsMatch(t, left, r.Dropped)
	assert.Equal(t, files-wins, r.DataFiles)
	assert.Len(t, r.Puffins, 1)
	checkRows(t, lake, f, rows)
	assert.Len(t, lake.Read(t, "t", "main").Puffins, 1+wins)
}

// The writer works all the time, and is first at three of four of our commits.
func TestAWriterThatNeverStopsDoesNotKeepTheRestFromLanding(t *testing.T) {
	t.Parallel()
	const files, busy = 24, 4
	lake, f, rows := manyVectors(t, files)
	w := &vectorWriter{lake: testlake.Open(t, lake.Dir), f: f[:busy], rows: rows}
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	writing.Go(func() {
		for ctx.Err() == nil {
			_ = w.write(context.WithoutCancel(ctx)) // it loses a race now and then
		}
	})
	cat := &testlake.Racing{Catalog: lake.Catalog, Before: func(n int) {
		for done := w.done.Load(); n%4 != 0 && w.done.Load() == done; {
			time.Sleep(time.Millisecond)
		}
	}}
	o := fast(maintenance.Compact)
	o.Retry.Attempts = 100
	r, err := maintenance.Run(t.Context(), cat, testlake.Ident("t"), o)
	stop()
	writing.Wait()
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.GreaterOrEqual(t, r.Attempts, 4)
	assert.GreaterOrEqual(t, len(r.Dropped), 3, "one for each time that the writer was first")
	assert.Equal(t, files, r.DataFiles+len(r.Dropped))
	for _, d := range f[busy:] {
		assert.NotContains(t, r.Dropped, d.FilePath())
	}
	checkRows(t, lake, f, rows)
}
