package catalog_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// outcomes are what the REST specification and the habits of proxies make of a commit. Whatever may have happened is
// unknown; whatever certainly has not is a conflict or refused.
var outcomes = map[string]struct {
	fault restcatalog.Fault
	want  error
}{
	"400":                        {restcatalog.Status(400), catalog.ErrRefused},
	"403":                        {restcatalog.Status(403), catalog.ErrRefused},
	"404":                        {restcatalog.Status(404), catalog.ErrNotFound},
	"408":                        {restcatalog.Status(408), catalog.ErrUnknown},
	"409":                        {restcatalog.Status(409), catalog.ErrConflict},
	"409 with another body":      {restcatalog.Body(409, "<html>"), catalog.ErrConflict},
	"413":                        {restcatalog.Body(413, "too large"), catalog.ErrRefused},
	"422":                        {restcatalog.Status(422), catalog.ErrRefused},
	"429":                        {restcatalog.Status(429), catalog.ErrConflict},
	"500":                        {restcatalog.Status(500), catalog.ErrUnknown},
	"501":                        {restcatalog.Status(501), catalog.ErrUnknown},
	"502":                        {restcatalog.Status(502), catalog.ErrUnknown},
	"502 of a proxy":             {restcatalog.Body(502, "<html>bad gateway</html>"), catalog.ErrUnknown},
	"503":                        {restcatalog.Status(503), catalog.ErrUnknown},
	"504":                        {restcatalog.Status(504), catalog.ErrUnknown},
	"504 after it was applied":   {restcatalog.Done(restcatalog.Status(504)), catalog.ErrUnknown},
	"500 after it was applied":   {restcatalog.Done(restcatalog.Status(500)), catalog.ErrUnknown},
	"a dropped connection":       {restcatalog.HangUp, catalog.ErrUnknown},
	"dropped after applying":     {restcatalog.Done(restcatalog.HangUp), catalog.ErrUnknown},
	"no reply in time":           {restcatalog.Stall, catalog.ErrUnknown},
	"none, but applied":          {restcatalog.Done(restcatalog.Stall), catalog.ErrUnknown},
	"200 with something else":    {restcatalog.Body(200, "<html>welcome</html>"), catalog.ErrUnknown},
	"200 with nothing":           {restcatalog.Body(200, ""), catalog.ErrUnknown},
	"200 with an empty document": {restcatalog.Body(200, "{}"), catalog.ErrUnknown},
	"200 with half a document":   {restcatalog.Done(restcatalog.Body(200, `{"metadata-location": "fi`)), catalog.ErrUnknown},
	"202":                        {restcatalog.Body(202, "{}"), catalog.ErrUnknown},
	"204":                        {restcatalog.Done(restcatalog.Body(204, "")), catalog.ErrUnknown},
	"a redirect":                 {restcatalog.Redirect, catalog.ErrUnknown},
}

func TestEveryReplyToACommitHasItsOutcome(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := faultyREST(t, catalog.Options{Timeout: patience})
			l.create(t, nil, "db", "t")
			c := l.open(t)
			tbl := load(t, c, "db", "t")
			s.Break("commit", outcomes[name].fault)
			err := commit(t, c, tbl, "main", 1)
			var outcome *catalog.CommitError
			require.ErrorAs(t, err, &outcome)
			assert.ErrorIs(t, err, outcomes[name].want)
			assert.Equal(t, "lake.db.t", outcome.Table)
			assert.Equal(t, 1, s.Seen("commit"), "a commit is never repeated by the catalog")
			if outcome.Outcome != catalog.ErrUnknown {
				assert.Empty(t, load(t, c, "db", "t").Metadata.Snapshots())
			}
		})
	}
}

func TestACatalogThatIsNotReachableHasNotCommitted(t *testing.T) {
	t.Parallel()
	l, s := faultyREST(t, catalog.Options{})
	l.create(t, nil, "db", "t")
	c := l.open(t)
	tbl := load(t, c, "db", "t")
	s.Stop()
	_, err := c.Load(t.Context(), tbl.Identifier) // finds out that the connections are gone
	require.Error(t, err)
	assert.NotErrorIs(t, err, catalog.ErrNotFound)
	err = commit(t, c, tbl, "main", 1)
	assert.ErrorIs(t, err, catalog.ErrConflict)
	assert.NotErrorIs(t, err, catalog.ErrUnknown)
}

