package crash

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage/localblob"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
)

// state is everything that is in a lake at one moment, as somebody sees it who opens it anew.
type state struct {
	head      int64 // snapshot of main
	refs      map[string]int64
	main      *testlake.Deletes
	manifests int                             // of deletes, in main, without those of removed entries alone
	positions map[int64]map[string][][2]int64 // deleted positions by snapshot, then by data file
	objects   map[string][]byte               // by location, without temporary files
	orphans   []string                        // locations of objects that no snapshot and no metadata refers to
	temporary int                             // local files that are still being written, or were
}

// load loads the table with a connection of its own.
func (l *lab) load(t *testing.T) (tbl *catalog.Table, closed func()) {
	c, err := catalog.Open(t.Context(), l.options)
	require.NoError(t, err)
	tbl, err = c.Load(t.Context(), testlake.Ident("t"))
	require.NoError(t, err)
	return tbl, func() { require.NoError(t, c.Close()) }
}

// head is the snapshot of main.
func (l *lab) head(t *testing.T) int64 {
	tbl, closed := l.load(t)
	defer closed()
	return tbl.Metadata.CurrentSnapshot().SnapshotID
}

// look reads a lake and demands that all that its snapshots refer to is there.
func (l *lab) look(t *testing.T) *state {
	tbl, closed := l.load(t)
	defer closed()
	s := &state{head: tbl.Metadata.CurrentSnapshot().SnapshotID, refs: map[string]int64{}, positions: map[int64]map[string][][2]int64{}, objects: map[string][]byte{}}
	for name, ref := range tbl.Metadata.Refs() {
		s.refs[name] = ref.SnapshotID
	}
	for _, snap := range tbl.Metadata.Snapshots() {
		deletes := testlake.ReadSnapshot(t, tbl.Store.FileIO(t.Context()), &snap)
		s.positions[snap.SnapshotID] = deletes.Positions
		if snap.SnapshotID == s.head {
			s.main, s.manifests = deletes, deleteManifests(t, tbl, &snap)
		}
	}
	for o, err := range tbl.Store.List(t.Context(), prefix) {
		require.NoError(t, err)
		s.objects[o.Location], err = tbl.Store.ReadFile(t.Context(), o.Location)
		require.NoError(t, err)
	}
	s.compare(t, referenced(t, tbl))
	s.temporary = l.temporaryFiles(t)
	return s
}

func deleteManifests(t *testing.T, tbl *catalog.Table, snap *table.Snapshot) (n int) {
	manifests, err := snap.Manifests(tbl.Store.FileIO(t.Context()))
	require.NoError(t, err)
	for _, m := range manifests {
		if m.ManifestContent() == iceberg.ManifestContentDeletes && (m.HasAddedFiles() || m.HasExistingFiles()) {
			n++
		}
	}
	return n
}

// compare finds orphans, and what is missing.
func (s *state) compare(t *testing.T, wanted map[string]bool) {
	for location := range wanted {
		require.Contains(t, s.objects, location, "a snapshot refers to it")
	}
	for _, location := range slices.Sorted(maps.Keys(s.objects)) {
		if strings.HasPrefix(location, prefix+"t/") && !wanted[location] {
			s.orphans = append(s.orphans, location)
			assert.True(t, whole(location, s.objects[location]), "half a file under its final name: %s", location)
		}
	}
}

// referenced returns the locations that a table's metadata and all its snapshots refer to.
func referenced(t *testing.T, tbl *catalog.Table) map[string]bool {
	out := map[string]bool{tbl.MetadataLocation: true}
	for old := range tbl.Metadata.PreviousFiles() {
		out[old.MetadataFile] = true
	}
	for _, snap := range tbl.Metadata.Snapshots() {
		addSnapshot(t, tbl, &snap, out)
	}
	return out
}

func addSnapshot(t *testing.T, tbl *catalog.Table, snap *table.Snapshot, into map[string]bool) {
	files := tbl.Store.FileIO(t.Context())
	into[snap.ManifestList] = true
	manifests, err := snap.Manifests(files)
	require.NoError(t, err)
	for _, m := range manifests {
		into[m.FilePath()] = true
		for e, err := range m.Entries(files, true) {
			require.NoError(t, err)
			into[e.DataFile().FilePath()] = true
		}
	}
}

// whole tells whether a file is all there, by what each format has at its end.
func whole(name string, data []byte) bool {
	const syncMarker = 16
	switch filepath.Ext(name) {
	case ".puffin":
		return len(data) > 8 && bytes.HasSuffix(data, []byte("PFA1"))
	case ".parquet":
		return len(data) > 8 && bytes.HasSuffix(data, []byte("PAR1"))
	case ".avro": // every block ends with the marker that the header ends with
		return len(data) > syncMarker && bytes.Count(data, data[len(data)-syncMarker:]) > 1
	}
	return json.Valid(data)
}

// temporaryFiles counts the files of a local lake that never got their names.
func (l *lab) temporaryFiles(t *testing.T) (n int) {
	require.NoError(t, filepath.WalkDir(l.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), localblob.TempPrefix) {
			n++
		}
		return err
	}))
	return n
}

// sameAs demands that all that was in a lake before is there and means the same.
func (s *state) sameAs(t *testing.T, before *state) {
	for id, positions := range before.positions {
		require.Equal(t, positions, s.positions[id], "snapshot %d", id)
	}
	for location, data := range before.objects {
		if strings.HasPrefix(location, prefix+"t/") {
			require.True(t, bytes.Equal(data, s.objects[location]), "%s changed", location)
		}
	}
	for name, id := range before.refs {
		if name != "main" {
			require.Equal(t, id, s.refs[name], name)
		}
	}
	require.Equal(t, before.positions[before.head], s.positions[s.head], "what is deleted in main")
}

// tidyAs demands that main has as few deletes as in another lake, after the same work.
func (s *state) tidyAs(t *testing.T, other *state) {
	require.Equal(t, other.main.PositionDeleteFiles, s.main.PositionDeleteFiles, "position delete files")
	require.Equal(t, other.main.DVs, s.main.DVs, "deletion vectors")
	require.Len(t, s.main.Puffins, len(other.main.Puffins), "Puffin files")
	require.Equal(t, other.manifests, s.manifests, "delete manifests")
}
