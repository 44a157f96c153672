package servers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// GCS is a running fake-gcs-server.
type GCS struct {
	// URL is its address, http://127.0.0.1:port.
	URL string
	names
}

// StartGCS starts a server without buckets.
func StartGCS(t testing.TB) *GCS {
	p := start(t, program(t, "fake-gcs-server"), nil, func(host, port string) []string {
		return []string{"-backend", "memory", "-host", host, "-port", port, "-scheme", "http", "-public-host", host + ":" + port, "-log-level", "error"}
	})
	return &GCS{URL: "http://" + p.address}
}

// Bucket makes a new bucket and returns its name.
func (s *GCS) Bucket(t testing.TB) string {
	name := s.next()
	reply, err := http.Post(s.URL+"/storage/v1/b?project=test", "application/json", strings.NewReader(`{"name":"`+name+`"}`))
	require.NoError(t, err)
	defer func() { require.NoError(t, reply.Body.Close()) }()
	require.Equal(t, http.StatusOK, reply.StatusCode)
	return name
}

// MountURL returns the URL of a bucket for a storage mount.
func (s *GCS) MountURL(bucket string) string {
	return "gs://" + bucket + "?" + url.Values{"endpoint": {s.URL}, "anonymous": {"true"}}.Encode()
}

// Properties returns the FileIO properties of a table on the server.
func (s *GCS) Properties() map[string]string {
	return map[string]string{"gcs.service.host": s.URL, "gcs.no-auth": "true"}
}
