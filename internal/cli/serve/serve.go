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
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/daemon"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/google/uuid"
	"go.uber.org/zap"
)

// Options of serve.
type Options struct {
	Source  lake.Source
	Once    bool
	Shard   daemon.Shard
	Version string
	Log     *zap.Logger
	Now     func() time.Time
	// Listening is told the address of the HTTP server as soon as it answers; nil for nobody.
	Listening func(net.Addr)
}

// server is what a daemon needs, connected.
type server struct {
	Options
	config *config.Config

	mu   sync.Mutex // the lake is not safe for concurrent use
	lake *lake.Lake
}

// open reads the configuration.
func open(o Options) (*server, error) {
	c, err := o.Source.Load()
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	if len(c.Policies) == 0 {
		return nil, exit.Usagef("the configuration has no policies: a daemon would have nothing to do")
	}
	return &server{Options: o, config: c, lake: lake.New(lake.NewSettings(c))}, nil
}

func (s *server) catalog(ctx context.Context, name string) (catalog.Catalog, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lake.Catalog(ctx, name)
}

// list returns the full names of the tables of a catalog.
func (s *server) list(ctx context.Context, name string) ([]string, error) {
	c, err := s.catalog(ctx, name)
	if err != nil {
		return nil, err
	}
	tables, err := c.List(ctx, nil)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(tables))
	for _, id := range tables {
		out = append(out, name+"."+strings.Join(id, "."))
	}
	return out, nil
}

// states opens what is remembered.
func (s *server) states(ctx context.Context) (daemon.States, error) {
	if s.config.Daemon.State == "" {
		return daemon.NewMemory(), nil
	}
	location, err := lake.Location(s.config.Daemon.State)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	store, err := s.lake.Store(ctx)
	if err != nil {
		return nil, err
	}
	return daemon.NewObjects(store, location), nil
}

func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lake.Close()
}

// base is what policies do not say. The memory is shared by the runs that may go on at once.
func (s *server) base() maintenance.Options {
	const least = 16 << 20
	o := s.lake.Settings().Defaults.Fill(maintenance.Options{Version: s.Version})
	o.Memory = max(o.Memory/int64(s.config.Daemon.Parallelism), least)
	return o
}

// Run serves until ctx ends, or with Once until nothing is due.
func Run(ctx context.Context, o Options) error {
	s, err := open(o)
	if err != nil {
		return err
	}
	defer s.close()
	states, err := s.states(ctx)
	if err != nil {
		return err
	}
	metrics := daemon.NewMetrics(o.Version)
	metrics.Expect(config.ActionCompact, config.ActionMigrate, config.ActionCheck)
	d := daemon.New(daemon.Options{
		Config: s.config, Catalogs: s.config.CatalogNames(), List: s.list, States: states, Shard: o.Shard, Once: o.Once, Log: o.Log, Metrics: metrics, Now: o.Now,
		Runner: daemon.NewTables(daemon.TableOptions{Catalog: s.catalog, Base: s.base(), Now: o.Now, Lease: daemon.LeaseOptions{Owner: owner(), Now: o.Now}}),
	})
	if o.Once {
		runs, err := d.Run(ctx, context.WithoutCancel(ctx))
		return errors.Join(summary(runs), exit.Interruption(ctx, err))
	}
	if err := metrics.Tables(d.Status, s.config.Daemon.TableLabel); err != nil {
		return err
	}
	return s.serve(ctx, d, metrics)
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
func (s *server) serve(ctx context.Context, d *daemon.Daemon, metrics *daemon.Metrics) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.config.Daemon.Listen)
	if err != nil {
		return fmt.Errorf("daemon.listen: %w", err)
	}
	reload := func() error { return s.reload(d, metrics) }
	const slow = 10 * time.Second
	web := &http.Server{
		Handler: d.Handler(daemon.HandlerOptions{Token: s.config.Daemon.Token, Version: s.Version, Reload: reload}), ReadHeaderTimeout: slow, ReadTimeout: slow, IdleTimeout: time.Minute,
		ErrorLog: zap.NewStdLog(s.Log),
	}
	failed := make(chan error, 1)
	go func() {
		if tls := s.config.Daemon.TLS; tls.CertFile != "" {
			failed <- web.ServeTLS(listener, tls.CertFile, tls.KeyFile)
		} else {
			failed <- web.Serve(listener)
		}
	}()
	s.Log.Info("listening", zap.String("address", listener.Addr().String()), zap.Bool("tls", s.config.Daemon.TLS.CertFile != ""))
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
	defer s.onHangup(reload)()
	_, err = d.Run(work, context.WithoutCancel(ctx))
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), slow)
	defer cancel()
	err = errors.Join(err, web.Shutdown(closing))
	if cause := context.Cause(work); ctx.Err() == nil && cause != nil {
		err = errors.Join(cause, err)
	}
	return err // a daemon that was told to stop, and did, is done
}

// reload reads the configuration again. One with mistakes changes nothing.
func (s *server) reload(d *daemon.Daemon, metrics *daemon.Metrics) error {
	c, err := s.Source.Load()
	if err == nil && len(c.Policies) == 0 {
		err = errors.New("the configuration has no policies")
	}
	metrics.Reloaded(err == nil)
	if err != nil {
		s.Log.Error("the configuration was not reloaded, the old one stays in effect", zap.String("error", exit.Text(err)))
		return errors.New(exit.Text(err))
	}
	d.Reload(c)
	return nil
}

// onHangup reloads on SIGHUP until the returned function is called.
func (s *server) onHangup(reload func() error) func() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		for range signals {
			_ = reload() // it is logged
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

// summary makes one error of the runs of a daemon that ran once.
func summary(runs []daemon.Run) error {
	count := map[daemon.Result]int{}
	for _, r := range runs {
		count[r.Result]++
	}
	bad := count[daemon.ResultFailed] + count[daemon.ResultHalted] + count[daemon.ResultConflict]
	text := fmt.Errorf("%d of %d runs failed, %d were halted, %d lost every race, %d found damage", count[daemon.ResultFailed], len(runs), count[daemon.ResultHalted],
		count[daemon.ResultConflict], count[daemon.ResultDamaged])
	switch {
	case bad > 0 && bad < len(runs):
		return exit.With(exit.Partial, text)
	case count[daemon.ResultFailed] > 0:
		return exit.With(exit.Failed, text)
	case count[daemon.ResultHalted] > 0:
		return exit.With(exit.Refused, text)
	case count[daemon.ResultConflict] > 0:
		return exit.With(exit.Conflicts, text)
	case count[daemon.ResultDamaged] > 0:
		return exit.With(exit.Damaged, text)
	}
	return nil
}
