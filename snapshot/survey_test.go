package snapshot_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/snapshot"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASurveyOfASoundTableIsItsState(t *testing.T) {
	t.Parallel()
	for _, fixture := range testlake.Fixtures(t) {
		lake := testlake.Copy(t, fixture)
		for name := range lake.Expected {
			tbl := lake.Load(t, name)
			head := tbl.Metadata.CurrentSnapshot()
			if head == nil {
				continue
			}
			files := tbl.Store.FileIO(t.Context())
			want, err := snapshot.Load(t.Context(), files, tbl.Metadata, head, snapshot.LoadOptions{})
			require.NoError(t, err)
			var mu sync.Mutex
			manifests := 0
			got, err := snapshot.NewSurvey(t.Context(), files, tbl.Metadata, head, snapshot.SurveyOptions{Manifest: func(s snapshot.Surveyed) {
				mu.Lock()
				defer mu.Unlock()
				manifests++
				assert.NoError(t, s.Err)
				assert.Empty(t, s.Odd)
				assert.EqualValues(t, s.File.AddedDataFiles()+s.File.ExistingDataFiles(), s.Live)
				assert.NotEmpty(t, s.Header["avro.schema"])
			}})
			require.NoError(t, err)
			assert.True(t, got.Complete)
			assert.Len(t, want.Manifests, manifests)
			assert.Equal(t, want.DVs, got.State.DVs, fixture)
			assert.Equal(t, want.PositionDeletes, got.State.PositionDeletes, fixture)
			assert.Equal(t, want.DanglingDVs, got.State.DanglingDVs, fixture)
		}
	}
}

// refusing is file access that fails for one location.
type refusing struct {
	iceio.IO
	location string
}

var errDown = errors.New("down")

// Open implements iceio.IO.
func (r refusing) Open(name string) (iceio.File, error) {
	if name == r.location {
		return nil, errDown
	}
	return r.IO.Open(name)
}

func TestASurveyEndsWhenTheStoreFailsAndNotWhenAManifestIsDamaged(t *testing.T) {
	t.Parallel()
	l := forge.New(t, forge.Options{})
	l.Commit(forge.Change{Add: forge.Files(l.DataFile("", 0, nil, 10))})
	tbl := l.Load()
	head := tbl.Metadata.CurrentSnapshot()
	manifests, err := head.Manifests(l.IO())
	require.NoError(t, err)
	location := manifests[0].FilePath()

	_, err = snapshot.NewSurvey(t.Context(), refusing{l.IO(), location}, tbl.Metadata, head, snapshot.SurveyOptions{})
	assert.ErrorIs(t, err, errDown)

	l.Put(location, l.Get(location)[:40])
	var found []snapshot.Surveyed
	s, err := snapshot.NewSurvey(t.Context(), l.IO(), tbl.Metadata, head, snapshot.SurveyOptions{Manifest: func(m snapshot.Surveyed) { found = append(found, m) }})
	require.NoError(t, err)
	assert.False(t, s.Complete)
	require.Len(t, found, 1)
	assert.Error(t, found[0].Err)
	require.NoError(t, s.EachData(t.Context(), func(iceberg.DataFile) { assert.Fail(t, "nothing can be read") }))
}
