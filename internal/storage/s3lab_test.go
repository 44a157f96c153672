package storage_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/testlake/s3server"
)

// s3Lab is an S3 server that breaks replies on demand.
type s3Lab struct{ *s3server.Server }

// fault replaces the handler of one request; nil means the healthy one.
type fault func(w http.ResponseWriter, r *http.Request, healthy http.Handler)

// newS3Lab starts a server with the buckets lake and other.
func newS3Lab(t *testing.T) *s3Lab { return &s3Lab{s3server.New(t, "lake", "other")} }

// breakWith asks choose about every following request, which counts from 1, and forgets the recorded ones.
func (l *s3Lab) breakWith(choose func(n int, r *http.Request) fault) {
	l.Take()
	if choose == nil {
		l.Use(nil)
		return
	}
	var n atomic.Int64
	l.Use(func(healthy http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if f := choose(int(n.Add(1)), r); f != nil {
				f(w, r, healthy)
				return
			}
			healthy.ServeHTTP(w, r)
		})
	})
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
