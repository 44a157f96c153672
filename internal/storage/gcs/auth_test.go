//go:build !nogcs

package gcs_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake/cloudserver"
)

// serviceAccount returns a key whose tokens come from a server.
func serviceAccount(t *testing.T, tokenURL string) string {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	key, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "dvcompactor@p.example", "private_key_id": "1", "token_uri": tokenURL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})),
	})
	require.NoError(t, err)
	return string(key)
}

func TestAServiceAccountsKeyIsExchangedForATokenOnce(t *testing.T) {
	t.Parallel()
	exchanges := make(chan string, 10)
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exchanges <- r.FormValue("grant_type")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token": "from the key", "token_type": "Bearer", "expires_in": 3600}`))
	}))
	t.Cleanup(tokens.Close)
	server := cloudserver.NewGCS(t)
	server.Use(func(healthy http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer from the key" {
				server.Refuse(w, http.StatusUnauthorized, "authError")
				return
			}
			healthy.ServeHTTP(w, r)
		})
	})
	key := serviceAccount(t, tokens.URL)
	path := filepath.Join(t.TempDir(), "key.json")
	require.NoError(t, os.WriteFile(path, []byte(key), 0o600))
	for _, properties := range []map[string]string{{"gcs.jsonkey": key}, {"gcs.keypath": path}} {
		properties["gcs.service.host"] = server.URL
		s := open(t, properties)
		require.NoError(t, s.WriteFile(t.Context(), "gs://lake/x", []byte("data")))
		_, err := s.ReadFile(t.Context(), "gs://lake/x")
		require.NoError(t, err)
		require.Len(t, exchanges, 1)
		assert.Equal(t, "urn:ietf:params:oauth:grant-type:jwt-bearer", <-exchanges)
	}
}

func TestAKeyThatIsNoneOrRefusedIsAMatterOfPermission(t *testing.T) {
	t.Parallel()
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	t.Cleanup(refuses.Close)
	server := cloudserver.NewGCS(t)
	for name, properties := range map[string]map[string]string{
		"no JSON":                {"gcs.jsonkey": "hunter2"},
		"a key of another kind":  {"gcs.jsonkey": `{"type": "external_account", "audience": "hunter2"}`},
		"a file that is missing": {"gcs.keypath": filepath.Join(t.TempDir(), "none")},
		"a key that is refused":  {"gcs.jsonkey": serviceAccount(t, refuses.URL)},
	} {
		t.Run(name, func(t *testing.T) {
			properties["gcs.service.host"] = server.URL
			_, err := open(t, properties).ReadFile(t.Context(), "gs://lake/x")
			require.ErrorIs(t, err, storage.ErrPermission)
			assert.False(t, storage.Transient(err))
			assert.False(t, strings.Contains(err.Error(), "hunter2"), "%v", err)
		})
	}
	assert.Empty(t, slices.Compact(server.Seen()))
}

func open(t *testing.T, properties map[string]string) *storage.Store {
	s, err := storage.Open(t.Context(), storage.Options{Properties: properties})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
