package reports

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/avroheader"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// list returns the manifests of main.
func (l *lab) list() []iceberg.ManifestFile {
	manifests, err := l.Load().Metadata.SnapshotByName("main").Manifests(l.io)
	require.NoError(l.t, err)
	return manifests
}

func TestTheNumberOfManifestsStaysBoundedOverManyRounds(t *testing.T) {
	t.Parallel()
	l := newLab(t, v3())
	f := []iceberg.DataFile{l.DataFile("", 0, nil, 1000), l.DataFile("", 0, nil, 1000), l.DataFile("", 0, nil, 1000)}
	l.append(f...)
	var second int64
	for round := range int64(testlake.Size(50, 8)) {
		for i, d := range f {
			l.replaceVector(d, round, int64(500+i))
		}
		r, err := maintenance.Run(t.Context(), l.Catalog, forge.Ident(), options(maintenance.Compact))
		require.NoError(t, err)
		require.True(t, r.Committed)
		assert.LessOrEqual(t, len(l.list()), 1+2, "one of data files, one of live vectors, one of this commit's tombstones")
		if round == 1 { // the first that finds a manifest of ours
			second = r.Requests.Requests()
		}
		require.True(t, round == 0 || r.Requests.Requests() == second, "round %d takes %d requests, the second took %d", round, r.Requests.Requests(), second)
	}
}

func TestVectorsOfReplacedDataFilesAreDroppedTogether(t *testing.T) {
	t.Parallel()
	l := newLab(t, v3())
	keep := l.files(1)[0]
	rounds := testlake.Size(30, 8)
	for round := range int64(rounds) {
		f := l.DataFile("", 0, nil, 1000)
		l.append(f)
		vectors := []forge.Vector{{Data: f, Positions: []int64{round}}}
		if round%2 == 0 {
			vectors = append(vectors, forge.Vector{Data: keep, Positions: run(0, round+1)})
		}
		entries := l.DeletionVectors(vectors...)
		l.Commit(forge.Change{Add: forge.Files(entries...), Remove: func(d iceberg.DataFile) bool { return round%2 == 0 && isVectorOf(keep)(d) }})
		l.Commit(forge.Change{Operation: table.OpReplace, Remove: named(f), Add: forge.Files(l.DataFile("", 0, nil, 999))}) // its vector is left
	}
	assert.Equal(t, rounds+1, l.read("main").DVs)
	r := l.compact()
	assert.Equal(t, 1, r.After.DeletionVectors)
	assert.Equal(t, [][2]int64{{0, int64(rounds - 2)}}, l.read("main").Positions[keep.FilePath()])
	assert.Len(t, l.list(), 1+2*rounds+1+1, "data manifests, one live entry, the tombstones")
}

func TestATableWhoseDataFilesAreAllGoneLosesItsDeletes(t *testing.T) {
	t.Parallel()
	for _, version := range []int{2, 3} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, forge.Options{Version: version})
			f := l.files(2)
			l.deletePositions(f[0], map[string][]int64{f[0].FilePath(): {1}})
			if version == 3 {
				l.vector(f[1], 2)
			}
			eq := l.EqualityDeletes(0, nil, 1)
			l.delete(eq)
			l.Commit(forge.Change{Operation: table.OpDelete, Remove: named(f...)})
			l.tidy(version)
			assert.Equal(t, []string{eq.FilePath()}, l.livePaths())
			l.compact()
		})
	}
}

