package maintenance_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/snapshot"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sharing is a table of format version 3 with two data files, a position delete file with records of both, and one of the
// second alone.
type sharing struct {
	t            *testing.T
	lake         *testlake.Lake
	a, b         iceberg.DataFile
	shared, ofB  string // position delete files
	o            maintenance.Options
	before       func(n int) // each commit
	cannotBeRead bool        // the reader of the tests fails on what was done to a
}

func newSharing(t *testing.T) *sharing {
	lake, f := ownTable(t, 2, 2)
	s := &sharing{t: t, lake: lake, a: f[0], b: f[1], o: fast(maintenance.Compact)}
	s.shared = s.delete(map[string][]int64{s.a.FilePath(): {1}, s.b.FilePath(): {2}})
	s.ofB = s.delete(map[string][]int64{s.b.FilePath(): {3}})
	return s
}

// delete commits a position delete file and returns its location.
func (s *sharing) delete(positions map[string][]int64) string {
	old := s.live()
	deletePositions(s.t, s.lake, s.a, positions)
	for path := range s.live() {
		if !old[path] {
			return path
		}
	}
	require.FailNow(s.t, "no new delete file")
	return ""
}

func (s *sharing) live() map[string]bool {
	files, err := lakewriter.DeleteFiles(s.t.Context(), mustLoad(s.t, s.lake), "main")
	require.NoError(s.t, err)
	out := map[string]bool{}
	for _, f := range files {
		out[f.FilePath()] = true
	}
	return out
}

func (s *sharing) upgrade() { update(s.t, s.lake, table.NewUpgradeFormatVersionUpdate(3)) }

// vectorOfA commits a deletion vector for the first data file and returns its entry.
func (s *sharing) vectorOfA(positions ...int64) iceberg.DataFile {
	s.upgrade()
	replaceVector(s.t, s.lake, s.a, positions...)
	files, err := lakewriter.DeleteFiles(s.t.Context(), mustLoad(s.t, s.lake), "main")
	require.NoError(s.t, err)
	for _, f := range files {
		if f.FileFormat() == iceberg.PuffinFile {
			return f
		}
	}
	require.FailNow(s.t, "no deletion vector")
	return nil
}

// list commits a snapshot that lists one entry more, whatever that entry is.
func (s *sharing) list(f iceberg.DataFile, content iceberg.ManifestContent) {
	tbl := s.lake.Load(s.t, "t")
	meta, head := tbl.Metadata, tbl.Metadata.CurrentSnapshot()
	fs := tbl.Store.FileIO(s.t.Context())
	id, seq := snapshot.NewSnapshotID(), meta.LastSequenceNumber()+1
	location := fmt.Sprintf("%s/metadata/more-%d.avro", meta.Location(), id)
	m, data, err := oneEntry(location, id, seq, f, content)
	require.NoError(s.t, err)
	require.NoError(s.t, fs.WriteFile(location, data))
	manifests, err := head.Manifests(fs)
	require.NoError(s.t, err)
	var list bytes.Buffer
	w, err := iceberg.NewManifestListWriterV3(&list, id, seq, meta.NextRowID(), &head.SnapshotID)
	require.NoError(s.t, err)
	require.NoError(s.t, w.AddManifests(append(manifests, m)))
	require.NoError(s.t, w.Close())
	location = fmt.Sprintf("%s/metadata/snap-%d.avro", meta.Location(), id)
	require.NoError(s.t, fs.WriteFile(location, list.Bytes()))
	first := meta.NextRowID()
	rows := *w.NextRowID() - first
	snap := &table.Snapshot{
		SnapshotID: id, ParentSnapshotID: &head.SnapshotID, SequenceNumber: seq, TimestampMs: head.TimestampMs + 1, ManifestList: location, SchemaID: head.SchemaID,
		FirstRowID: &first, AddedRows: &rows, Summary: &table.Summary{Operation: table.OpAppend},
	}
	update(s.t, s.lake, table.NewAddSnapshotUpdate(snap), table.NewSetSnapshotRefUpdate("main", id, table.BranchRef, 0, 0, 0))
}

// positionEntry describes a position delete file that nobody reads.
func (s *sharing) positionEntry(format iceberg.FileFormat, key []byte) iceberg.DataFile {
	b, err := iceberg.NewDataFileBuilder(*iceberg.UnpartitionedSpec, iceberg.EntryContentPosDeletes, s.lake.Load(s.t, "t").Metadata.Location()+"/data/unread", format, nil, nil, nil, 1, 10)
	require.NoError(s.t, err)
	return b.KeyMetadata(key).Build()
}

