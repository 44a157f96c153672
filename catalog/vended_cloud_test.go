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

// tokens hands out numbered tokens for Google Cloud Storage and refuses old ones.
type tokens struct {
	gcs     *cloudserver.GCS
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
	token := map[string]string{"gcs.oauth2.token": fmt.Sprintf("token-%d", k.issued)}
	if !k.expires.IsZero() {
		token["gcs.oauth2.token-expires-at"] = strconv.FormatInt(k.expires.UnixMilli(), 10)
	}
	return restcatalog.Access{
		Config:      map[string]string{"gcs.service.host": k.gcs.URL},
		Credentials: map[string]map[string]string{"gs://lake/": token, "gs://": {"gcs.oauth2.token": "of another bucket"}},
	}
}

// deny refuses all tokens that were handed out.
func (k *tokens) deny() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gone = k.issued
}

// guard stands before the server. Requests without a token come from the test itself.
func (k *tokens) guard(healthy http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if given, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); found {
			n, err := strconv.Atoi(strings.TrimPrefix(given, "token-"))
			if k.used[n]++; err != nil || n <= k.gone {
				k.gcs.Refuse(w, http.StatusUnauthorized, "authError")
				return
			}
		}
		healthy.ServeHTTP(w, r)
	})
}

// gcsLab is a REST catalog whose tables are on Google Cloud Storage, and which hands out a token with every load.
func gcsLab(t *testing.T, k *tokens) *lab {
	k.gcs, k.used = cloudserver.NewGCS(t), map[int]int{}
	k.gcs.Use(k.guard)
	mounts := []storage.Mount{{Prefix: "gs://lake/", URL: "gs://lake?anonymous=true&endpoint=" + k.gcs.URL}}
	server := restcatalog.New(t, restcatalog.Options{Vend: k.vend, Mounts: mounts})
	remote, err := storage.Open(t.Context(), storage.Options{Mounts: mounts})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, remote.Close()) })
	return &lab{
		options: catalog.Options{Name: catalogName, Type: "rest", URI: server.URL, Retry: storage.RetryOptions{Attempts: attempts, BaseDelay: time.Millisecond}},
		rest:    server, remote: remote, root: "gs://lake/wh", put: server.Put,
	}
}

func TestARunOnGoogleCloudStorageGoesOnWhenItsTokenIsNoLongerTaken(t *testing.T) {
	t.Parallel()
	k := &tokens{}
	l := gcsLab(t, k)
	l.create(t, nil, "db", "t")
	c := l.open(t)
	writeDeletes(t, c)
	lake := &far{catalog: c, prefix: "gs://lake/"}
	want := lake.read(t).Positions
	l.rest.Break("commit", restcatalog.First(k.deny))
	r, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), migrate())
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.Equal(t, want, lake.read(t).Positions)
}

func TestATokenIsRenewedBeforeItEnds(t *testing.T) {
	t.Parallel()
	k := &tokens{expires: time.Now().Add(-time.Minute)} // so every one is due at once
	l := gcsLab(t, k)
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
}

func TestPropertiesOfATablesMetadataDoNotSendItsTokensAnywhere(t *testing.T) {
	t.Parallel()
	k := &tokens{}
	l := gcsLab(t, k)
	elsewhere := cloudserver.NewGCS(t)
	l.create(t, map[string]string{"gcs.service.host": elsewhere.URL, "gcs.no-auth": "true"}, "db", "t")
	tbl := load(t, l.open(t), "db", "t")
	_, err := tbl.Store.ReadFile(t.Context(), tbl.MetadataLocation)
	require.NoError(t, err)
	assert.Empty(t, elsewhere.Seen())
}
