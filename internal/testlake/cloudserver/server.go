// Package cloudserver is Google Cloud Storage and Azure Blob Storage on loopback, as far as this program asks something
// of them, for tests that break replies. What it answers is what fake-gcs-server and Azurite answer: the conformance
// suite of package storage runs over all four.
package cloudserver

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/testlake/politely"
)

// Server is a running server with every bucket or container that anybody names.
type Server struct {
	// URL is its address, http://127.0.0.1:port.
	URL     string
	healthy http.Handler

	mu      sync.Mutex
	front   http.Handler
	seen    []string
	objects map[string]object // by bucket, "/" and key
	parts   map[string][]byte // of uploads that are under way
	clock   int64
}

type object struct {
	data    []byte
	written time.Time
	version int64
}

// serve starts a server for the time of a test.
func serve(t testing.TB, answer func(s *Server, w http.ResponseWriter, r *http.Request)) *Server {
	s := &Server{objects: map[string]object{}, parts: map[string][]byte{}}
	s.healthy = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(s, w, r) })
	s.Use(nil)
	server := httptest.NewServer(politely.Handler(s))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Use puts something in front of the server from the next request on, and nothing when it is nil. It forgets which
// requests were seen.
func (s *Server) Use(middleware func(healthy http.Handler) http.Handler) {
	front := s.healthy
	if middleware != nil {
		front = middleware(s.healthy)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.front, s.seen = front, nil
}

// Seen returns the methods of the requests since the last Use, in order.
func (s *Server) Seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, r.Method)
	front := s.front
	s.mu.Unlock()
	front.ServeHTTP(w, r)
}

// put writes an object; it returns false when there is one and there must be none.
func (s *Server) put(name string, data []byte, ifAbsent bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, exists := s.objects[name]; exists && ifAbsent {
		return false
	}
	s.clock++
	s.objects[name] = object{data: data, written: time.Now(), version: s.clock}
	return true
}

func (s *Server) get(name string) (object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, found := s.objects[name]
	return o, found
}

// remove tells whether there was an object.
func (s *Server) remove(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, found := s.objects[name]
	delete(s.objects, name)
	return found
}

// list returns up to a thousand names that start with prefix and come after another, and whether there are more.
func (s *Server) list(prefix, after string) (found []string, more bool) {
	const page = 1000
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.objects {
		if strings.HasPrefix(name, prefix) && name > after {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found[:min(len(found), page)], len(found) > page
}

// keep remembers a part of an upload.
func (s *Server) keep(upload string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts[upload] = append(s.parts[upload], data...)
}

func (s *Server) part(upload string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts[upload]
}

// sendRange answers with the part of an object that a header like "bytes=3-9" asks for; it returns false when the object
// ends before.
func sendRange(w http.ResponseWriter, o object, header string) bool {
	size := int64(len(o.data))
	w.Header().Set("Last-Modified", o.written.UTC().Format(http.TimeFormat))
	if header == "" {
		w.Header().Set("Content-Length", fmt.Sprint(size))
		_, _ = w.Write(o.data) // the client may hang up
		return true
	}
	first, last := int64(0), size-1
	if n, _ := fmt.Sscanf(header, "bytes=%d-%d", &first, &last); n == 0 || first >= size {
		return false
	}
	last = min(last, size-1)
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, size))
	w.Header().Set("Content-Length", fmt.Sprint(last-first+1))
	w.WriteHeader(http.StatusPartialContent)
	_, _ = w.Write(o.data[first : last+1])
	return true
}
