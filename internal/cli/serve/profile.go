package serve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"

	"github.com/dvcompactor/dvcompactor/internal/logkey"
	"go.uber.org/zap"
)

// profiles serves the profiles of the program on an address of their own, when the configuration has one. The returned
// function ends that at once: nobody waits for a profile when a daemon stops.
func (s *server) profiles(ctx context.Context) (func(), error) {
	if s.config.Daemon.Pprof == "" {
		return func() {}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.config.Daemon.Pprof)
	if err != nil {
		return nil, fmt.Errorf("daemon.pprof: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	web := s.http(mux)
	go func() { _ = web.Serve(listener) }() // until it is closed
	s.Log.Info("profiles", zap.String(logkey.Address, listener.Addr().String()))
	return func() { _ = web.Close() }, nil
}
