package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
	"go.uber.org/zap"
)

// Options of a daemon.
type Options struct {
	Config   *config.Config
	Catalogs []string // names of the catalogs to look for tables in
	// List returns the tables of a catalog by their full names. It is called for several catalogs at once.
	List   func(ctx context.Context, catalog string) ([]string, error)
	Runner Runner
	States States
	Shard  Shard
	// Once runs everything that is due, or was never run, and ends.
	Once    bool
	Log     *zap.Logger
	Metrics *Metrics
	Now     func() time.Time
}

// Daemon runs policies until it is stopped.
type Daemon struct {
	o Options

	mu       sync.Mutex
	config   *config.Config
	roster   *Roster
	owed     map[Key]bool        // what is known of them is not remembered yet
	listed   map[string][]string // tables by catalog, of the last listing that succeeded
	missing  map[string]string   // why a catalog cannot be listed, by its name
	started  time.Time
	ready    bool // what is remembered of the tables of a catalog was read
	stopping bool
	ticked   time.Time
	finished []Run // of a daemon that runs once

	filling sync.Mutex     // held while tables are put on the roster
	alerts  sync.WaitGroup // being told
	changed chan struct{}  // the configuration
	wake    chan struct{}  // there may be something to do
}

// New makes a daemon. Nothing is connected to yet.
func New(o Options) *Daemon {
	d := &Daemon{
		o: o, config: o.Config, roster: NewRoster(o.Config.Daemon, o.Shard), owed: map[Key]bool{}, listed: map[string][]string{}, missing: map[string]string{},
		started: o.Now(), changed: make(chan struct{}, 1), wake: make(chan struct{}, 1),
	}
	d.roster.Eager = o.Once
	return d
}

// Run works until ctx ends, or with Once until nothing is due. When ctx ends no further table is begun, what is being
// committed is ended, and what was uploaded in vain is removed; after the grace of the configuration, or when abort ends,
// nothing more is waited for. With Once it returns the runs, and an error that says which tables could not be looked at.
func (d *Daemon) Run(ctx, abort context.Context) ([]Run, error) {
	defer d.alerts.Wait()
	work, cancel := context.WithCancel(ctx)
	var away error
	if d.o.Once {
		away = d.discover(ctx)
	} else {
		defer d.seek(work)()
	}
	defer cancel()
	ended, over, running := make(chan struct{}), make(chan struct{}), 0
	defer close(over)
	for {
		running += d.begin(work, ended, over)
		if running == 0 && d.o.Once {
			return d.runs(), away
		}
		timer := time.NewTimer(d.pause())
		select {
		case <-ended:
			running--
		case <-ctx.Done():
			timer.Stop()
			return d.runs(), errors.Join(away, d.wind(abort, ended, running))
		case <-timer.C:
		case <-d.wake:
		}
		timer.Stop()
	}
}

// runs returns those of a daemon that runs once, with those that did not take place because the table is blocked.
func (d *Daemon) runs() []Run {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.o.Once {
		return nil
	}
	out := slices.Clone(d.finished)
	for _, s := range d.roster.Held(d.o.Now()) {
		if s.Record.Unread == "" {
			out = append(out, skipped(d.o.Now(), Job{Key: s.Key, Policy: s.Policy}, s.Record))
		}
	}
	return out
}

// Config returns the configuration in effect.
func (d *Daemon) Config() *config.Config {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.config
}

// longestPause bounds how long the daemon sleeps: clocks are put forward, and back.
const longestPause = 30 * time.Second

// pause is how long there is nothing to do.
func (d *Daemon) pause() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.o.Now()
	d.ticked = now
	at := d.roster.Wake(now)
	if at.IsZero() {
		return longestPause
	}
	return min(max(at.Sub(now), time.Millisecond), longestPause)
}

// begin starts what may begin now, and returns how many runs that are. Each tells ended when it is done and remembered, unless
// over is closed, after which nobody waits for it.
func (d *Daemon) begin(work context.Context, ended chan<- struct{}, over <-chan struct{}) int {
	if work.Err() != nil {
		return 0
	}
	d.mu.Lock()
	jobs := d.roster.Next(d.o.Now())
	deadline := d.config.Daemon.Deadline
	d.mu.Unlock()
	for _, j := range jobs {
		go func() {
			d.done(work, j, d.one(work, j, deadline))
			select {
			case ended <- struct{}{}:
			case <-over:
			}
		}()
	}
	return len(jobs)
}

// wind waits for what is running.
func (d *Daemon) wind(abort context.Context, ended <-chan struct{}, running int) error {
	d.mu.Lock()
	d.stopping = true
	grace := d.config.Daemon.Grace
	d.mu.Unlock()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for running > 0 {
		select {
		case <-ended:
			running--
		case <-abort.Done():
			return fmt.Errorf("stopped at once, with %d tables being worked on", running)
		case <-timer.C:
			return fmt.Errorf("stopped after %v of grace, with %d tables being worked on", grace, running)
		}
	}
	return nil
}

// Reload replaces the configuration. Catalogs, stores, the state and the HTTP server stay what they were.
func (d *Daemon) Reload(c *config.Config) {
	d.mu.Lock()
	d.config = c
	d.roster.Parallelism, d.roster.PerCatalog, d.roster.Failures = c.Daemon.Parallelism, c.Daemon.ParallelismPerCatalog, c.Daemon.Failures
	d.mu.Unlock()
	nudge(d.changed)
}

// nudge sends without waiting: one that nobody took yet is as good as two.
func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
