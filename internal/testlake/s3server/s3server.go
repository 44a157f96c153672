// Package s3server is an S3 server on loopback for tests that records what is asked of it.
package s3server

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/testlake/politely"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
)

// Request is a request that the server saw.
type Request struct {
	Method, Bucket, Key, Query, Range string
}

// Server is a running server.
type Server struct {
	URL string

	backend *s3mem.Backend
	healthy http.Handler

	mu       sync.Mutex
	requests []Request
	front    http.Handler
}

// New starts a server with empty buckets for the time of a test.
func New(t testing.TB, buckets ...string) *Server {
	backend := s3mem.New(s3mem.WithTimeSource(&clock{}))
	for _, name := range buckets {
		require.NoError(t, backend.CreateBucket(name))
	}
	s := &Server{backend: backend, healthy: headVersions(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server())}
	s.Use(nil)
	server := httptest.NewServer(politely.Handler(s))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// KeepVersions switches the versioning of a bucket on: what is replaced or removed from now on can still be read.
func (s *Server) KeepVersions(t testing.TB, bucket string) {
	require.NoError(t, s.backend.SetVersioningConfiguration(bucket, gofakes3.VersioningConfiguration{Status: gofakes3.VersioningEnabled}))
}

// headVersions answers a HEAD of a version like a GET of it, because the library answers it like one of the current one.
func headVersions(library http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && r.URL.Query().Has("versionId") {
			r = r.Clone(r.Context())
			r.Method = http.MethodGet
		}
		library.ServeHTTP(w, r)
	})
}

// clock never shows the same millisecond twice, so that the versions of an object have an order.
type clock struct {
	mu   sync.Mutex
	last time.Time
}

// Now implements gofakes3.TimeSource.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now().Truncate(time.Millisecond); now.After(c.last) {
		c.last = now
	} else {
		c.last = c.last.Add(time.Millisecond)
	}
	return c.last.In(time.FixedZone("GMT", 0)) // as S3 writes it
}

// Since implements gofakes3.TimeSource.
func (c *clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Use puts something in front of the server from the next request on, and nothing when it is nil.
func (s *Server) Use(middleware func(healthy http.Handler) http.Handler) {
	front := s.healthy
	if middleware != nil {
		front = middleware(s.healthy)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.front = front
}

// ServeHTTP answers a request, also one that came to another server.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.record(r).ServeHTTP(w, r) }

// record notes a request and returns who answers it.
func (s *Server) record(r *http.Request) http.Handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.requests = append(s.requests, Request{Method: r.Method, Bucket: bucket, Key: key, Query: r.URL.RawQuery, Range: r.Header.Get("Range")})
	return s.front
}

// Take returns the requests since it was last called.
func (s *Server) Take() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.requests
	s.requests = nil
	return out
}

// MountURL returns the URL of a bucket for a storage mount. It needs no credentials.
func (s *Server) MountURL(bucket string) string {
	query := url.Values{"endpoint": {s.URL}, "s3ForcePathStyle": {"true"}, "region": {"us-east-1"}, "anonymous": {"true"}}
	return "s3://" + bucket + "?" + query.Encode()
}

// Properties returns the file IO properties of a table on the server, as a catalog hands them out.
func (s *Server) Properties() map[string]string {
	return map[string]string{
		"s3.endpoint": s.URL, "s3.region": "us-east-1", "s3.access-key-id": "user", "s3.secret-access-key": "pass",
	}
}
