package testlake

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/stretchr/testify/require"
)

// NewMetadata returns the content of the first metadata file of an unpartitioned table with lakewriter's schema.
func NewMetadata(t testing.TB, location string, properties map[string]string) []byte {
	meta, err := table.NewMetadata(lakewriter.Schema(), iceberg.UnpartitionedSpec, table.UnsortedSortOrder, location, iceberg.Properties(properties))
	require.NoError(t, err)
	data, err := json.Marshal(meta)
	require.NoError(t, err)
	return data
}

// Download copies every object below a location into a folder, so that Lake.Read can read it there: a Lake of that
// folder takes s3://lake/ for it.
func Download(t testing.TB, store *storage.Store, location, dir string) {
	for object, err := range store.List(t.Context(), location) {
		require.NoError(t, err)
		data, err := store.ReadFile(t.Context(), object.Location)
		require.NoError(t, err)
		path := filepath.Join(dir, strings.TrimPrefix(object.Location, location))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, data, 0o644))
	}
}
