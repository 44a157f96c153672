package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"gocloud.dev/blob"

	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake/cloudserver"
	"github.com/dvcompactor/dvcompactor/internal/testlake/servers"
)

func TestAServerThatRefusesSaysSo(t *testing.T) {
	t.Parallel()
	t.Run("versitygw", func(t *testing.T) {
		t.Parallel()
		server := servers.StartS3(t)
		properties := server.Properties()
		properties["s3.secret-access-key"] = "another"
		_ = wantDenied(t, open(t, storage.Options{Properties: properties}), "s3://"+server.Bucket(t)+"/x")
	})
	t.Run("azurite", func(t *testing.T) {
		t.Parallel()
		server := servers.StartAzure(t)
		name := server.Container(t)
		location := server.Base("abfss", name) + "x"
		expired := server.Signed(t, name, sas.ContainerPermissions{Read: true, Write: true, Delete: true}, time.Now().Add(-time.Hour))
		_ = wantDenied(t, open(t, storage.Options{Properties: expired}), location) // Azure has a word of its own for it
		onlyDelete := server.Signed(t, name, sas.ContainerPermissions{Delete: true}, time.Now().Add(time.Hour))
		err := wantDenied(t, open(t, storage.Options{Properties: onlyDelete}), location)
		if storage.StaleCredentials(err) {
			t.Errorf("a signature that does not allow it: %v", err)
		}
	})
}

// wantDenied reads and writes an object and returns the error of the write.
func wantDenied(t *testing.T, s *storage.Store, location string) error {
	t.Helper()
	_, readErr := s.ReadFile(t.Context(), location)
	writeErr := s.WriteFile(t.Context(), location, []byte("data"))
	for i, err := range []error{readErr, writeErr} {
		if !errors.Is(err, storage.ErrPermission) || errors.Is(err, fs.ErrNotExist) || storage.Transient(err) {
			t.Errorf("operation %d: %v", i, err)
		}
	}
	if n := s.Stats().Retries; n != 0 {
		t.Errorf("%d retries", n)
	}
	return writeErr
}

// keyHolder hands out numbered tokens, and refuses all but the newest in front of a server.
type keyHolder struct {
	mu     sync.Mutex
	newest int
	refuse func(w http.ResponseWriter, status int, word string)
	given  func(r *http.Request) string
}

func (k *keyHolder) token() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return fmt.Sprintf("token-%d", k.newest)
}

func (k *keyHolder) renew(context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.newest++
	return nil
}

func (k *keyHolder) guard(wanted func() string) func(healthy http.Handler) http.Handler {
	return func(healthy http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(k.given(r), wanted()) {
				k.refuse(w, http.StatusUnauthorized, "InvalidAuthenticationInfo")
				return
			}
			healthy.ServeHTTP(w, r)
		})
	}
}

func TestVendedCredentialsAreRenewedWhileABucketIsInUse(t *testing.T) {
	t.Parallel()
	t.Run("gcs.oauth2.token", func(t *testing.T) {
		t.Parallel()
		server := cloudserver.NewGCS(t)
		k := &keyHolder{refuse: server.Refuse, given: func(r *http.Request) string { return r.Header.Get("Authorization") }}
		renewsInUse(t, k, server.Server, "gs://lake/", func(token string) map[string]string {
			return map[string]string{"gcs.service.host": server.URL, "gcs.oauth2.token": token}
		})
	})
	t.Run("adls.sas-token", func(t *testing.T) {
		t.Parallel()
		server := cloudserver.NewAzure(t)
		k := &keyHolder{refuse: server.Refuse, given: func(r *http.Request) string { return r.URL.Query().Get("sig") }}
		renewsInUse(t, k, server.Server, server.Base("lake"), func(token string) map[string]string {
			properties := server.Place()
			properties["adls.sas-token.lakes.dfs.core.windows.net"] = "?se=2030-01-01&sig=" + token
			return properties
		})
	})
}

func renewsInUse(t *testing.T, k *keyHolder, server *cloudserver.Server, base string, properties func(token string) map[string]string) {
	b, err := storage.OpenCloud(t.Context(), base+"x", func(context.Context) (map[string]string, error) { return properties(k.token()), nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	s := open(t, storage.Options{
		Fallback: func(context.Context, string) (*blob.Bucket, error) { return b, nil },
		Renewal:  func() func(context.Context) error { return k.renew },
	})
	server.Use(k.guard(k.token))
	write(t, s, base+"x", []byte("first"))
	server.Use(k.guard(func() string { return "token-1" })) // the token in use is refused from now on
	cost(t, s, storage.Stats{Puts: 2, Retries: 1, Failures: 1}, func() { write(t, s, base+"x", []byte("second")) })
	wantContent(t, s, base+"x", []byte("second"))
	server.Use(k.guard(func() string { return "no token" }))
	if _, err := s.ReadFile(t.Context(), base+"x"); !errors.Is(err, storage.ErrPermission) || strings.Contains(err.Error(), "token-") {
		t.Errorf("got %v", err)
	}
}

func TestStoresOfDifferentKindsInOneTable(t *testing.T) {
	t.Parallel()
	gcs, azure, s3 := cloudserver.NewGCS(t), cloudserver.NewAzure(t), newS3Lab(t)
	properties := s3.Properties()
	for _, more := range []map[string]string{gcs.Properties(), azure.Properties()} {
		for name, value := range more {
			properties[name] = value
		}
	}
	s := open(t, storage.Options{Properties: properties, Mounts: []storage.Mount{{Prefix: "s3://mapped/", URL: "gs://other?anonymous=true&endpoint=" + gcs.URL}}})
	table := s.ForTable("t", "gs://lake/db/t/metadata/v1.json")
	for _, location := range []string{"gs://lake/a", "gs://second/a", azure.Base("lake") + "a", azure.Base("second") + "a", "s3://lake/a", "s3://other/a", "s3://mapped/a"} {
		write(t, table, location, []byte(location))
	}
	for _, location := range []string{"gs://lake/a", "gs://second/a", azure.Base("lake") + "a", azure.Base("second") + "a", "s3://lake/a", "s3://other/a", "s3://mapped/a"} {
		wantContent(t, table, location, []byte(location))
	}
	wantContent(t, table, "gs://other/a", []byte("s3://mapped/a"))
}

func TestALocationOnAzureThatNamesNoAccountIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, storage.Options{})
	for _, location := range []string{"abfss://lake/x", "abfss://@lakes.dfs.core.windows.net/x", "wasbs://lake@/x"} {
		_, err := s.ReadFile(t.Context(), location)
		if err == nil || !strings.Contains(err.Error(), "container@account.dfs.core.windows.net") {
			t.Errorf("%s: %v", location, err)
		}
	}
}

func TestAnUnknownParameterOfAMountIsRefused(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"gs://lake?hunter2=1", "azblob://lake?storage_account=lakes&hunter2=1", "azblob://lake?domain=127.0.0.1:1&protocol=http"} {
		_, err := storage.Open(t.Context(), storage.Options{Mounts: []storage.Mount{{Prefix: "gs://lake/", URL: url}}})
		if err == nil {
			t.Errorf("%s was opened", url)
		}
	}
}
