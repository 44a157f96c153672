// Package politely lets servers of tests hear a request out before they answer it. A server that answers without reading
// the body, as one that refuses does, closes the connection on a client that still sends: the client is told that the
// connection was reset and may never see the answer.
package politely

import (
	"io"
	"net/http"
)

// Handler reads what next leaves of the body of a request before the first byte of the answer. A handler that ends the
// connection instead of answering reads nothing.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&listener{ResponseWriter: w, body: r.Body}, r)
	})
}

// listener is a response that begins when the body of the request has ended.
type listener struct {
	http.ResponseWriter
	body  io.Reader
	begun bool
}

// WriteHeader implements http.ResponseWriter.
func (l *listener) WriteHeader(code int) {
	l.hearOut()
	l.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (l *listener) Write(p []byte) (int, error) {
	l.hearOut()
	return l.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (l *listener) Unwrap() http.ResponseWriter { return l.ResponseWriter }

func (l *listener) hearOut() {
	if l.begun {
		return
	}
	l.begun = true
	_, _ = io.Copy(io.Discard, l.body) // the client may be gone already
}
