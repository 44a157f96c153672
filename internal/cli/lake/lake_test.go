package lake

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listing is a catalog that only lists.
type listing struct {
	tables [][]string
	asked  [][]string
	err    error
	closed bool
}

func (l *listing) Load(context.Context, []string) (*catalog.Table, error) { return nil, nil }
func (l *listing) Commit(context.Context, *catalog.Table, []table.Requirement, []table.Update) error {
	return nil
}
func (l *listing) Close() error    { l.closed = true; return nil }
func (l *listing) Commits() string { return "never" }
func (l *listing) List(_ context.Context, namespace []string) ([][]string, error) {
	l.asked = append(l.asked, namespace)
	var out [][]string
	for _, id := range l.tables {
		if len(id) > len(namespace) && slices.Equal(id[:len(namespace)], namespace) {
			out = append(out, id)
		}
	}
	return out, l.err
}

func twoCatalogs() (*Lake, *listing, *listing) {
	prod := &listing{tables: [][]string{{"sales", "orders"}, {"sales", "eu", "orders"}, {"hr", "people"}, {"sales", "items"}}}
	test := &listing{tables: [][]string{{"sales", "orders"}}}
	l := New(Settings{Catalogs: map[string]catalog.Options{"prod": {}, "test": {}}})
	l.open["prod"], l.open["test"] = prod, test
	return l, prod, test
}

func names(targets []Target) []string {
	out := []string{}
	for _, t := range targets {
		out = append(out, t.Name())
	}
	return out
}

func TestFindExpandsGlobsOnceAndInOrder(t *testing.T) {
	l, _, _ := twoCatalogs()
	found, err := l.Find(t.Context(), []string{"test.sales.orders", "prod.sales.*", "*.*.orders"})
	require.NoError(t, err)
	assert.Equal(t, []string{"test.sales.orders", "prod.sales.eu.orders", "prod.sales.items", "prod.sales.orders"}, names(found))
	assert.False(t, found[0].Globbed, "it was named")
	assert.True(t, found[1].Globbed)
}

func TestFindAsksACatalogOnlyForWhatItNeeds(t *testing.T) {
	l, prod, test := twoCatalogs()
	_, err := l.Find(t.Context(), []string{"prod.sales.eu.o*", "test.hr.people"})
	require.NoError(t, err)
	assert.Equal(t, [][]string{{"sales", "eu"}}, prod.asked)
	assert.Empty(t, test.asked, "a name without a glob is not looked for")
}

func TestAGlobWithoutAMatchIsNotFound(t *testing.T) {
	l, _, _ := twoCatalogs()
	_, err := l.Find(t.Context(), []string{"prod.finance.*"})
	assert.Equal(t, exit.NotFound, exit.Of(err))
	assert.ErrorContains(t, err, "nothing matches prod.finance.*")
}

func TestFindPassesOnAFailureToList(t *testing.T) {
	l, prod, _ := twoCatalogs()
	prod.err = errors.New("connection refused")
	_, err := l.Find(t.Context(), []string{"prod.*.*"})
	assert.ErrorIs(t, err, prod.err)
}

func TestAllAndClose(t *testing.T) {
	l, prod, test := twoCatalogs()
	found, err := l.All(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"prod.hr.people", "prod.sales.eu.orders", "prod.sales.items", "prod.sales.orders", "test.sales.orders"}, names(found))
	l.Close()
	assert.True(t, prod.closed && test.closed)
	_, err = l.Catalog(t.Context(), "dev")
	assert.Equal(t, exit.NotFound, exit.Of(err))
}

