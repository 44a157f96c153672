package storage_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// request is what the S3 server saw.
type request struct {
	method, path, query, byteRange string
}

// s3Lab is an S3 server on loopback that records requests and breaks replies on demand.
type s3Lab struct {
	url string

	mu       sync.Mutex
	requests []request
	fault    func(n int, r *http.Request) fault
	faulted  int // requests that the fault function was asked about
}

// fault replaces the handler of one request; nil means the healthy one.
type fault func(w http.ResponseWriter, r *http.Request, healthy http.Handler)

// newS3Lab starts a server with the buckets lake and other.
func newS3Lab(t *testing.T) *s3Lab {
	t.Helper()
	backend := s3mem.New()
	for _, name := range []string{"lake", "other"} {
		if err := backend.CreateBucket(name); err != nil {
			t.Fatal(err)
		}
	}
	healthy := gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	lab := &s3Lab{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := lab.record(r); f != nil {
			f(w, r, healthy)
			return
		}
		healthy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	lab.url = server.URL
	return lab
}

func (l *s3Lab) record(r *http.Request) fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(l.requests, request{method: r.Method, path: r.URL.Path, query: r.URL.RawQuery, byteRange: r.Header.Get("Range")})
	if l.fault == nil {
		return nil
	}
	l.faulted++
	return l.fault(l.faulted, r)
}

// breakWith asks choose about every following request, which counts from 1, and forgets the recorded ones.
func (l *s3Lab) breakWith(choose func(n int, r *http.Request) fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault, l.faulted, l.requests = choose, 0, nil
}

// first breaks the first n requests.
func first(n int, f fault) func(int, *http.Request) fault {
	return func(i int, _ *http.Request) fault {
		if i <= n {
			return f
		}
		return nil
	}
}

// sequence breaks one request after the other, then none.
func sequence(faults ...fault) func(int, *http.Request) fault {
	return func(i int, _ *http.Request) fault {
		if i <= len(faults) {
			return faults[i-1]
		}
		return nil
	}
}

// seen returns the requests since the last call of seen or breakWith.
func (l *s3Lab) seen() []request {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.requests
	l.requests = nil
	return out
}

// mountURL is the URL of a bucket for a storage mapping.
func (l *s3Lab) mountURL(bucket string) string {
	query := url.Values{"endpoint": {l.url}, "s3ForcePathStyle": {"true"}, "region": {"us-east-1"}, "anonymous": {"true"}}
	return "s3://" + bucket + "?" + query.Encode()
}

// properties are the FileIO properties of a table on the server.
func (l *s3Lab) properties() map[string]string {
	return map[string]string{
		"s3.endpoint": l.url, "s3.region": "us-east-1", "s3.access-key-id": "user", "s3.secret-access-key": "pass",
	}
}

// status answers with an S3 error.
func status(code int, s3Code string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(code)
		_, _ = w.Write([]byte("<Error><Code>" + s3Code + "</Code><Message>broken on purpose</Message></Error>"))
	}
}

// hangUp closes the connection without an answer.
func hangUp(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// thenHangUp does what was asked and closes the connection instead of answering.
func thenHangUp(_ http.ResponseWriter, r *http.Request, healthy http.Handler) {
	healthy.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}