// The ways of the first data file to get no deletion vector in the commit.
func TestASharedPositionDeleteFileStaysUntilItsLastDataFileIsCovered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make   func(*sharing)
		reason string // of the skip
		all    bool   // the second data file gets none either
	}{
		"cool-down": {func(s *sharing) {
			s.upgrade()
			moment := later(t, s.lake)
			replaceVector(s.t, s.lake, s.a, 1, 9)
			s.o = coolingSince(maintenance.Compact, moment)
		}, "cool-down", false},
		"conflict": {func(s *sharing) {
			s.upgrade()
			s.before = func(n int) {
				if n == 1 {
					replaceVector(s.t, s.lake, s.a, 1, 9)
				}
			}
		}, "", false},
		"damaged deletion vector": {func(s *sharing) {
			dv := s.vectorOfA(1, 9)
			s.lake.Flip(s.t, dv.FilePath(), *dv.ContentOffset()+*dv.ContentSizeInBytes()-1)
			s.cannotBeRead = true
		}, "dv-corrupt", false},
		"missing Puffin file": {func(s *sharing) {
			require.NoError(s.t, s.lake.Remove(s.vectorOfA(1, 9).FilePath()))
			s.cannotBeRead = true
		}, "dv-missing", false},
		"incomplete deletion vector": {func(s *sharing) { s.vectorOfA(9) }, "dv-incomplete", false},
		"position out of range": {func(s *sharing) {
			s.delete(map[string][]int64{s.a.FilePath(): {5000}})
			s.upgrade()
		}, "position-out-of-range", false},
		"data file listed twice": {func(s *sharing) {
			s.upgrade()
			s.list(s.a, iceberg.ManifestContentData)
			s.cannotBeRead = true
		}, "data-file-twice", false},
		"two deletion vectors": {func(s *sharing) {
			s.list(s.vectorOfA(1, 9), iceberg.ManifestContentDeletes)
			s.cannotBeRead = true
		}, "dv-duplicate", false},
		"negative position": {func(s *sharing) {
			s.delete(map[string][]int64{s.a.FilePath(): {-1}})
			s.upgrade()
			s.cannotBeRead = true
		}, "delete-unreadable", true},
		"an ORC file that is not there": {func(s *sharing) {
			s.upgrade()
			s.list(s.positionEntry(iceberg.OrcFile, nil), iceberg.ManifestContentDeletes)
			s.cannotBeRead = true
		}, "delete-unreadable", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSharing(t)
			c.make(s)
			var want map[string][][2]int64
			if !s.cannotBeRead {
				want = s.lake.Read(t, "t", "main").Positions
			}
			r, err := maintenance.Run(t.Context(), &testlake.Racing{Catalog: s.lake.Catalog, Before: func(n int) {
				if s.before != nil {
					s.before(n)
					want = s.lake.Read(t, "t", "main").Positions
				}
			}}, testlake.Ident("t"), s.o)
			require.NoError(t, err)
			if c.reason != "" {
				assert.Positive(t, reasons(r.Skipped)[c.reason], "%v", r.Skipped)
			} else {
				assert.Equal(t, []string{s.a.FilePath()}, r.Dropped)
			}
			assert.Equal(t, !c.all, r.Committed)
			assert.True(t, s.live()[s.shared], "the shared file")
			assert.Equal(t, c.all, s.live()[s.ofB], "the file of the covered data file alone")
			if want != nil {
				assert.Equal(t, want, s.lake.Read(t, "t", "main").Positions)
			}
		})
	}
}

func TestASharedPositionDeleteFileGoesWhenItsDataFilesAreCoveredInDifferentPasses(t *testing.T) {
	t.Parallel()
	s := newSharing(t)
	s.upgrade()
	want := s.lake.Read(t, "t", "main").Positions
	s.o.Memory = 1
	r := run(t, s.lake, s.o)
	assert.Equal(t, 2, r.DataFiles)
	assert.False(t, s.live()[s.shared])
	assert.Equal(t, want, s.lake.Read(t, "t", "main").Positions)
}

func TestATableWithAnEncryptedDeleteFileKeepsAllOfThem(t *testing.T) {
	t.Parallel()
	s := newSharing(t)
	s.upgrade()
	s.list(s.positionEntry(iceberg.ParquetFile, []byte("key")), iceberg.ManifestContentDeletes)
	before := s.lake.Files(t)
	_, err := maintenance.Run(t.Context(), s.lake.Catalog, testlake.Ident("t"), s.o)
	require.ErrorIs(t, err, maintenance.ErrRefusedTable)
	assert.Equal(t, before, s.lake.Files(t))
}