func TestSourcesExcludeEachOther(t *testing.T) {
	env := func(string) (string, bool) { return "", false }
	for name, s := range map[string]Source{
		"none":                       {},
		"both":                       {Config: "x.yaml", CatalogURI: "sqlite:///x.db"},
		"a warehouse with a file":    {Config: "x.yaml", Warehouse: "w"},
		"a catalog name with a file": {Config: "x.yaml", CatalogName: "w"},
		"a warehouse alone":          {Warehouse: "w"},
		"a missing file":             {Config: "does-not-exist.yaml"},
		"a URI of another kind":      {CatalogURI: "ftp://host/"},
	} {
		t.Run(name, func(t *testing.T) {
			s.LookupEnv = env
			_, err := s.Open()
			assert.Equal(t, exit.Usage, exit.Of(err), "%v", err)
			if name != "none" {
				_, err = s.OpenOptional()
				assert.Equal(t, exit.Usage, exit.Of(err), "%v", err)
			}
		})
	}
	l, err := Source{LookupEnv: env}.OpenOptional()
	require.NoError(t, err)
	assert.Empty(t, l.Catalogs())
}

func TestACatalogURITakesItsNameFromTheTables(t *testing.T) {
	for _, c := range []struct {
		source Source
		tables []string
		want   string
	}{
		{Source{}, []string{"lake.db.t"}, "lake"},
		{Source{}, []string{"db.t", "lake.db.u"}, "lake"},
		{Source{}, []string{"*.db.t"}, "default"},
		{Source{}, []string{"db.t"}, "default"},
		{Source{}, nil, "default"},
		{Source{CatalogName: "wh"}, []string{"eu.sales.orders"}, "wh"},
	} {
		c.source.CatalogURI = "sqlite:///dir/catalog.db"
		l, err := c.source.Open(c.tables...)
		require.NoError(t, err)
		assert.Equal(t, []string{c.want}, l.Catalogs(), "%v", c.tables)
		assert.Equal(t, "sql", l.Settings().Catalogs[c.want].Type)
	}
}

func TestSettingsHoldEverythingOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dvc.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`version: 1
catalogs:
  prod: {type: rest, uri: "https://catalog.example/", warehouse: w, token: "${TOKEN}", sigv4: {region: eu-west-1, name: glue}, tls: {ca_file: /ca.pem}, headers: {X-A: b}, properties: {s3.region: r}}
storage: [{prefix: "s3://lake/", url: "file:///lake"}]
defaults: {memory: 1GiB, parallelism: 3, target_puffin_size: 8MiB, cool_down: 15m, retries: {request_attempts: 2, commit_attempts: 5, base_delay: 1s, max_delay: 2s}}
`), 0o600))
	l, err := Source{Config: path, LookupEnv: func(name string) (string, bool) { return "secret", name == "TOKEN" }}.Open()
	require.NoError(t, err)
	s := l.Settings()
	o := s.Catalogs["prod"]
	assert.Equal(t, "prod rest https://catalog.example/ w secret /ca.pem", o.Name+" "+o.Type+" "+o.URI+" "+o.Warehouse+" "+o.Token+" "+o.TLS.CAFile)
	assert.True(t, o.SigV4)
	assert.Equal(t, "eu-west-1 glue", o.SigV4Region+" "+o.SigV4Name)
	assert.Equal(t, s.Mounts, o.Mounts)
	assert.Equal(t, "s3://lake/", s.Mounts[0].Prefix)
	assert.Equal(t, 2, s.Retries.Attempts)
	assert.Equal(t, s.Retries, o.Retry, "the stores of tables try as often")

	got := s.Defaults.Fill(maintenance.Options{Parallelism: 7})
	assert.Equal(t, 7, got.Parallelism, "the command line wins")
	assert.EqualValues(t, 1<<30, got.Memory)
	assert.EqualValues(t, 8<<20, got.TargetPuffinSize)
	assert.Equal(t, 15*time.Minute, got.CoolDown)
	assert.Equal(t, time.Duration(-1), s.Defaults.Fill(maintenance.Options{CoolDown: -1}).CoolDown, "the command line can switch it off")
	assert.Equal(t, 5, got.Retry.Attempts)
}

func TestLocations(t *testing.T) {
	for _, text := range []string{"s3://lake/x", "file:/x", "file:///x"} {
		got, err := Location(text)
		require.NoError(t, err)
		assert.Equal(t, text, got)
	}
	got, err := Location("x.puffin")
	require.NoError(t, err)
	assert.True(t, filepath.IsAbs(got))
}