func TestAListWithoutManifestsAndAManifestWithoutEntriesAreNothingToDo(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]func(l *lab) func([]iceberg.ManifestFile) []iceberg.ManifestFile{
		"no manifests": func(*lab) func([]iceberg.ManifestFile) []iceberg.ManifestFile {
			return func([]iceberg.ManifestFile) []iceberg.ManifestFile { return nil }
		},
		"a manifest without entries": func(l *lab) func([]iceberg.ManifestFile) []iceberg.ManifestFile {
			return func(m []iceberg.ManifestFile) []iceberg.ManifestFile {
				h, err := avroheader.Read(bufio.NewReader(bytes.NewReader(l.Get(m[1].FilePath()))))
				require.NoError(l.t, err)
				data := append(h.Raw, make([]byte, 16)...) // the sync marker
				location := l.At + "/metadata/empty.avro"
				l.Put(location, data)
				empty := iceberg.NewManifestFile(2, location, int64(len(data)), 0, m[0].SnapshotID()).Content(iceberg.ManifestContentDeletes).
					SequenceNum(1, 1).AddedFiles(0).ExistingFiles(0).DeletedFiles(0).Build()
				return append(m, empty)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, v2())
			f := l.files(1)[0]
			l.deletePositions(f, map[string][]int64{f.FilePath(): {1}})
			l.Commit(forge.Change{Add: forge.Files(l.DataFile("", 0, nil, 1)), List: list(l)})
			r := l.migrate()
			assert.Equal(t, name != "no manifests", r.Committed)
			for _, m := range l.list() {
				assert.Positive(t, m.AddedDataFiles()+m.ExistingDataFiles()+m.DeletedDataFiles(), "an empty manifest is written or carried on")
			}
			l.compact()
		})
	}
}

func TestRemovedEntriesCarryOurSnapshotIdAndTheirOwnSequenceNumbers(t *testing.T) {
	t.Parallel()
	l := newLab(t, v3())
	f := l.files(2)
	added := map[string]*table.Snapshot{}
	for i, d := range f {
		v := l.DeletionVectors(forge.Vector{Data: d, Positions: []int64{int64(i)}})[0]
		added[v.FilePath()] = l.delete(v)
	}
	r := l.compact()
	removed := 0
	for _, m := range l.list() {
		for e, err := range m.Entries(l.io, false) {
			require.NoError(t, err)
			if e.Status() != iceberg.EntryStatusDELETED {
				continue
			}
			removed++
			by := added[e.DataFile().FilePath()]
			assert.Equal(t, *r.SnapshotAfter, e.SnapshotID())
			assert.Equal(t, by.SequenceNumber, e.SequenceNum())
			assert.Equal(t, by.SequenceNumber, *e.FileSequenceNum())
		}
	}
	assert.Equal(t, 2, removed)
}

func TestTombstonesOfOthersWithTheWrongSnapshotIdDoNotMatter(t *testing.T) {
	t.Parallel()
	l := newLab(t, v3())
	f := l.files(3)
	old := l.vector(f[0], 1)
	by := l.Load().Metadata.CurrentSnapshot().SnapshotID
	d := l.DeletionVectors(forge.Vector{Data: f[0], Positions: []int64{1, 2}})[0]
	l.Commit(forge.Change{Operation: table.OpDelete, Remove: named(old), EntryID: by}) // the adding snapshot's id
	l.delete(d)
	l.vector(f[1], 3)
	assert.True(t, l.compact().Committed)
	assert.Equal(t, [][2]int64{{1, 2}}, l.read("main").Positions[f[0].FilePath()])
}

// corrected is file access for readers that believe the header of a manifest.
type corrected struct {
	iceio.IO
	good map[string][]byte
}

// Open implements iceio.IO.
func (c corrected) Open(name string) (iceio.File, error) {
	if data, ok := c.good[name]; ok {
		return storage.MemoryFile(name, data), nil
	}
	return c.IO.Open(name)
}

