package catalog_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/cloudserver"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cloud is a store as the tests of tokens see it.
type cloud struct {
	server *cloudserver.Server
	base   string
	place  map[string]string                               // properties that say where it is
	mount  storage.Mount                                   // for the test itself and the catalog
	access map[string]string                               // with which they reach it
	vended func(token, expires string) map[string]string   // properties that hand out a token
	given  func(r *http.Request) (token string, sent bool) // of a request; those of the test itself have none
	refuse func(w http.ResponseWriter)                     // a token that is no longer good
}

// clouds are the stores whose tokens a catalog hands out.
func clouds() map[string]func(t *testing.T) cloud {
	return map[string]func(t *testing.T) cloud{"Google Cloud Storage": onGCS, "Azure": onAzure}
}

func onGCS(t *testing.T) cloud {
	s := cloudserver.NewGCS(t)
	return cloud{
		server: s.Server, base: "gs://lake/", place: map[string]string{"gcs.service.host": s.URL},
		mount: storage.Mount{Prefix: "gs://lake/", URL: "gs://lake?anonymous=true&endpoint=" + s.URL},
		vended: func(token, expires string) map[string]string {
			return map[string]string{"gcs.oauth2.token": token, "gcs.oauth2.token-expires-at": expires}
		},
		given: func(r *http.Request) (string, bool) {
			return strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		},
		refuse: func(w http.ResponseWriter) { s.Refuse(w, http.StatusUnauthorized, "authError") },
	}
}

func onAzure(t *testing.T) cloud {
	s := cloudserver.NewAzure(t)
	const host = ".lakes.dfs.core.windows.net"
	return cloud{
		server: s.Server, base: s.Base("lake"), place: s.Place(),
		mount:  storage.Mount{Prefix: s.Base("lake"), URL: s.MountURL("lake")},
		access: s.Properties(),
		vended: func(token, expires string) map[string]string {
			return map[string]string{"adls.sas-token" + host: "?se=2030-01-01&sig=" + token, "adls.sas-token-expires-at-ms" + host: expires}
		},
		given:  func(r *http.Request) (string, bool) { return r.URL.Query().Get("sig"), r.URL.Query().Has("sig") },
		refuse: func(w http.ResponseWriter) { s.Refuse(w, http.StatusForbidden, "AuthenticationFailed") },
	}
}

// tokens hands out numbered tokens for a store and refuses old ones.
type tokens struct {
	cloud
	expires time.Time // of those that are handed out; zero for not saying so

	mu           sync.Mutex
	issued, gone int // the number of the newest, and up to which they are refused
	used         map[int]int
}

// vend hands out the next token, for the bucket that the table is in.
func (k *tokens) vend(int) restcatalog.Access {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.issued++
	expires := ""
	if !k.expires.IsZero() {
		expires = strconv.FormatInt(k.expires.UnixMilli(), 10)
	}
	scheme, _, _ := strings.Cut(k.base, "://")
	return restcatalog.Access{
		Config: k.place,
		Credentials: map[string]map[string]string{
			k.base:         k.vended(fmt.Sprintf("token-%d", k.issued), expires),
			scheme + "://": k.vended("of another bucket", ""),
		},
	}
}

// deny refuses all tokens that were handed out.
func (k *tokens) deny() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gone = k.issued
}

// guard stands before the server.
func (k *tokens) guard(healthy http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if given, sent := k.given(r); sent {
			n, err := strconv.Atoi(strings.TrimPrefix(given, "token-"))
			if k.used[n]++; err != nil || n <= k.gone {
				k.refuse(w)
				return
			}
		}
		healthy.ServeHTTP(w, r)
	})
}

// cloudLab is a REST catalog whose tables are in a store, and which hands out a token with every load.
func cloudLab(t *testing.T, k *tokens) *lab {
	k.used = map[int]int{}
	k.server.Use(k.guard)
	mounts := []storage.Mount{k.mount}
	server := restcatalog.New(t, restcatalog.Options{Vend: k.vend, Mounts: mounts, Properties: k.access})
	remote, err := storage.Open(t.Context(), storage.Options{Mounts: mounts, Properties: k.access})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, remote.Close()) })
	return &lab{
		options: catalog.Options{Name: catalogName, Type: "rest", URI: server.URL, Retry: storage.RetryOptions{Attempts: attempts, BaseDelay: time.Millisecond}},
		rest:    server, remote: remote, root: k.base + "wh", put: server.Put,
	}
}

// onEveryCloud runs a test with the tokens of every store.
func onEveryCloud(t *testing.T, test func(t *testing.T, k *tokens)) {
	for name, open := range clouds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &tokens{cloud: open(t)})
		})
	}
}

func TestARunInACloudGoesOnWhenItsTokenIsNoLongerTaken(t *testing.T) {
	t.Parallel()
	onEveryCloud(t, func(t *testing.T, k *tokens) {
		l := cloudLab(t, k)
		l.create(t, nil, "db", "t")
		c := l.open(t)
		writeDeletes(t, c)
		lake := &far{catalog: c, prefix: k.base}
		want := lake.read(t).Positions
		l.rest.Break("commit", restcatalog.First(k.deny))
		r, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), migrate())
		require.NoError(t, err)
		assert.True(t, r.Committed)
		assert.Equal(t, want, lake.read(t).Positions)
	})
}

func TestATokenIsRenewedBeforeItEnds(t *testing.T) {
	t.Parallel()
	onEveryCloud(t, func(t *testing.T, k *tokens) {
		k.expires = time.Now().Add(-time.Minute) // so every one is due at once
		l := cloudLab(t, k)
		l.create(t, nil, "db", "t")
		tbl := load(t, l.open(t), "db", "t")
		k.mu.Lock()
		k.expires = time.Now().Add(time.Hour)
		first := k.issued
		k.mu.Unlock()
		for range 2 {
			_, err := tbl.Store.ReadFile(t.Context(), tbl.MetadataLocation)
			require.NoError(t, err)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		assert.Equal(t, first+1, k.issued, "one more, which lasts")
		assert.Zero(t, k.used[first])
		assert.Equal(t, 2, k.used[first+1])
	})
}

func TestPropertiesOfATablesMetadataDoNotSendItsTokensAnywhere(t *testing.T) {
	t.Parallel()
	k := &tokens{cloud: onGCS(t)}
	l := cloudLab(t, k)
	elsewhere := cloudserver.NewGCS(t)
	l.create(t, map[string]string{"gcs.service.host": elsewhere.URL, "gcs.no-auth": "true"}, "db", "t")
	tbl := load(t, l.open(t), "db", "t")
	_, err := tbl.Store.ReadFile(t.Context(), tbl.MetadataLocation)
	require.NoError(t, err)
	assert.Empty(t, elsewhere.Seen())
}
