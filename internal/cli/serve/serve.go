// Package serve carries out the verbs of the daemon: it connects what a daemon needs, runs it until it is told to stop, and
// lets operators see and change what it remembers.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"syscall"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/cli/runs"
	"github.com/dvcompactor/dvcompactor/internal/daemon"
	"github.com/dvcompactor/dvcompactor/internal/logkey"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/google/uuid"
	"go.uber.org/zap"
)

// Options of serve.
type Options struct {
	runs.Output
	Source  lake.Source
	Once    bool
	Shard   daemon.Shard
	Version string
	Now     func() time.Time
	// Listening is told the address of the HTTP server as soon as it answers; nil for nobody.
	Listening func(net.Addr)
}

// base is what policies do not say. The memory is shared by the runs that may go on at once.
func (s *lakes) base(version string) maintenance.Options {
	const least = 16 << 20
	o := s.settings.Defaults.Fill(maintenance.Options{Version: version})
	o.Memory = max(o.Memory/int64(s.config.Daemon.Parallelism), least)
	return o
}

// server is a daemon and what it needs.
type server struct {
	Options
	*lakes
	daemon  *daemon.Daemon
	metrics *daemon.Metrics
}

// Run serves until ctx ends, or with Once until nothing is due.
func Run(ctx context.Context, o Options) error {
	metrics := daemon.NewMetrics(o.Version)
	metrics.Expect(config.ActionCompact, config.ActionMigrate, config.ActionCheck)
	l, err := open(o.Source, metrics.Request)
	if err != nil {
		return err
	}
	defer l.close()
	states, err := l.states(ctx)
	if err != nil {
		return err
	}
	d := daemon.New(daemon.Options{
		Config: l.config, Catalogs: l.config.CatalogNames(), List: l.list, States: states, Shard: o.Shard, Once: o.Once, Log: o.Log, Metrics: metrics, Now: o.Now,
		Runner: daemon.NewTables(daemon.TableOptions{Catalog: l.catalog, Base: l.base(o.Version), Now: o.Now, Lease: daemon.LeaseOptions{Owner: owner(), Now: o.Now}}),
	})
	if err := metrics.Tables(d.Status, l.config.Daemon.TableLabel); err != nil {
		return err
	}
	s := &server{Options: o, lakes: l, daemon: d, metrics: metrics}
	if o.Once {
		return s.once(ctx)
	}
	return s.serve(ctx)
}

// owner names this process in leases.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), uuid.NewString()[:8])
}

// serve runs a daemon with its HTTP server.
func (s *server) serve(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.config.Daemon.Listen)
	if err != nil {
		return fmt.Errorf("daemon.listen: %w", err)
	}
	endProfiles, err := s.profiles(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer endProfiles()
	web := s.http(s.daemon.Handler(daemon.HandlerOptions{Token: s.config.Daemon.Token, Version: s.Version, Reload: s.reload}))
	failed := make(chan error, 1)
	go func() {
		if tls := s.config.Daemon.TLS; tls.CertFile != "" {
			failed <- web.ServeTLS(listener, tls.CertFile, tls.KeyFile)
		} else {
			failed <- web.Serve(listener)
		}
	}()
	s.Log.Info("listening", zap.String(logkey.Address, listener.Addr().String()), zap.Bool(logkey.TLS, s.config.Daemon.TLS.CertFile != ""))
	if s.Listening != nil {
		s.Listening(listener.Addr())
	}
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
			stop(fmt.Errorf("HTTP server: %w", err))
		}
	}()
	defer s.onHangup()()
	_, err = s.daemon.Run(work, context.WithoutCancel(ctx))
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), slow)
	defer cancel()
	err = errors.Join(err, web.Shutdown(closing))
	if cause := context.Cause(work); ctx.Err() == nil && cause != nil {
		err = errors.Join(cause, err)
	}
	return err // a daemon that was told to stop, and did, is done
}

// slow is how long an HTTP request, and the end of those that go on, is waited for.
const slow = 10 * time.Second

func (s *server) http(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: slow, ReadTimeout: slow, IdleTimeout: time.Minute, ErrorLog: zap.NewStdLog(s.Log)}
}

// reload reads the configuration again. One with mistakes changes nothing.
func (s *server) reload() error {
	c, err := s.Source.Load()
	if err == nil && len(c.Policies) == 0 {
		err = errors.New("the configuration has no policies")
	}
	s.metrics.Reloaded(err == nil)
	if err != nil {
		s.Log.Error("the configuration was not reloaded, the old one stays in effect", zap.String(logkey.Error, exit.Text(err)))
		return errors.New(exit.Text(err))
	}
	if !sameConnections(c, s.config) {
		s.Log.Warn("catalogs, storage, defaults, and daemon.listen, .pprof, .state, .token, .tls and .table_label stay as they were until a restart")
	}
	s.daemon.Reload(c)
	return nil
}

// sameConnections says whether two configurations agree in what is read at the start only.
func sameConnections(a, b *config.Config) bool {
	x, y := a.Daemon, b.Daemon
	return reflect.DeepEqual(a.Catalogs, b.Catalogs) && reflect.DeepEqual(a.Storage, b.Storage) && reflect.DeepEqual(a.Defaults, b.Defaults) &&
		x.Listen == y.Listen && x.Pprof == y.Pprof && x.State == y.State && x.Token == y.Token && x.TLS == y.TLS && x.TableLabel == y.TableLabel
}

// onHangup reloads on SIGHUP until the returned function is called.
func (s *server) onHangup() func() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		for range signals {
			_ = s.reload() // it is logged
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}