func TestADeleteManifestWhoseHeaderSaysDataIsReadAsTheListSays(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.files(2)
	var good []byte
	c := corrected{l.io, map[string][]byte{}}
	l.io = c
	d := l.PositionDeletes(0, nil, forge.Records(map[string][]int64{f[0].FilePath(): {1}, f[1].FilePath(): {2}})...).Build()
	l.Commit(forge.Change{Operation: table.OpDelete, Add: forge.Files(d), Bytes: func(_ iceberg.ManifestContent, data []byte) []byte {
		good = data
		r := bufio.NewReader(bytes.NewReader(data))
		h, err := avroheader.Read(r)
		require.NoError(t, err)
		h.Meta["content"] = []byte("data")
		var rest bytes.Buffer
		_, err = rest.ReadFrom(r)
		require.NoError(t, err)
		return append(h.Encode(), rest.Bytes()...)
	}, List: func(m []iceberg.ManifestFile) []iceberg.ManifestFile {
		c.good[m[len(m)-1].FilePath()] = good
		return m
	}})
	for _, err := range l.list()[2].Entries(l.Lake.IO(), true) {
		require.Error(t, err, "the library refuses it")
	}
	l.migrate()
	l.io = c.IO
	got := l.read("main")
	assert.Equal(t, map[string][][2]int64{f[0].FilePath(): one(1), f[1].FilePath(): one(2)}, got.Positions)
	assert.Zero(t, got.PositionDeleteFiles)
}

func TestTwoTagsAndABranchOnOneSnapshotAreNoObstacle(t *testing.T) {
	t.Parallel()
	l := newLab(t, v3())
	f := l.files(2)
	l.vector(f[0], 1)
	l.vector(f[1], 2)
	head := l.Load().Metadata.CurrentSnapshot().SnapshotID
	for name, kind := range map[string]table.RefType{"a": table.TagRef, "b": table.TagRef, "dev": table.BranchRef} {
		l.Update(table.NewSetSnapshotRefUpdate(name, head, kind, 0, 0, 0))
	}
	l.compact()
	o := options(maintenance.Compact)
	o.Ref = "dev"
	assert.True(t, l.run(o).Committed)
	for name, r := range l.Load().Metadata.Refs() {
		assert.Equal(t, name == "a" || name == "b", r.SnapshotID == head, name)
	}
}

func TestEmptyAndSenselessSummariesDecideNothing(t *testing.T) {
	t.Parallel()
	for name, summary := range map[string]map[string]string{
		"empty":     nil,
		"zeros":     {"total-delete-files": "0", "total-position-deletes": "0", "total-equality-deletes": "0", "total-files-size": "0"},
		"senseless": {"total-delete-files": "many", "total-position-deletes": "-7", "total-files-size": "9999999999999999999999"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, v3())
			f := l.files(3)
			for i, d := range f {
				v := l.DeletionVectors(forge.Vector{Data: d, Positions: []int64{int64(i)}})
				l.Commit(forge.Change{Add: forge.Files(v...), Summary: summary})
			}
			r := l.compact()
			assert.True(t, r.Committed)
			p := l.Load().Metadata.CurrentSnapshot().Summary.Properties
			assert.Equal(t, "1 3 3", fmt.Sprint(r.After.PuffinFiles, " ", p["added-dvs"], " ", p["removed-dvs"]))
		})
	}
}

func TestMigrationTurnsManyFilesOfOneDataFileEachIntoOnePuffinFile(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	for _, f := range l.files(10) {
		l.deletePositions(f, map[string][]int64{f.FilePath(): {1, 2, 3}})
	}
	byFile := maintenance.Options{Action: maintenance.Compact, InPlace: maintenance.InPlace{Granularity: maintenance.ByFile, RewriteAll: true}}
	assert.False(t, l.run(byFile).Committed, "ten files to ten files gains nothing, however often it is run")
	r := l.migrate()
	assert.Equal(t, 10, r.After.DeletionVectors)
	assert.Equal(t, 1, r.After.PuffinFiles)
	assert.False(t, l.compact().Committed)
}

func TestOldSnapshotsReadAsBeforeWhateverOrderManifestsHave(t *testing.T) {
	t.Parallel()
	l := newLab(t, v3())
	f := l.files(4)
	for i, d := range f {
		l.replaceVector(d, int64(i))
	}
	l.Commit(forge.Change{Operation: table.OpReplace, List: func(m []iceberg.ManifestFile) []iceberg.ManifestFile {
		slices.Reverse(m)
		return m
	}})
	assert.True(t, l.compact().Committed) // which compares every snapshot
}
