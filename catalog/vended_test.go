package catalog_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake/s3server"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// keyring hands out numbered keys for an S3 server and refuses old ones.
type keyring struct {
	s3 *s3server.Server

	mu      sync.Mutex
	issued  int // the number of the newest key
	gone    int // keys up to this number are refused
	status  int // with this status
	code    string
	expires time.Time // of the keys that are handed out; zero for not saying so
	used    map[int]int
}

// vend hands out the next key.
func (k *keyring) vend(int) restcatalog.Access {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.issued++
	config := k.s3.Properties()
	config["s3.access-key-id"], config["s3.session-token"] = fmt.Sprintf("key-%d", k.issued), "session"
	if !k.expires.IsZero() {
		config["s3.session-token-expires-at-ms"] = strconv.FormatInt(k.expires.UnixMilli(), 10)
	}
	return restcatalog.Access{Config: config}
}

// deny refuses all keys that were handed out.
func (k *keyring) deny(status int, code string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gone, k.status, k.code = k.issued, status, code
}

// guard stands before the S3 server. Requests that are not signed come from the test itself.
func (k *keyring) guard(healthy http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if m := regexp.MustCompile(`Credential=key-(\d+)/`).FindStringSubmatch(r.Header.Get("Authorization")); m != nil {
			n, _ := strconv.Atoi(m[1])
			k.used[n]++
			if n <= k.gone {
				w.WriteHeader(k.status)
				_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no longer</Message></Error>", k.code)
				return
			}
		}
		healthy.ServeHTTP(w, r)
	})
}

// requests counts those that came with a key.
func (k *keyring) requests(key int) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.used[key]
}

// vendingLab is a REST catalog that hands out another key with every load of a table.
func vendingLab(t *testing.T) *lab {
	s3 := s3server.New(t, "lake")
	k := &keyring{s3: s3, used: map[int]int{}}
	return labOnS3(t, k, restcatalog.Options{Vend: k.vend})
}

func labOnS3(t *testing.T, k *keyring, o restcatalog.Options) *lab {
	k.s3.Use(k.guard)
	o.Mounts = []storage.Mount{{Prefix: "s3://lake/", URL: k.s3.MountURL("lake")}}
	server := restcatalog.New(t, o)
	remote, err := storage.Open(t.Context(), storage.Options{Mounts: o.Mounts})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, remote.Close()) })
	return &lab{
		options: catalog.Options{Name: catalogName, Type: "rest", URI: server.URL, Retry: storage.RetryOptions{Attempts: attempts, BaseDelay: time.Millisecond}},
		rest:    server, keys: k, remote: remote, put: server.Put, drop: func(_ testing.TB, identifier []string) { server.Drop(identifier) },
	}
}

// mappedLab is a SQLite catalog whose tables are on S3, by a storage mapping.
func mappedLab(t *testing.T) *lab {
	l := sqliteLab(t)
	server := s3server.New(t, "lake")
	l.options.Mounts = []storage.Mount{{Prefix: "s3://lake/", URL: server.MountURL("lake")}}
	var err error
	l.remote, err = storage.Open(t.Context(), storage.Options{Mounts: l.options.Mounts})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.remote.Close()) })
	return l
}

func TestARunGoesOnWhenTheCredentialsOfItsTableExpireInTheMiddle(t *testing.T) {
	t.Parallel()
	l := vendingLab(t)
	l.create(t, nil, "db", "t")
	c := l.open(t)
	writeDeletes(t, c)
	lake := &far{catalog: c}
	want := lake.read(t).Positions
	l.rest.Break("commit", restcatalog.First(func() { l.keys.deny(http.StatusBadRequest, "ExpiredToken") }), restcatalog.First(func() {
		l.keys.deny(http.StatusForbidden, "InvalidAccessKeyId")
	}))
	r, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), migrate())
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.Equal(t, want, lake.read(t).Positions)
}

