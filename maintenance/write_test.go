package maintenance

import (
	"os"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// newTestWriter makes a writer of one Puffin in a folder, with two encoded vectors pending.
func newTestWriter(t *testing.T) (*writer, *puffinFile) {
	store, err := storage.Open(t.Context(), storage.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	w := &writer{store: store, dir: "file://" + t.TempDir(), name: "x", target: 1 << 20, parallel: 2, version: "test", progress: noProgress{}}
	w.group, w.ctx = errgroup.WithContext(t.Context())
	vectors, err := w.encode([]*merged{
		{file: &snapshot.DataFile{Path: "s3://b/2"}, bitmap: bitmap(t, [2]int64{5, 9}), seq: 3},
		{file: &snapshot.DataFile{Path: "s3://b/1"}, bitmap: bitmap(t, [2]int64{1, 1}, [2]int64{7, 7}), seq: 4},
	})
	require.NoError(t, err)
	f := &puffinFile{location: w.dir + "/x.puffin", vectors: vectors}
	require.NoError(t, w.write(f))
	return w, f
}

func TestTheProofReadsBackWhatWasWritten(t *testing.T) {
	t.Parallel()
	w, f := newTestWriter(t)
	require.NoError(t, w.prove(f))
	assert.Equal(t, "s3://b/1", f.vectors[0].file.Path, "blobs are sorted by data file path")
	for _, v := range f.vectors {
		assert.Nil(t, v.merged, "bitmaps are released")
		assert.Nil(t, v.blob)
	}
	p, err := puffin.Open(t.Context(), w.store.Object(f.location, 0), puffin.OpenOptions{Location: f.location})
	require.NoError(t, err)
	assert.Equal(t, "dvcompactor test", p.CreatedBy())
	assert.Len(t, p.Blobs, 2)
}

func TestTheProofFailsOnOtherBytesAndOnOtherPositions(t *testing.T) {
	t.Parallel()
	w, f := newTestWriter(t)
	f.vectors[1].merged = bitmap(t, [2]int64{5, 8}, [2]int64{10, 10}) // as many positions, but others
	err := w.prove(f)
	require.ErrorIs(t, err, ErrProof)
	assert.ErrorContains(t, err, "s3://b/2")

	w, f = newTestWriter(t)
	path := strings.TrimPrefix(f.location, "file://")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	data[f.vectors[0].offset+f.vectors[0].length-6] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o600))
	err = w.prove(f)
	require.ErrorIs(t, err, ErrProof)
	require.ErrorIs(t, err, puffin.ErrCorrupt)
	assert.ErrorContains(t, err, "s3://b/1")
}

func TestUnusedPuffinsAreDiscarded(t *testing.T) {
	t.Parallel()
	w, f := newTestWriter(t)
	w.files = []*puffinFile{f}
	require.NoError(t, w.discard(t.Context(), &change{add: f.vectors}))
	_, err := w.store.Size(t.Context(), f.location)
	require.NoError(t, err)
	require.NoError(t, w.discard(t.Context(), &change{}))
	_, err = w.store.Size(t.Context(), f.location)
	require.ErrorIs(t, err, os.ErrNotExist)
}
