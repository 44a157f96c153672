//go:build nogcs && noazure

package storage_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/storage"
)

func TestAStoreThatWasLeftOutIsNamedWithItsTag(t *testing.T) {
	t.Parallel()
	s := open(t, storage.Options{})
	for location, tag := range map[string]string{"gs://lake/x": "nogcs", "abfss://lake@lakes.dfs.core.windows.net/x": "noazure", "wasb://lake@lakes.blob.core.windows.net/x": "noazure"} {
		_, err := s.ReadFile(t.Context(), location)
		if !errors.Is(err, storage.ErrUnknownScheme) || !strings.Contains(err.Error(), "-tags "+tag) || storage.Transient(err) {
			t.Errorf("%s: %v", location, err)
		}
	}
	for url, tag := range map[string]string{"gs://lake": "nogcs", "azblob://lake": "noazure"} {
		_, err := storage.Open(t.Context(), storage.Options{Mounts: []storage.Mount{{Prefix: "s3://lake/", URL: url}}})
		if err == nil || !strings.Contains(err.Error(), "-tags "+tag) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
