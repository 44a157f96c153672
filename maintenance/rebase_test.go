package maintenance_test

import (
	"bytes"
	"errors"
	"fmt"
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
	const files, conflicts = 250, 3
	lake, f := manyManifests(t, files)
	store := lake.Load(t, "t").Store
	other := testlake.Open(t, lake.Dir)
	var marks []storage.Stats
	cat := &racing{Catalog: lake.Catalog, before: func(n int) {
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
