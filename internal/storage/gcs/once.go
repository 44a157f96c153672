package gcs

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
)

// onceKey is the key of a context under which one request is sent and no other.
type onceKey struct{}

// once keeps a reader of the client from asking for the rest of a reply that broke off: it does so at once, without end
// and without counting. The caller repeats the read, with pauses and a bound.
func once(ctx context.Context) context.Context {
	return context.WithValue(ctx, onceKey{}, new(atomic.Bool))
}

// errBrokeOff is the end of a reply before its announced length.
var errBrokeOff = fmt.Errorf("%w: the reply broke off", io.ErrUnexpectedEOF)

// single is a transport that keeps the promise of [once].
type single struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (s single) RoundTrip(r *http.Request) (*http.Response, error) {
	if sent, ok := r.Context().Value(onceKey{}).(*atomic.Bool); ok && sent.Swap(true) {
		return nil, errBrokeOff
	}
	return s.base.RoundTrip(r)
}
