package snapshot

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryManifestOfTheReferenceCanBeWrittenWithAllItsFields(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, name := range testlake.Fixtures(t) {
		lake := testlake.Copy(t, name)
		for table := range lake.Expected {
			meta := lake.Load(t, table).Metadata
			for _, snap := range meta.Snapshots() {
				s, err := LoadDeletes(t.Context(), lake.IO(), meta, &snap, LoadOptions{})
				require.NoError(t, err)
				for _, m := range s.DeleteManifests() {
					assert.True(t, s.read[m.FilePath()].whole, "%s: %s", name, m.FilePath())
					seen++
				}
			}
		}
	}
	assert.Positive(t, seen)
}

// numbered are manifests named by their numbers, and the files that they are.
func numbered(t *testing.T, n int) ([]iceberg.ManifestFile, map[string][]byte) {
	var out []iceberg.ManifestFile
	files := map[string][]byte{}
	for i := range n {
		m, _ := deleteManifest(t, fmt.Sprintf("mem://%d", i), "a")
		out = append(out, m)
		files[m.FilePath()] = fmt.Append(nil, i)
	}
	return out, files
}

func TestManifestsThatAreReadAheadComeInTheirOrder(t *testing.T) {
	t.Parallel()
	manifests, files := numbered(t, 50)
	var got []string
	err := inOrder(t.Context(), memoryIO(t, files), manifests, 4, func(fs iceio.IO, m iceberg.ManifestFile) error {
		data, err := wholeFile(fs, m.FilePath())
		got = append(got, string(data))
		return err
	})
	require.NoError(t, err)
	require.Len(t, got, len(manifests))
	for i, text := range got {
		assert.Equal(t, fmt.Sprint(i), text)
	}
}

func TestReadingAheadEndsWithTheFirstError(t *testing.T) {
	t.Parallel()
	manifests, files := numbered(t, 50)
	n := 0
	err := inOrder(t.Context(), memoryIO(t, files), manifests, 4, func(iceio.IO, iceberg.ManifestFile) error {
		n++
		return io.ErrUnexpectedEOF
	})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Equal(t, 1, n)
	delete(files, manifests[7].FilePath())
	err = inOrder(t.Context(), memoryIO(t, files), manifests, 4, func(iceio.IO, iceberg.ManifestFile) error { return nil })
	require.Error(t, err)
	assert.False(t, errors.Is(err, io.ErrUnexpectedEOF))
}
