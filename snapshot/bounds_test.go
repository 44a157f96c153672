package snapshot

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/avroheader"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listed is a delete manifest as a manifest list has it, with the counts that the list gives.
func listed(added, existing int32) iceberg.ManifestFile {
	return iceberg.NewManifestFile(3, "mem://m.avro", 1000, 0, 7).Content(iceberg.ManifestContentDeletes).SequenceNum(3, 3).
		AddedFiles(added).ExistingFiles(existing).DeletedFiles(0).Build()
}

// drain reads the live entries of a manifest.
func drain(t testing.TB, m iceberg.ManifestFile, data []byte) (n int, err error) {
	for _, err := range Entries(t.Context(), memoryIO(t, map[string][]byte{"mem://m.avro": data}), m) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func TestTheCountsOfAManifestListDecideNothingAndContradictionsAreSaid(t *testing.T) {
	t.Parallel()
	_, data := deleteManifest(t, "mem://m.avro", "a", "b")
	for name, c := range map[string]struct {
		added, existing int32
		refused         bool
	}{
		"right": {2, 0, false}, "right in sum": {1, 1, false}, "unknown": {-1, -1, false}, "unknown in part": {0, -1, false}, "too few": {1, 0, false},
		"none, though there are": {0, 0, true}, "more than there are": {3, 0, true}, "many more": {1 << 30, 1 << 30, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, err := drain(t, listed(c.added, c.existing), data)
			assert.Equal(t, 2, n, "every entry is read")
			assert.Equal(t, c.refused, err != nil, "%v", err)
			if c.refused {
				assert.ErrorIs(t, err, ErrMetadata)
			}
		})
	}
}

func TestAnEntryWithALocationThatNoStoreCanHoldIsRefused(t *testing.T) {
	t.Parallel()
	_, data := deleteManifest(t, "mem://m.avro", strings.Repeat("x", 1<<20))
	_, err := drain(t, listed(1, 0), data)
	require.ErrorIs(t, err, storage.ErrRefusedLocation)
	assert.Less(t, len(err.Error()), 5000)
}

// block makes an Avro block of a count, a size and content.
func block(count, size int64, content []byte) []byte {
	return append(binary.AppendVarint(binary.AppendVarint(nil, count), size), content...)
}

// head splits an Avro file into header with sync marker and the rest.
func head(t testing.TB, data []byte) (header, sync []byte) {
	r := bufio.NewReader(bytes.NewReader(data))
	h, err := avroheader.Read(r)
	require.NoError(t, err)
	sync = make([]byte, 16)
	_, err = io.ReadFull(r, sync)
	require.NoError(t, err)
	return slices.Concat(h.Raw, sync), sync
}

// bomb is what n zero bytes are when they are deflated.
func bomb(t testing.TB, n int) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	require.NoError(t, err)
	_, err = w.Write(make([]byte, n))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// hostile are files that begin like a good one and go on with blocks that claim more than is there.
func hostile(t testing.TB, good []byte) map[string][]byte {
	header, sync := head(t, good)
	long := binary.AppendVarint([]byte{2}, 1<<40) // a union branch or a status, then a length
	deflated := func(content []byte) []byte {
		var b bytes.Buffer
		w, err := flate.NewWriter(&b, flate.BestSpeed)
		require.NoError(t, err)
		_, err = w.Write(content)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return b.Bytes()
	}
	out := map[string][]byte{
		"a block of 2^60 entries":       slices.Concat(header, block(1<<60, 10, make([]byte, 10)), sync),
		"a block of -5 entries":         slices.Concat(header, block(-5, 10, make([]byte, 10)), sync),
		"a block of 2^40 bytes":         slices.Concat(header, block(1, 1<<40, make([]byte, 10)), sync),
		"a block of 60 MiB":             slices.Concat(header, block(1, 60<<20, make([]byte, 10)), sync),
		"a block of -1 bytes":           slices.Concat(header, block(1, -1, make([]byte, 10)), sync),
		"a varint without end":          slices.Concat(header, bytes.Repeat([]byte{0xff}, 30)),
		"a block of other bytes":        slices.Concat(header, block(1, 10, bytes.Repeat([]byte{0xff}, 10)), sync),
		"another sync marker":           slices.Concat(good[:len(good)-16], make([]byte, 16)),
		"cut":                           good[:len(good)-20],
		"a header of 2^60 keys":         binary.AppendVarint([]byte(avroheader.Magic), 1<<60),
		"a header with a 2^50 byte key": binary.AppendVarint(binary.AppendVarint([]byte(avroheader.Magic), 1), 1<<50),
		"nothing":                       nil,
	}
	for name, content := range map[string][]byte{"a string of 2^40 bytes": long, "an array of 2^40 elements": slices.Repeat(long, 40)} {
		z := deflated(content)
		out[name] = slices.Concat(header, block(1, int64(len(z)), z), sync)
	}
	z := bomb(t, 100<<20)
	out["a deflate bomb"] = slices.Concat(header, block(1<<28, int64(len(z)), z), sync)
	return out
}

