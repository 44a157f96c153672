package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/logkey"
	"go.uber.org/zap"
)

// seek keeps looking for the tables of each catalog in the background, so that one that does not answer holds up nobody. The
// returned function waits until that has ended, which it does with ctx.
func (d *Daemon) seek(ctx context.Context) func() {
	var seeking sync.WaitGroup
	for _, name := range d.o.Catalogs {
		seeking.Go(func() {
			for ctx.Err() == nil {
				_ = d.look(ctx, name) // it is logged, and in the status
				nudge(d.wake)
				wait(ctx, d.interval(name))
			}
		})
	}
	seeking.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-d.changed:
				if err := d.fill(ctx); err == nil {
					d.o.Log.Info("configuration reloaded")
				}
				nudge(d.wake)
			}
		}
	})
	return seeking.Wait
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// interval is how long after a listing of a catalog comes the next one: one that did not answer is asked again soon.
func (d *Daemon) interval(catalog string) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	interval := d.config.Daemon.Discovery
	if interval <= 0 {
		interval = config.DefaultDaemon().Discovery
	}
	if d.missing[catalog] != "" {
		return min(interval, longestPause)
	}
	return interval
}

// discover looks for the tables of all catalogs once.
func (d *Daemon) discover(ctx context.Context) error {
	errs := make([]error, len(d.o.Catalogs))
	var looking sync.WaitGroup
	for i, name := range d.o.Catalogs {
		looking.Go(func() { errs[i] = d.look(ctx, name) })
	}
	looking.Wait()
	return errors.Join(errs...)
}

// look lists the tables of a catalog and puts them on the roster. A catalog that does not answer keeps the tables it had.
func (d *Daemon) look(ctx context.Context, name string) error {
	tables, err := d.o.List(ctx, name)
	if err != nil {
		why := config.Redact(err.Error())
		d.mu.Lock()
		d.missing[name] = why
		d.mu.Unlock()
		if ctx.Err() == nil {
			d.o.Log.Error("catalog does not list its tables", zap.String(logkey.Catalog, name), zap.String(logkey.Error, why))
		}
		return fmt.Errorf("catalog %s: %w", name, err)
	}
	d.mu.Lock()
	delete(d.missing, name)
	d.listed[name] = tables
	d.mu.Unlock()
	d.reread(ctx, name)
	return d.fill(ctx)
}

// reread learns which blocked tables of a catalog an operator resumed, and of which the state can be read again.
func (d *Daemon) reread(ctx context.Context, catalog string) {
	d.mu.Lock()
	var blocked []Key
	for _, s := range d.roster.States() {
		if s.Catalog() == catalog && s.Record.Blocked() != "" && !s.Running && !d.owed[s.Key] { // else it may be blocked for a reason that is not stored yet
			blocked = append(blocked, s.Key)
		}
	}
	d.mu.Unlock()
	stored, failed := d.remember(ctx, blocked)
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.o.Now()
	for _, k := range blocked {
		known, _ := d.roster.Record(k)
		r, ok := stored[k]
		if !ok && known.Unread == "" {
			r = known // only an order was there, and is gone
			r.Ordered = ""
		}
		switch {
		case failed[k] != nil:
		case known.Unread != "":
			d.roster.Replace(k, now, r)
		case !known.sameBlock(r):
			d.roster.Block(k, now, r)
		}
	}
}