func TestALoadThatFailsIsNotAMissingTable(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]restcatalog.Fault{
		"403": restcatalog.Status(403), "500": restcatalog.Status(500), "503": restcatalog.Status(503), "no reply": restcatalog.HangUp,
		"no reply in time": restcatalog.Stall, "garbage": restcatalog.Body(200, "<html>"), "nothing": restcatalog.Body(200, "{}"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := faultyREST(t, catalog.Options{Timeout: patience})
			l.create(t, nil, "db", "t")
			c := l.open(t)
			s.Break("load", slices.Repeat([]restcatalog.Fault{fault}, 2*attempts)...) // net/http repeats a GET on a connection that breaks
			_, err := c.Load(t.Context(), []string{"db", "t"})
			require.ErrorContains(t, err, "db.t in catalog lake")
			assert.NotErrorIs(t, err, catalog.ErrNotFound)
		})
	}
}

func TestAnExpiredTokenIsReplacedOnce(t *testing.T) {
	t.Parallel()
	l, s := faultyREST(t, catalog.Options{})
	l.create(t, nil, "db", "t")
	c := l.open(t)
	load(t, c, "db", "t")
	issued := s.TokensIssued()
	tbl := load(t, c, "db", "t")
	assert.Equal(t, issued, s.TokensIssued(), "tokens are kept")

	s.RevokeTokens()
	require.NoError(t, commit(t, c, tbl, "main", 1))
	assert.Equal(t, 2, s.Seen("commit"))
	s.RevokeTokens()
	assert.Len(t, load(t, c, "db", "t").Metadata.Snapshots(), 1)
	s.RevokeTokens()
	found, err := c.List(t.Context(), nil)
	require.NoError(t, err)
	assert.Len(t, found, 1)
	assert.Equal(t, issued+3, s.TokensIssued(), "one each time")

	s.Break("commit", restcatalog.Status(401), restcatalog.Status(401))
	assert.ErrorIs(t, commit(t, c, load(t, c, "db", "t"), "main", 2), catalog.ErrRefused)
	s.Break("commit", restcatalog.Status(419))
	assert.NoError(t, commit(t, c, load(t, c, "db", "t"), "main", 2))
}

func TestATokenIsRenewedBeforeItExpires(t *testing.T) {
	t.Parallel()
	s := restcatalog.New(t, restcatalog.Options{Credential: "id:secret", TokenLifetime: time.Second}) // shorter than the margin that clients keep
	c := opener(catalog.Options{Name: catalogName, Type: "rest", URI: s.URL, Credential: "id:secret"})(t)
	before := s.TokensIssued()
	_, err := c.List(t.Context(), nil)
	require.NoError(t, err)
	assert.Greater(t, s.TokensIssued(), before)
	assert.Equal(t, 1, s.Seen("list"), "no request was refused")
}

func TestAWrongCredentialIsToldWithoutTheSecret(t *testing.T) {
	t.Parallel()
	s := restcatalog.New(t, restcatalog.Options{Credential: "id:secret"})
	for _, o := range []catalog.Options{{Credential: "id:hidden"}, {Token: "hidden"}, {}} {
		o.Name, o.Type, o.URI = catalogName, "rest", s.URL
		_, err := catalog.Open(t.Context(), o)
		require.ErrorContains(t, err, "catalog lake at http://")
		assert.NotContains(t, err.Error(), "hidden")
	}
}

func TestACatalogWithoutNestedNamespacesIsListedOnce(t *testing.T) {
	t.Parallel()
	s := restcatalog.New(t, restcatalog.Options{IgnoreParent: true})
	l := &lab{dir: t.TempDir(), options: catalog.Options{Name: catalogName, Type: "rest", URI: s.URL}, put: s.Put}
	l.create(t, nil, "a", "t")
	l.create(t, nil, "b", "t")
	found, err := l.open(t).List(t.Context(), nil)
	require.NoError(t, err)
	assert.ElementsMatch(t, [][]string{{"a", "t"}, {"b", "t"}}, found)
}

func TestAnEndlessReplyDoesNotOutlastTheTimeLimit(t *testing.T) {
	t.Parallel()
	l, s := faultyREST(t, catalog.Options{Timeout: patience})
	l.create(t, nil, "db", "t")
	c := l.open(t)
	s.Break("load", restcatalog.Trickle)
	start := time.Now()
	_, err := c.Load(t.Context(), []string{"db", "t"})
	require.Error(t, err)
	assert.Less(t, time.Since(start), 30*time.Second)
}