// allocated returns how many bytes f allocates. It must not run beside other tests.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// mostBytes is what the reading of a small file may allocate: the buffers of one Avro block, 64 MiB each, as they grow, and
// what else there is.
const mostBytes = 512 << 20

func TestManifestsThatClaimMoreThanTheyHoldAreErrorsAndCostNoMemory(t *testing.T) {
	m, good := deleteManifest(t, "mem://m.avro", "a", "b")
	for name, data := range hostile(t, good) {
		t.Run(name, func(t *testing.T) {
			var err error
			bytes := allocated(func() { _, err = drain(t, m, data) })
			require.Error(t, err)
			assert.Less(t, bytes, uint64(mostBytes))
		})
	}
}

// writtenList is a manifest list of one manifest.
func writtenList(t testing.TB) []byte {
	snap := &table.Snapshot{SnapshotID: 7, SequenceNumber: 3}
	w, err := newListWriter(3, snap, 0)
	require.NoError(t, err)
	m, _ := deleteManifest(t, "mem://m.avro", "a", "b")
	data, err := w.write([]iceberg.ManifestFile{m})
	require.NoError(t, err)
	return data
}

func TestManifestListsThatClaimMoreThanTheyHoldAreErrorsAndCostNoMemory(t *testing.T) {
	meta, snap := emptyTable(t), &table.Snapshot{SnapshotID: 7, ManifestList: "mem://list.avro"}
	load := func(data []byte) error {
		_, err := Load(t.Context(), memoryIO(t, map[string][]byte{"mem://list.avro": data}), meta, snap, LoadOptions{})
		return err
	}
	for name, data := range hostile(t, writtenList(t)) {
		t.Run(name, func(t *testing.T) {
			var err error
			bytes := allocated(func() { err = load(data) })
			require.ErrorContains(t, err, "manifest list mem://list.avro of snapshot 7")
			assert.Less(t, bytes, uint64(mostBytes))
		})
	}
}

func emptyTable(t testing.TB) table.Metadata {
	schema := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64})
	meta, err := table.NewMetadata(schema, iceberg.UnpartitionedSpec, table.UnsortedSortOrder, "mem://t", iceberg.Properties{"format-version": "3"})
	require.NoError(t, err)
	return meta
}

// FuzzManifests reads any bytes as a manifest list and as a manifest: data or deletes, projected or whole.
func FuzzManifests(f *testing.F) {
	_, manifest := deleteManifest(f, "mem://m.avro", "a", "b")
	f.Add(writtenList(f), manifest)
	for _, name := range []string{"v2-spec-evolution", "v3-row-lineage", "v2-from-v1"} {
		lists, err := filepath.Glob("../testdata/fixtures/" + name + "/*/metadata/snap-*.avro")
		require.NoError(f, err)
		manifests, err := filepath.Glob("../testdata/fixtures/" + name + "/*/metadata/*-m0.avro")
		require.NoError(f, err)
		for i := range min(len(lists), len(manifests)) {
			list, err := os.ReadFile(lists[i])
			require.NoError(f, err)
			manifest, err := os.ReadFile(manifests[i])
			require.NoError(f, err)
			f.Add(list, manifest)
		}
	}
	meta, snap := emptyTable(f), &table.Snapshot{SnapshotID: 7, ManifestList: "mem://list.avro"}
	f.Fuzz(func(t *testing.T, list, manifest []byte) {
		fs := memoryIO(t, map[string][]byte{"mem://list.avro": list, "mem://m.avro": manifest})
		_, _ = Load(t.Context(), fs, meta, snap, LoadOptions{Parallelism: 1})
		for _, content := range []iceberg.ManifestContent{iceberg.ManifestContentData, iceberg.ManifestContentDeletes} {
			m := iceberg.NewManifestFile(3, "mem://m.avro", 1, 0, 7).Content(content).AddedFiles(-1).ExistingFiles(-1).Build()
			l := &loader{fs: fs, meta: meta, parallelism: 1, state: &State{Metadata: meta}}
			for e, err := range Entries(t.Context(), fs, m) {
				if err == nil {
					_, _, _ = l.key(e.DataFile())
				}
			}
			for e, err := range wholeEntries(t.Context(), fs, m) {
				if err == nil {
					_ = safely(func() error { _ = e.DataFile().LowerBoundValues(); return nil })
				}
			}
		}
	})
}
