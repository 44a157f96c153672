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
	// List returns the tables of a catalog by their full names.
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
	records  map[Key]Record      // read from the states, of keys that are not on the roster yet
	listed   map[string][]string // tables by catalog, of the last listing that succeeded
	missing  map[string]string   // why a catalog cannot be listed, by its name
	started  time.Time
	stopping bool
	ticked   time.Time
	finished []Run // of a daemon that runs once

	reload chan *config.Config
	wake   chan struct{}
}

// New makes a daemon. Nothing is connected to yet.
func New(o Options) *Daemon {
	return &Daemon{
		o: o, config: o.Config, roster: NewRoster(o.Config.Daemon, o.Shard), records: map[Key]Record{}, listed: map[string][]string{}, missing: map[string]string{},
		started: o.Now(), reload: make(chan *config.Config, 1), wake: make(chan struct{}, 1),
	}
}

// result is a run that ended.
type result struct {
	job Job
	run Run
}

// Run works until ctx ends, or with Once until nothing is due. When ctx ends no further table is begun, what is being
// committed is ended, and what was uploaded in vain is removed; after the grace of the configuration, or when abort ends,
// nothing more is waited for.
func (d *Daemon) Run(ctx, abort context.Context) ([]Run, error) {
	if err := d.discover(ctx); err != nil {
		return nil, err
	}
	results := make(chan result)
	running := 0
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	discovery := d.every(d.Config().Daemon.Discovery)
	defer discovery.Stop()
	for {
		running += d.begin(ctx, work, results)
		if running == 0 && (ctx.Err() != nil || d.o.Once) {
			return d.finished, nil
		}
		timer := time.NewTimer(d.pause())
		select {
		case r := <-results:
			running--
			d.done(work, r)
		case <-ctx.Done():
			timer.Stop()
			return d.finished, d.wind(abort, results, running)
		case c := <-d.reload:
			d.adopt(ctx, c)
		case <-discovery.C:
			if err := d.discover(ctx); err != nil && ctx.Err() == nil {
				d.o.Log.Error("no table found", zap.Error(err))
			}
		case <-timer.C:
		case <-d.wake:
		}
		timer.Stop()
	}
}

func (d *Daemon) every(interval time.Duration) *time.Ticker {
	if interval <= 0 {
		interval = time.Minute
	}
	return time.NewTicker(interval)
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

// begin starts what may begin now, and returns how many runs that are.
func (d *Daemon) begin(ctx, work context.Context, results chan<- result) int {
	if ctx.Err() != nil {
		return 0
	}
	d.mu.Lock()
	jobs := d.roster.Next(d.o.Now())
	deadline := d.config.Daemon.Deadline
	d.mu.Unlock()
	for _, j := range jobs {
		go func() {
			results <- result{j, d.one(work, j, deadline)}
		}()
	}
	return len(jobs)
}

// one works on one table, unless an operator paused it meanwhile.
func (d *Daemon) one(ctx context.Context, j Job, deadline time.Duration) Run {
	if r, ok, err := d.o.States.Load(ctx, j.Key); err == nil && ok && r.Blocked() != "" {
		return Run{Started: d.o.Now(), Policy: j.Policy.Name, Action: j.Policy.Action, Result: ResultSkipped, Error: r.Blocked(), blocked: &r}
	}
	if deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, deadline)
		defer cancel()
	}
	return d.o.Runner.Run(ctx, j)
}

// done notes how a run ended, and remembers it.
func (d *Daemon) done(ctx context.Context, r result) {
	now := d.o.Now()
	d.mu.Lock()
	record, known := d.roster.Done(r.job.Key, now, r.run)
	if r.run.blocked != nil {
		record, known = d.roster.Block(r.job.Key, now, r.run.blocked.Paused, r.run.blocked.Halted)
	}
	if d.o.Once {
		d.finished = append(d.finished, r.run)
	}
	d.mu.Unlock()
	d.o.Metrics.Observe(r.run)
	d.log(r)
	if !known || r.run.blocked != nil {
		return
	}
	if err := d.o.States.Save(context.WithoutCancel(ctx), r.job.Key, record); err != nil {
		d.o.Log.Error("the run is not remembered", zap.String("table", r.job.Table), zap.Error(err))
	}
	d.alert(r, record)
}

// log writes the one summary line of a run.
func (d *Daemon) log(r result) {
	log := d.o.Log.Info
	switch r.run.Result {
	case ResultFailed, ResultHalted, ResultDamaged:
		log = d.o.Log.Error
	case ResultConflict:
		log = d.o.Log.Warn
	}
	log("run finished", zap.String("table", r.job.Table), zap.String("policy", r.run.Policy), zap.String("action", r.run.Action), zap.String("result", string(r.run.Result)),
		zap.String("why", r.run.Why), zap.String("error", r.run.Error), zap.String("plan_id", r.run.PlanID), zap.Int64p("snapshot_before", r.run.SnapshotBefore),
		zap.Int64p("snapshot_after", r.run.SnapshotAfter), zap.Bool("committed", r.run.Committed), zap.Int64("requests", r.run.Requests),
		zap.Int64("bytes", r.run.Bytes), zap.Float64("seconds", r.run.Seconds), zap.Time("slot", r.job.Slot))
}

