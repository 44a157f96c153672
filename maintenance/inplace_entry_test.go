package maintenance_test

import (
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// said lists the optional fields that the entry of a delete file has, with the columns of those that are maps.
func said(f iceberg.DataFile) map[string]any {
	out := map[string]any{}
	columns := func(name string, n int, has func(id int) bool) {
		for _, id := range []int{filePathID, posID} {
			if has(id) {
				out[name] = n
			}
		}
	}
	bound := func(m map[int][]byte) func(int) bool { return func(id int) bool { _, ok := m[id]; return ok } }
	count := func(m map[int]int64) func(int) bool { return func(id int) bool { _, ok := m[id]; return ok } }
	columns("column_sizes", len(f.ColumnSizes()), count(f.ColumnSizes()))
	columns("value_counts", len(f.ValueCounts()), count(f.ValueCounts()))
	columns("null_value_counts", len(f.NullValueCounts()), count(f.NullValueCounts()))
	columns("nan_value_counts", len(f.NaNValueCounts()), count(f.NaNValueCounts()))
	columns("lower_bounds", len(f.LowerBoundValues()), bound(f.LowerBoundValues()))
	columns("upper_bounds", len(f.UpperBoundValues()), bound(f.UpperBoundValues()))
	if offsets := f.SplitOffsets(); len(offsets) > 0 {
		out["split_offsets"] = offsets[0]
	}
	if f.SortOrderID() != nil {
		out["sort_order_id"] = *f.SortOrderID()
	}
	if f.ReferencedDataFile() != nil {
		out["referenced_data_file"] = true
	}
	return out
}

// deleteEntries are the live position delete files of a lake, those of a run of ours, and others.
func deleteEntries(t *testing.T, lake *testlake.Lake) (ours, others []iceberg.DataFile) {
	manifests, err := lake.Load(t, "t").Metadata.CurrentSnapshot().Manifests(lake.IO())
	require.NoError(t, err)
	for _, m := range manifests {
		for e, err := range m.Entries(lake.IO(), true) {
			require.NoError(t, err)
			switch f := e.DataFile(); {
			case f.ContentType() != iceberg.EntryContentPosDeletes:
			case strings.Contains(f.FilePath(), "/dvcompactor-"):
				ours = append(ours, f)
			default:
				others = append(others, f)
			}
		}
	}
	return ours, others
}

// Beside what the Java reference says of a position delete file ours have the bounds of files about several data files, and
// the referenced data file of those about one.
func TestTheEntryOfANewFileSaysWhatTheReferencesOwnEntriesSay(t *testing.T) {
	t.Parallel()
	for fixture, by := range map[string]maintenance.Granularity{"v2-file-granular": maintenance.ByFile, "v2-partition-granular": maintenance.ByPartition} {
		t.Run(fixture, func(t *testing.T) {
			t.Parallel()
			lake := testlake.Copy(t, fixture)
			_, theirs := deleteEntries(t, lake)
			want := said(theirs[0])
			require.Equal(t, map[string]any{"column_sizes": 2, "split_offsets": int64(4)}, map[string]any{"column_sizes": want["column_sizes"], "split_offsets": want["split_offsets"]})
			want["lower_bounds"], want["upper_bounds"] = 2, 2
			if by == maintenance.ByFile {
				want["referenced_data_file"] = true
			}
			_, err := maintenance.Run(t.Context(), lake.Catalog, testlake.Ident("t"), inPlace(maintenance.InPlace{Granularity: by}))
			require.NoError(t, err)
			ours, _ := deleteEntries(t, lake)
			require.NotEmpty(t, ours)
			for _, f := range ours {
				assert.Equal(t, want, said(f))
				assert.Less(t, f.ColumnSizes()[filePathID]+f.ColumnSizes()[posID], f.FileSizeBytes())
			}
		})
	}
}
