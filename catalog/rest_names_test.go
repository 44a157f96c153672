package catalog_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestACommitNamesItsTableInTheBodyAsItIs(t *testing.T) {
	t.Parallel()
	l, s := faultyREST(t, catalog.Options{})
	identifier := []string{"n/1", "50% a/b"}
	l.create(t, nil, identifier...)
	c := l.open(t)
	var body struct {
		Identifier struct {
			Namespace []string
			Name      string
		}
		Requirements, Updates []any
	}
	s.Break("commit", func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&body))
		restcatalog.Status(409)(w, r, nil)
	})
	require.ErrorIs(t, commit(t, c, load(t, c, identifier...), "main", 1), catalog.ErrConflict)
	assert.Equal(t, identifier, append(body.Identifier.Namespace, body.Identifier.Name))
	assert.Len(t, body.Requirements, 2)
	assert.Len(t, body.Updates, 2)
}

// A path with such a segment is another path.
func TestAnIdentifierThatWouldLeadElsewhereInAURLIsNotAskedFor(t *testing.T) {
	t.Parallel()
	l, s := faultyREST(t, catalog.Options{})
	c := l.open(t)
	for _, level := range []string{".", "..", ""} {
		for _, identifier := range [][]string{{"db", level, "t"}, {"db", level}} {
			_, err := c.Load(t.Context(), identifier)
			require.ErrorContains(t, err, "cannot be part of a URL")
		}
	}
	assert.Zero(t, s.Seen("load"))
}

// pages answers requests for the tables of a namespace, the nth one with these names and the token of the next page.
func pages(s *restcatalog.Server, page func(n int, token string) (names []string, next string)) *atomic.Int64 {
	var n atomic.Int64
	s.Use(func(healthy http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/tables") {
				healthy.ServeHTTP(w, r)
				return
			}
			names, next := page(int(n.Add(1)), r.FormValue("pageToken"))
			ids := make([]map[string]any, 0, len(names))
			for _, name := range names {
				ids = append(ids, map[string]any{"namespace": []string{"db"}, "name": name})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"identifiers": ids, "next-page-token": next})
		})
	})
	return &n
}

func TestEveryPageOfAListIsRead(t *testing.T) {
	t.Parallel()
	l, s := faultyREST(t, catalog.Options{})
	s.CreateNamespace("db")
	c := l.open(t)
	all := [][]string{{"a", "b"}, {}, {}, {"c"}, {}}
	pages(s, func(n int, token string) ([]string, string) {
		want := ""
		if n > 1 {
			want = fmt.Sprintf("after/%d&?", n-1)
		}
		assert.Equal(t, want, token)
		if n == len(all) {
			return all[n-1], ""
		}
		return all[n-1], fmt.Sprintf("after/%d&?", n)
	})
	found, err := c.List(t.Context(), []string{"db"})
	require.NoError(t, err)
	assert.Equal(t, [][]string{{"db", "a"}, {"db", "b"}, {"db", "c"}}, found)
}

func TestAListWhosePagesNeverEndIsAnError(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(n int) string{
		"the same token": func(int) string { return "again" }, "two tokens in turn": func(n int) string { return fmt.Sprint(n % 2) },
		"always another one": func(n int) string { return fmt.Sprint(n) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := faultyREST(t, catalog.Options{Timeout: patience})
			s.CreateNamespace("db")
			c := l.open(t)
			asked := pages(s, func(n int, _ string) ([]string, string) { return nil, next(n) })
			start := time.Now()
			_, err := c.List(t.Context(), []string{"db"})
			require.ErrorContains(t, err, "db")
			assert.Less(t, time.Since(start), 30*time.Second)
			if name != "always another one" {
				assert.LessOrEqual(t, asked.Load(), int64(4), "the list is not begun again")
			}
		})
	}
}

// The catalog may say with its configuration where tokens are to be had and for what.
func TestTheConfigurationOfTheCatalogSaysWhereToGetTokens(t *testing.T) {
	t.Parallel()
	l, s := faultyREST(t, catalog.Options{Scope: "mine", Properties: map[string]string{"audience": "here"}})
	var asked []string
	s.Use(func(healthy http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/v1/config":
				_ = json.NewEncoder(w).Encode(map[string]any{
					"defaults":  map[string]string{"scope": "not asked for", "resource": "thing"},
					"overrides": map[string]string{"prefix": "some/prefix", "oauth2-server-uri": s.URL + "/elsewhere"},
				})
				return
			case "/elsewhere":
				r.URL.Path = "/v1/oauth/tokens"
				asked = append(asked, "elsewhere")
			}
			if r.URL.Path == "/v1/oauth/tokens" {
				asked = append(asked, r.FormValue("scope"), r.FormValue("audience"), r.FormValue("resource"))
			}
			healthy.ServeHTTP(w, r)
		})
	})
	l.create(t, nil, "db", "t")
	load(t, l.open(t), "db", "t")
	assert.Equal(t, []string{"mine", "here", "", "elsewhere", "mine", "here", "thing"}, slices.Clone(asked))
}
