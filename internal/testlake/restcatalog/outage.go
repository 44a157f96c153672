package restcatalog

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/testlake/politely"
	"github.com/stretchr/testify/require"
)

// listen starts to serve at an address.
func (s *Server) listen(t testing.TB, address string) {
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	s.server = &httptest.Server{Listener: listener, Config: &http.Server{
		Handler: politely.Handler(s),
	}}
	if s.options.TLS == nil {
		s.server.Start()
		return
	}
	s.server.TLS = s.options.TLS
	s.server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that it refuses
	s.server.StartTLS()
}

// Stop makes the catalog unreachable: connections to it are refused.
func (s *Server) Stop() { s.server.Close() }

// Resume makes it reachable again after Stop, at the same address and with everything that it knew.
func (s *Server) Resume(t testing.TB) { s.listen(t, s.server.Listener.Addr().String()) }

// Later answers with a status and a Retry-After.
func Later(code int, retryAfter string) Fault {
	return func(w http.ResponseWriter, r *http.Request, healthy http.Handler) {
		w.Header().Set("Retry-After", retryAfter)
		Status(code)(w, r, healthy)
	}
}
