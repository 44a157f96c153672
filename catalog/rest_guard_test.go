package catalog_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake/s3server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestThePropertiesOfATableDoNotDecideWhereOurRequestsGo(t *testing.T) {
	t.Parallel()
	var caught atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { caught.Add(1) }))
	t.Cleanup(elsewhere.Close)
	s := s3server.New(t, "lake")
	mounts := []storage.Mount{{Prefix: "s3://lake/", URL: s.MountURL("lake")}}
	store, err := storage.Open(t.Context(), storage.Options{Mounts: mounts})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	server := restcatalog.New(t, restcatalog.Options{Mounts: mounts})
	for name, properties := range map[string]map[string]string{"honest": nil, "hostile": {"s3.endpoint": elsewhere.URL}} {
		location := "s3://lake/" + name
		first := location + "/metadata/00000-a.metadata.json"
		require.NoError(t, store.WriteFile(t.Context(), first, testlake.NewMetadata(t, location, properties)))
		require.NoError(t, store.WriteFile(t.Context(), location+"/x", []byte("x")))
		server.Put(t, testlake.Ident(name), first)
	}
	c := opener(catalog.Options{Name: catalogName, Type: "rest", URI: server.URL, Properties: s.Properties()})(t)
	_, err = load(t, c, "db", "honest").Store.ReadFile(t.Context(), "s3://lake/honest/x")
	require.NoError(t, err)
	_, err = load(t, c, "db", "hostile").Store.ReadFile(t.Context(), "s3://lake/hostile/x")
	require.ErrorIs(t, err, storage.ErrRefusedLocation)
	require.ErrorContains(t, err, "s3.endpoint")
	assert.Zero(t, caught.Load(), "requests that went elsewhere")
}