// fill puts the tables on the roster, with what is remembered of those that are new on it. One whose state cannot be read is
// left alone until it can, and is part of the error.
func (d *Daemon) fill(ctx context.Context) error {
	d.filling.Lock()
	defer d.filling.Unlock()
	c, tables, unknown := d.unknown()
	known, failed := d.remember(ctx, unknown)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	defer d.settle(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	fresh, err := d.roster.Set(d.o.Now(), tables, c.PolicyFor, func(k Key) (Record, bool) {
		r, ok := known[k]
		return r, ok
	})
	for _, k := range fresh {
		if failed[k] == nil && !d.o.Once { // which runs what was never run at once
			d.owed[k] = true
		}
	}
	for k, err := range failed {
		d.roster.Replace(k, d.o.Now(), unreadable(err))
	}
	d.ready = d.ready || len(d.listed) > 0 && !d.knowsNothing()
	if unread := unreadStates(failed); unread != nil {
		d.o.Log.Error("tables are left alone", zap.String(logkey.Error, config.Redact(unread.Error())))
		return errors.Join(err, unread)
	}
	return err
}

// settle remembers what could not be remembered before, and when tables were seen that are new: a daemon that begins after their
// first scheduled time has to know that they are due.
func (d *Daemon) settle(ctx context.Context) {
	d.mu.Lock()
	owed := slices.Collect(maps.Keys(d.owed))
	d.mu.Unlock()
	failed := each(owed, func(k Key) error { return d.pay(ctx, k) })
	for k, err := range failed {
		if ctx.Err() == nil {
			d.o.Log.Error("tables are not remembered yet", zap.Int(logkey.Tables, len(failed)), zap.String(logkey.Table, k.Table), zap.String(logkey.Error, config.Redact(err.Error())))
		}
		return // one of them says enough
	}
}

// pay remembers what is known of a key. It does so again when a run came to its end at the same time, whose record it may have
// written over.
func (d *Daemon) pay(ctx context.Context, k Key) error {
	for {
		record, on := d.known(k)
		if !on {
			break
		}
		merged, err := d.merge(ctx, k, record)
		if err != nil {
			return err
		}
		merged.Runs = withoutTrail(merged.Runs, ResultLocked)
		merged.first = len(merged.Runs) == 0
		if err := d.o.States.Save(ctx, k, merged); err != nil {
			return err
		}
		if now, _ := d.known(k); now.sameRuns(record) {
			break
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.owed, k)
	return nil
}

// known returns what is known of a key, if its state could be read.
func (d *Daemon) known(k Key) (Record, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, on := d.roster.Record(k)
	return r, on && r.Unread == ""
}

// knowsNothing says whether there are tables, and what is remembered can be read of none: there is nothing to work on.
func (d *Daemon) knowsNothing() bool {
	states := d.roster.States()
	return len(states) > 0 && !slices.ContainsFunc(states, func(s State) bool { return s.Record.Unread == "" })
}

// unreadStates makes one error of those of many tables.
func unreadStates(failed map[Key]error) error {
	const most = 5
	var errs []error
	for _, k := range slices.SortedFunc(maps.Keys(failed), Key.compare) {
		if len(errs) == most {
			errs = append(errs, fmt.Errorf("and %d more", len(failed)-most))
			break
		}
		errs = append(errs, fmt.Errorf("%s is left alone, what is remembered of it cannot be read: %w", k.Table, failed[k]))
	}
	return errors.Join(errs...)
}

// unknown returns the configuration, all tables, and the keys that have a policy and are not on the roster yet.
func (d *Daemon) unknown() (*config.Config, []string, []Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var tables []string
	for _, name := range d.o.Catalogs {
		tables = append(tables, d.listed[name]...)
	}
	var keys []Key
	for _, table := range slices.DeleteFunc(slices.Clone(tables), func(t string) bool { return !d.o.Shard.Has(t) }) {
		for _, check := range []bool{false, true} {
			k := Key{table, check}
			if _, on := d.roster.Record(k); on {
				continue
			}
			if p, _ := d.config.PolicyFor(table, check); p != nil {
				keys = append(keys, k)
			}
		}
	}
	return d.config, tables, keys
}

// remember reads what is remembered of keys, and says of which it cannot be read.
func (d *Daemon) remember(ctx context.Context, keys []Key) (map[Key]Record, map[Key]error) {
	var mu sync.Mutex
	out := map[Key]Record{}
	failed := each(keys, func(k Key) error {
		r, ok, err := d.o.States.Load(ctx, k)
		mu.Lock()
		defer mu.Unlock()
		if err == nil && ok {
			out[k] = r
		}
		return err
	})
	return out, failed
}

// each does something with every key, with several at once, and returns the errors.
func each(keys []Key, do func(Key) error) map[Key]error {
	const atOnce = 16
	var mu sync.Mutex
	failed := map[Key]error{}
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, k := range keys {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := do(k); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[k] = err
			}
		})
	}
	wg.Wait()
	return failed
}