// wind waits for what is running.
func (d *Daemon) wind(abort context.Context, results <-chan result, running int) error {
	d.mu.Lock()
	d.stopping = true
	grace := d.config.Daemon.Grace
	d.mu.Unlock()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for running > 0 {
		select {
		case r := <-results:
			running--
			d.done(abort, r)
		case <-abort.Done():
			return fmt.Errorf("stopped at once, with %d tables being worked on", running)
		case <-timer.C:
			return fmt.Errorf("stopped after %v of grace, with %d tables being worked on", grace, running)
		}
	}
	return nil
}

// Reload replaces the configuration. Catalogs and where states are kept stay what they were.
func (d *Daemon) Reload(c *config.Config) {
	select {
	case <-d.reload: // an older one that nobody took
	default:
	}
	d.reload <- c
}

func (d *Daemon) adopt(ctx context.Context, c *config.Config) {
	d.mu.Lock()
	d.config = c
	d.roster.Parallelism, d.roster.PerCatalog, d.roster.Failures = c.Daemon.Parallelism, c.Daemon.ParallelismPerCatalog, c.Daemon.Failures
	d.mu.Unlock()
	if err := d.fill(ctx); err != nil {
		d.o.Log.Error("the new configuration is not in effect for all tables", zap.Error(err))
		return
	}
	d.o.Log.Info("configuration reloaded")
}

// discover lists the tables of every catalog. One that does not answer keeps the tables it had; it is an error when none
// answers and none ever did.
func (d *Daemon) discover(ctx context.Context) error {
	var errs []error
	for _, name := range d.o.Catalogs {
		tables, err := d.o.List(ctx, name)
		d.mu.Lock()
		if err != nil {
			errs = append(errs, fmt.Errorf("catalog %s: %w", name, err))
			d.missing[name] = config.Redact(err.Error())
		} else {
			delete(d.missing, name)
			d.listed[name] = tables
		}
		d.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			d.o.Log.Error("catalog does not list its tables", zap.String("catalog", name), zap.String("error", config.Redact(err.Error())))
		}
	}
	if err := d.unblock(ctx); err != nil {
		errs = append(errs, err)
	}
	if len(d.listed) == 0 {
		return errors.Join(errs...)
	}
	return d.fill(ctx)
}

// unblock learns which paused and halted tables an operator resumed.
func (d *Daemon) unblock(ctx context.Context) error {
	d.mu.Lock()
	states := d.roster.States()
	d.mu.Unlock()
	for _, s := range states {
		if s.Record.Blocked() == "" {
			continue
		}
		r, ok, err := d.o.States.Load(ctx, s.Key)
		if err != nil {
			return err
		}
		if ok && (r.Paused != s.Record.Paused || r.Halted != s.Record.Halted) {
			d.mu.Lock()
			d.roster.Block(s.Key, d.o.Now(), r.Paused, r.Halted)
			d.mu.Unlock()
		}
	}
	return nil
}

// fill puts the tables on the roster, with what is remembered of those that are new on it.
func (d *Daemon) fill(ctx context.Context) error {
	d.mu.Lock()
	c := d.config
	var tables []string
	for _, name := range d.o.Catalogs {
		tables = append(tables, d.listed[name]...)
	}
	var unknown []Key
	for _, table := range tables {
		for _, check := range []bool{false, true} {
			k := Key{table, check}
			if _, on := d.roster.Record(k); !on && d.o.Shard.Has(table) {
				if p, _ := c.PolicyFor(table, check); p != nil {
					unknown = append(unknown, k)
				}
			}
		}
	}
	d.mu.Unlock()
	known, err := d.remember(ctx, unknown)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.o.Now()
	_, err = d.roster.Set(now, tables, c.PolicyFor, func(k Key) (Record, bool) {
		r, ok := known[k]
		if !ok && d.o.Once {
			return Record{Slot: now.Add(-longestRound)}, true // never run: it is due
		}
		return r, ok
	})
	return err
}

// remember reads what is remembered of keys, several at once.
func (d *Daemon) remember(ctx context.Context, keys []Key) (map[Key]Record, error) {
	const atOnce = 16
	var mu sync.Mutex
	var first error
	out := map[Key]Record{}
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, k := range keys {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			r, ok, err := d.o.States.Load(ctx, k)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil && first == nil:
				first = err
			case ok:
				out[k] = r
			}
		})
	}
	wg.Wait()
	return out, first
}

// Status is how the daemon stands.
type Status struct {
	Now      time.Time
	Started  time.Time
	Ready    bool
	Stopping bool
	Healthy  bool
	Missing  map[string]string // why catalogs cannot be listed, by their names
	Tables   []State
}

// Status returns how the daemon stands.
func (d *Daemon) Status() Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.o.Now()
	s := Status{Now: now, Started: d.started, Stopping: d.stopping, Ready: len(d.listed) > 0 && !d.stopping, Tables: d.roster.States(), Missing: map[string]string{}}
	s.Healthy = d.ticked.IsZero() || now.Sub(d.ticked) < 4*longestPause
	for name, why := range d.missing {
		s.Missing[name] = why
	}
	for i := range s.Tables {
		s.Tables[i].Record.Runs = slices.Clone(s.Tables[i].Record.Runs)
	}
	return s
}
