package catalog_test

import (
	"testing"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// breaking lets the next commit meet faults.
func breaking(faults ...restcatalog.Fault) arrangement {
	return func(_ *testing.T, l *lab, _ catalog.Catalog, _ *catalog.Table) { l.rest.Break("commit", faults...) }
}

// restStopped stops the catalog. The client finds out first that its connections are gone: a commit on one of them may
// have been sent.
func restStopped(t *testing.T, l *lab, c catalog.Catalog, tbl *catalog.Table) {
	l.rest.Stop()
	t.Cleanup(func() { l.rest.Resume(t) })
	_, err := c.Load(t.Context(), tbl.Identifier)
	require.Error(t, err)
	assert.NotErrorIs(t, err, catalog.ErrNotFound)
}

// revoked makes the token invalid, and lets requests for another one meet faults.
func revoked(faults ...restcatalog.Fault) arrangement {
	return func(_ *testing.T, l *lab, _ catalog.Catalog, _ *catalog.Table) {
		l.rest.RevokeTokens()
		l.rest.Break("token", faults...)
	}
}

// expired lets the store refuse the credentials that came with the table. What is written then comes with others.
func expired(status int, code string) arrangement {
	return func(t *testing.T, l *lab, _ catalog.Catalog, tbl *catalog.Table) {
		l.keys.deny(status, code)
		require.NoError(t, tbl.Store.WriteFile(t.Context(), tbl.Metadata.Location()+"/metadata/manifest.avro", []byte("x")))
	}
}
