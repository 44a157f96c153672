package snapshot_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/snapshot"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// followed is a table that writers change at random while a follower follows it.
type followed struct {
	t    *testing.T
	r    *rand.Rand
	lake *testlake.Lake
	rows int64
}

func newFollowed(t *testing.T, seed uint64) *followed {
	dir := t.TempDir()
	_, err := lakewriter.CreateLake(t.Context(), dir, testlake.CatalogName)
	require.NoError(t, err)
	require.NoError(t, lakewriter.CreateTable(t.Context(), dir, testlake.CatalogName, "t", 2, lakewriter.ByRegion()))
	h := &followed{t: t, r: rand.New(rand.NewPCG(seed, 1)), lake: testlake.Open(t, dir)}
	for range 3 {
		h.append()
	}
	h.delete()
	h.delete()
	h.update(table.NewUpgradeFormatVersionUpdate(3))
	h.vector()
	return h
}

func (h *followed) load() *table.Table {
	tbl, err := lakewriter.Load(h.t.Context(), h.lake.Catalog, testlake.Ident("t"))
	require.NoError(h.t, err)
	return tbl
}

func (h *followed) update(updates ...table.Update) {
	require.NoError(h.t, h.lake.Catalog.Commit(h.t.Context(), h.lake.Load(h.t, "t"), nil, updates))
}

func (h *followed) append() {
	_, err := lakewriter.Append(h.t.Context(), h.load(), int32(h.r.IntN(2)), h.rows, 10)
	require.NoError(h.t, err)
	h.rows += 10
}

func (h *followed) pick() iceberg.DataFile {
	files, err := lakewriter.DataFiles(h.t.Context(), h.load(), "main")
	require.NoError(h.t, err)
	return files[h.r.IntN(len(files))]
}

// delete commits a position delete file, which only a table of version 2 takes.
func (h *followed) delete() {
	f := h.pick()
	d, err := lakewriter.PositionDeletes(h.t.Context(), h.load(), f, map[string][]int64{f.FilePath(): {h.r.Int64N(10)}})
	require.NoError(h.t, err)
	_, err = lakewriter.Delta(h.t.Context(), h.load(), "main", []iceberg.DataFile{d}, nil)
	require.NoError(h.t, err)
}

func (h *followed) vector() {
	_, err := lakewriter.ReplaceVector(h.t.Context(), h.load(), "main", h.pick(), []int64{h.r.Int64N(10)})
	require.NoError(h.t, err)
}

// moveBranch sets main to any snapshot there is: data files, deletes and manifests come and go with it.
func (h *followed) moveBranch() {
	snapshots := h.load().Metadata().Snapshots()
	h.update(table.NewSetSnapshotRefUpdate("main", snapshots[2+h.r.IntN(len(snapshots)-2)].SnapshotID, table.BranchRef, 0, 0, 0))
}

func (h *followed) step() {
	[]func(){h.append, h.vector, h.vector, h.moveBranch}[h.r.IntN(4)]()
}

func head(tbl *catalog.Table) *table.Snapshot { return tbl.Metadata.SnapshotByName("main") }

func texts(files []*snapshot.DeleteFile) []string {
	out := []string{}
	for _, d := range files {
		out = append(out, fmt.Sprintf("%+v %s %+v %d %d %d %q %d %s", d.FileID, d.Format, d.Group.Key, d.Seq, d.Records, d.Size, d.Referenced, d.SnapshotID, d.Manifest))
	}
	return out
}

// checkSame compares what a follower says with what reading everything anew says.
func (h *followed) checkSame(base, got *snapshot.State, tbl *catalog.Table) {
	want, err := snapshot.Load(h.t.Context(), tbl.Store.FileIO(h.t.Context()), tbl.Metadata, head(tbl), snapshot.LoadOptions{})
	require.NoError(h.t, err)
	assert.Equal(h.t, texts(want.DVs), texts(got.DVs))
	assert.Equal(h.t, texts(want.PositionDeletes), texts(got.PositionDeletes))
	assert.Equal(h.t, want.EqualityDeletes, got.EqualityDeletes)
	live := h.lake.Read(h.t, "t", "main").Entries
	for path := range base.DataFiles {
		f, e := got.DataFiles[path], live[path]
		require.Equal(h.t, e != nil, f != nil, path)
		if f == nil {
			continue
		}
		assert.Equal(h.t, e.SequenceNum(), f.Seq)
		assert.Equal(h.t, e.DataFile().Count(), f.Records)
		assert.Same(h.t, base.DataFiles[path].Group, f.Group)
		if w := want.DataFiles[path]; w != nil {
			assert.Equal(h.t, texts(w.DVs), texts(f.DVs))
			assert.Equal(h.t, w.Twice, f.Twice)
		} else {
			assert.Empty(h.t, f.DVs)
		}
	}
}

func TestAFollowerSeesWhatReadingEverythingAnewSees(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			h := newFollowed(t, seed)
			tbl := h.lake.Load(t, "t")
			base, err := snapshot.Load(t.Context(), tbl.Store.FileIO(t.Context()), tbl.Metadata, head(tbl), snapshot.LoadOptions{})
			require.NoError(t, err)
			f := base.Follow(nil)
			for range 8 {
				h.step()
				tbl := h.lake.Load(t, "t")
				got, err := f.Load(t.Context(), tbl.Store.FileIO(t.Context()), tbl.Metadata, head(tbl), snapshot.LoadOptions{})
				require.NoError(t, err)
				h.checkSame(base, got, tbl)
			}
		})
	}
}

func TestAFollowerFindsThePathsItWasAskedForInManifestsThatCame(t *testing.T) {
	t.Parallel()
	h := newFollowed(t, 9)
	tbl := h.lake.Load(t, "t")
	base, err := snapshot.Load(t.Context(), tbl.Store.FileIO(t.Context()), tbl.Metadata, head(tbl), snapshot.LoadOptions{})
	require.NoError(t, err)
	before := h.lake.Read(t, "t", "main").Entries
	h.append()
	var came string
	for path := range h.lake.Read(t, "t", "main").Entries {
		if before[path] == nil {
			came = path
		}
	}
	tbl = h.lake.Load(t, "t")
	for also, want := range map[string]bool{came: true, "file:///elsewhere": false} {
		got, err := base.Follow(map[string]bool{also: true}).Load(t.Context(), tbl.Store.FileIO(t.Context()), tbl.Metadata, head(tbl), snapshot.LoadOptions{})
		require.NoError(t, err)
		assert.Equal(t, want, got.DataFiles[came] != nil)
	}
}
