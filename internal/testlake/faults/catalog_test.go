package faults_test

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/faults"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
)

// shop is a catalog with a script in front of it and a table db.t.
type shop struct {
	catalog.Catalog
	script *faults.Script
	really catalog.Catalog
}

func newLake(t *testing.T) *testlake.Lake {
	dir := t.TempDir()
	_, err := lakewriter.CreateLake(t.Context(), dir, testlake.CatalogName)
	require.NoError(t, err)
	require.NoError(t, lakewriter.CreateTable(t.Context(), dir, testlake.CatalogName, "t", 2, nil))
	return testlake.Open(t, dir)
}

func sqlInProcess(t *testing.T, script string) *shop {
	lake, s := newLake(t), faults.New(t, script)
	return &shop{s.Catalog(lake.Catalog), s, lake.Catalog}
}

func restOverHTTP(t *testing.T, script string) *shop {
	s := faults.New(t, script)
	broken := restcatalog.New(t, restcatalog.Options{})
	broken.Use(func(healthy http.Handler) http.Handler {
		front := s.Handler(healthy, faults.REST)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Healthy") != "" {
				healthy.ServeHTTP(w, r)
				return
			}
			front.ServeHTTP(w, r)
		})
	})
	lake := newLake(t)
	found, err := filepath.Glob(filepath.Join(lake.Dir, "t", "metadata", "*.metadata.json"))
	require.NoError(t, err)
	broken.Put(t, testlake.Ident("t"), "file://"+found[0])
	open := func(headers map[string]string) catalog.Catalog {
		once := storage.RetryOptions{Attempts: 1} // or a load that failed would be repeated
		c, err := catalog.Open(t.Context(), catalog.Options{Name: testlake.CatalogName, Type: "rest", URI: broken.URL, Headers: headers, Retry: once})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		return c
	}
	return &shop{open(nil), s, open(map[string]string{"X-Healthy": "yes"})}
}

// set commits a property.
func set(t *testing.T, c catalog.Catalog, value string) error {
	tbl, err := c.Load(t.Context(), testlake.Ident("t"))
	require.NoError(t, err)
	return c.Commit(t.Context(), tbl, []table.Requirement{table.AssertTableUUID(tbl.Metadata.TableUUID())}, []table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{"p": value})})
}

// property is what is really in the table.
func (s *shop) property(t *testing.T) string {
	tbl, err := s.really.Load(t.Context(), testlake.Ident("t"))
	require.NoError(t, err)
	return tbl.Metadata.Properties()["p"]
}

var commitCases = map[string]struct {
	script string
	err    error
	done   bool
}{
	"a commit that nothing is wrong with":        {"put: fail", nil, true},
	"somebody else was first":                    {"commit db.t: conflict", catalog.ErrConflict, false},
	"too many requests":                          {"commit: 429", catalog.ErrConflict, false},
	"the catalog does not take it":               {"commit: refused", catalog.ErrRefused, false},
	"there is no permission":                     {"write #1: fail", catalog.ErrRefused, false},
	"the connection broke before it":             {"commit: reset", catalog.ErrUnknown, false},
	"the server failed":                          {"commit: unknown", catalog.ErrUnknown, false},
	"the server is not there":                    {"commit: 503", catalog.ErrUnknown, false},
	"the reply was lost":                         {"commit #1: lost-reply", catalog.ErrUnknown, true},
	"the answer is that to a copy of it":         {"commit: conflict-after-success", catalog.ErrConflict, true},
	"it is acknowledged and was not done":        {"commit: pretend", nil, false},
	"it takes its time":                          {"commit: slow 1ms", nil, true},
	"the client dies before it":                  {"commit: crash", catalog.ErrUnknown, false},
	"the client dies after it":                   {"commit: crash-after", catalog.ErrUnknown, true},
	"the client dies in it":                      {"commit: torn", catalog.ErrUnknown, false},
	"a rule about another table does not happen": {"commit db.u: fail", nil, true},
}

func TestWhatACatalogMakesOfEachFault(t *testing.T) {
	t.Parallel()
	for place, open := range map[string]func(*testing.T, string) *shop{"in the process": sqlInProcess, "over HTTP": restOverHTTP} {
		for name, c := range commitCases {
			t.Run(place+": "+name, func(t *testing.T) {
				t.Parallel()
				f := open(t, c.script)
				err := set(t, f, "new")
				assert.ErrorIs(t, err, c.err)
				if c.err != nil {
					var outcome *catalog.CommitError
					assert.ErrorAs(t, err, &outcome)
				}
				assert.Equal(t, 1, f.script.Count("commit"))
				assert.Equal(t, c.done, f.property(t) == "new")
			})
		}
	}
}

func TestALoadMayFailOrBeStale(t *testing.T) {
	t.Parallel()
	for place, open := range map[string]func(*testing.T, string) *shop{"in the process": sqlInProcess, "over HTTP": restOverHTTP} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			f := open(t, "load #2: stale\nload #4: fail\nload #5: 503\nload #6: 429")
			require.NoError(t, set(t, f, "new"))
			for _, want := range []string{"", "new"} {
				tbl, err := f.Load(t.Context(), testlake.Ident("t"))
				require.NoError(t, err)
				assert.Equal(t, want, tbl.Metadata.Properties()["p"])
			}
			for range 3 {
				_, err := f.Load(t.Context(), testlake.Ident("t"))
				require.Error(t, err)
				assert.NotErrorIs(t, err, catalog.ErrNotFound)
			}
			_, err := f.Load(t.Context(), testlake.Ident("t"))
			assert.NoError(t, err)
		})
	}
}

func TestALakeBreaksItsStoreAndItsCatalogWithOneScript(t *testing.T) {
	t.Parallel()
	s := faults.New(t, "put *.bin #1: 503\nwrite #4: crash")
	lake := newLake(t)
	c := s.Lake(t, lake, storage.RetryOptions{BaseDelay: time.Microsecond})
	tbl, err := c.Load(t.Context(), testlake.Ident("t"))
	require.NoError(t, err)
	require.NoError(t, tbl.Store.WriteFile(t.Context(), tbl.Metadata.Location()+"/a.bin", []byte("a")))
	assert.FileExists(t, filepath.Join(lake.Dir, "t", "a.bin"))
	require.NoError(t, set(t, c, "new"))
	assert.Equal(t, 3, s.Count("write"))
	assert.ErrorIs(t, tbl.Store.Remove(t.Context(), lake.Prefix+"t/a.bin"), faults.ErrCrashed)
	_, err = c.Load(t.Context(), testlake.Ident("t"))
	assert.ErrorIs(t, err, faults.ErrCrashed)
	_, err = c.List(t.Context(), nil)
	assert.ErrorIs(t, err, faults.ErrCrashed)
	assert.FileExists(t, filepath.Join(lake.Dir, "t", "a.bin"))
}