func TestCredentialsThatTheStoreNeverTakesAreNotAskedForAgainAndAgain(t *testing.T) {
	t.Parallel()
	l := vendingLab(t)
	l.create(t, nil, "db", "t")
	tbl := load(t, l.open(t), "db", "t")
	l.keys.mu.Lock()
	l.keys.gone, l.keys.status, l.keys.code = 1000, http.StatusForbidden, "InvalidAccessKeyId"
	l.keys.mu.Unlock()
	_, err := tbl.Store.ReadFile(t.Context(), tbl.MetadataLocation)
	require.ErrorIs(t, err, storage.ErrPermission)
	assert.Equal(t, 2, l.rest.Seen("load"), "once more than before")
	assert.Equal(t, 1, l.keys.requests(1))
	assert.Equal(t, 1, l.keys.requests(2))
}

func TestManyRequestsWithExpiredCredentialsLoadTheTableOnce(t *testing.T) {
	t.Parallel()
	l := vendingLab(t)
	l.create(t, nil, "db", "t")
	tbl := load(t, l.open(t), "db", "t")
	_, err := tbl.Store.ReadFile(t.Context(), tbl.MetadataLocation)
	require.NoError(t, err)
	l.keys.deny(http.StatusBadRequest, "ExpiredToken")
	var all sync.WaitGroup
	start := make(chan struct{})
	for range 16 {
		all.Go(func() {
			<-start
			_, err := tbl.Store.ReadFile(t.Context(), tbl.MetadataLocation)
			assert.NoError(t, err)
		})
	}
	close(start)
	all.Wait()
	assert.Equal(t, 2, l.rest.Seen("load"))
}

func TestCredentialsAreRenewedBeforeTheyExpire(t *testing.T) {
	t.Parallel()
	l := vendingLab(t)
	l.create(t, nil, "db", "t")
	l.keys.expires = time.Now().Add(-time.Second)
	tbl := load(t, l.open(t), "db", "t")
	l.keys.mu.Lock()
	l.keys.expires = time.Now().Add(time.Hour)
	l.keys.mu.Unlock()
	for range 3 {
		_, err := tbl.Store.ReadFile(t.Context(), tbl.MetadataLocation)
		require.NoError(t, err)
	}
	assert.Zero(t, l.keys.requests(1), "the store never saw them")
	assert.Equal(t, 3, l.keys.requests(2))
	assert.Equal(t, 2, l.rest.Seen("load"))
}

func TestCredentialsForAPrefixOfTheTableCountMoreThanThoseInItsConfig(t *testing.T) {
	t.Parallel()
	k := &keyring{s3: s3server.New(t, "lake"), used: map[int]int{}}
	l := labOnS3(t, k, restcatalog.Options{Vend: func(int) restcatalog.Access {
		key := func(n int) map[string]string {
			return map[string]string{"s3.access-key-id": fmt.Sprintf("key-%d", n), "s3.secret-access-key": "secret"}
		}
		config := k.s3.Properties()
		config["s3.access-key-id"] = "key-1"
		return restcatalog.Access{Config: config, Credentials: map[string]map[string]string{"s3://lake/": key(2), remoteRoot + "/db/t": key(3), "s3://lake/other/": key(4)}}
	}})
	l.create(t, nil, "db", "t")
	tbl := load(t, l.open(t), "db", "t")
	_, err := tbl.Store.ReadFile(t.Context(), tbl.MetadataLocation)
	require.NoError(t, err)
	assert.Equal(t, map[int]int{3: 1}, k.used)
}

func TestCredentialsThatExpireWithinAnUploadInPartsAreRenewed(t *testing.T) {
	t.Parallel()
	l := vendingLab(t)
	l.create(t, nil, "db", "t")
	tbl := load(t, l.open(t), "db", "t")
	w, err := tbl.Store.Create(t.Context(), remoteRoot+"/db/t/data/large")
	require.NoError(t, err)
	const begun, rest = 17 << 20, 1 << 20 // the first is more than is sent at once
	_, err = w.Write(make([]byte, begun))
	require.NoError(t, err)
	l.keys.deny(http.StatusBadRequest, "ExpiredToken")
	_, err = w.Write(make([]byte, rest))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	size, err := l.remote.Size(t.Context(), remoteRoot+"/db/t/data/large")
	require.NoError(t, err)
	assert.EqualValues(t, begun+rest, size)
	assert.Positive(t, l.keys.requests(1))
	assert.Greater(t, len(l.keys.used), 1)
}
