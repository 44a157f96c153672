package maintenance

import (
	"crypto/sha256"
	"maps"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/snapshot"
	"github.com/stretchr/testify/require"
)

// newTestDeletes writes a position delete file about two data files in a folder, which is proved.
func newTestDeletes(t *testing.T) (*writer, *deletesFile) {
	store, err := storage.Open(t.Context(), storage.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	w := &writer{store: store, dir: "file://" + t.TempDir(), name: "x", parallel: 2, progress: noProgress{}}
	o, err := w.create(t.Context(), &snapshot.Group{}, positiondelete.WriterOptions{})
	require.NoError(t, err)
	require.NoError(t, o.add("s3://b/1", nil, bitmap(t, [2]int64{1, 1}, [2]int64{7, 7})))
	require.NoError(t, o.add("s3://b/2", nil, bitmap(t, [2]int64{5, 9})))
	f, err := o.close(t.Context())
	require.NoError(t, err)
	return w, f
}

func TestTheProofFailsOnAnyOtherByteOfAPositionDeleteFile(t *testing.T) {
	t.Parallel()
	w, f := newTestDeletes(t)
	data, err := w.store.ReadFile(t.Context(), f.Location)
	require.NoError(t, err)
	put := func(data []byte) { require.NoError(t, w.store.WriteFile(t.Context(), f.Location, data)) }
	for i := range data {
		data[i] ^= 1
		put(data)
		require.ErrorIs(t, w.proveDeletes(t.Context(), f), ErrProof, "byte %d", i)
		data[i] ^= 1
	}
	for _, other := range [][]byte{append(data, 0), data[:len(data)-1], nil} {
		put(other)
		require.ErrorIs(t, w.proveDeletes(t.Context(), f), ErrProof, "%d bytes", len(other))
	}
	put(data)
	require.NoError(t, w.proveDeletes(t.Context(), f))
}

// Here the bytes are those that were written, and what was written is wrong.
func TestTheProofFailsOnOtherRecordsThanThoseThatWereMerged(t *testing.T) {
	t.Parallel()
	right := func() []lakewriter.Record {
		return []lakewriter.Record{{Path: "s3://b/1", Pos: 1}, {Path: "s3://b/1", Pos: 7}, {Path: "s3://b/2", Pos: 5}, {Path: "s3://b/2", Pos: 6},
			{Path: "s3://b/2", Pos: 7}, {Path: "s3://b/2", Pos: 8}, {Path: "s3://b/2", Pos: 9}}
	}
	r := right()
	for name, records := range map[string][]lakewriter.Record{
		"one is missing":                  append(right()[:3], r[4:]...),
		"the first is missing":            r[1:],
		"the last is missing":             r[:6],
		"a data file is missing":          r[:2],
		"one of another data file":        append(right(), lakewriter.Record{Path: "s3://b/3", Pos: 0}),
		"one of a data file before":       append([]lakewriter.Record{{Path: "s3://b/0", Pos: 0}}, r...),
		"one too many":                    append(right(), lakewriter.Record{Path: "s3://b/2", Pos: 10}),
		"one twice":                       append(right(), r[6]),
		"another position":                append(right()[:6], lakewriter.Record{Path: "s3://b/2", Pos: 10}),
		"another one between the others":  append([]lakewriter.Record{r[0], {Path: "s3://b/1", Pos: 3}}, r[2:]...),
		"positions in another order":      append(right()[:5], r[6], r[5]),
		"data files in another order":     append(right()[2:], r[:2]...),
		"a data file in two places":       append(append(right()[1:2:2], r[2:]...), r[0]),
		"the data files are mixed up":     {{Path: "s3://b/2", Pos: 1}, {Path: "s3://b/2", Pos: 7}, {Path: "s3://b/1", Pos: 5}},
		"another spelling of a data file": append([]lakewriter.Record{{Path: "s3a://b/1", Pos: 1}, {Path: "s3a://b/1", Pos: 7}}, r[2:]...),
	} {
		w, f := newTestDeletes(t)
		data, err := lakewriter.EncodePositionDeletes(records)
		require.NoError(t, err)
		require.NoError(t, w.store.WriteFile(t.Context(), f.Location, data))
		f.Size, f.sum = int64(len(data)), sha256.Sum256(data)
		require.ErrorIs(t, w.proveDeletes(t.Context(), f), ErrProof, name)
	}
	w, f := newTestDeletes(t)
	data, err := lakewriter.EncodePositionDeletes(right())
	require.NoError(t, err)
	require.NoError(t, w.store.WriteFile(t.Context(), f.Location, data))
	f.Size, f.sum = int64(len(data)), sha256.Sum256(data)
	require.NoError(t, w.proveDeletes(t.Context(), f), "written by another writer, but right")
}

func TestTheProofFailsOnAnEntryThatLeavesRecordsOut(t *testing.T) {
	t.Parallel()
	const path, pos = positiondelete.FilePathID, positiondelete.FilePathID - 1
	for name, change := range map[string]func(*deletesFile){
		"a lower path that is too high":     func(f *deletesFile) { f.Lower[path] = []byte("s3://b/2") },
		"a lower path that is cut":          func(f *deletesFile) { f.Lower[path] = []byte("s3://b/") },
		"an upper path that is cut":         func(f *deletesFile) { f.Upper[path] = []byte("s3://b/") },
		"a lower position that is too high": func(f *deletesFile) { f.Lower[pos] = []byte{2, 0, 0, 0, 0, 0, 0, 0} },
		"an upper position that is too low": func(f *deletesFile) { f.Upper[pos] = []byte{8, 0, 0, 0, 0, 0, 0, 0} },
		"no bounds of the position":         func(f *deletesFile) { delete(f.Lower, pos) },
		"a record count":                    func(f *deletesFile) { f.Records-- },
		"a referenced data file":            func(f *deletesFile) { f.Referenced = "s3://b/1" },
	} {
		w, f := newTestDeletes(t)
		f.Lower, f.Upper = maps.Clone(f.Lower), maps.Clone(f.Upper)
		change(f)
		require.ErrorIs(t, w.proveDeletes(t.Context(), f), ErrProof, name)
	}
}
