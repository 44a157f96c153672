package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/logkey"
	"go.uber.org/zap"
)

// patience is how long states are waited for. A run goes on without being remembered after that.
const patience = 30 * time.Second

// one works on one table, unless an operator blocked it meanwhile, or nobody knows whether, or another daemon was quicker.
func (d *Daemon) one(ctx context.Context, j Job, deadline time.Duration) Run {
	asking, enough := context.WithTimeout(ctx, patience)
	r, ok, err := d.o.States.Load(asking, j.Key)
	enough()
	now := d.o.Now()
	switch {
	case ctx.Err() != nil: // the daemon stops
		return Run{Started: now, Policy: j.Policy.Name, Action: j.Policy.Action, Result: ResultInterrupted, Error: ctx.Err().Error()}
	case err != nil:
		return skipped(now, j, unreadable(err))
	case ok && r.Blocked() != "":
		return skipped(now, j, r)
	case ok && j.made(now, r):
		return Run{Started: now, Policy: j.Policy.Name, Action: j.Policy.Action, Result: ResultSkipped, taken: &r}
	}
	j.taken = func(ctx context.Context) *Record {
		if r, ok, err := d.o.States.Load(ctx, j.Key); err == nil && ok && j.made(d.o.Now(), r) {
			return &r
		}
		return nil
	}
	if deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, deadline)
		defer cancel()
	}
	return d.o.Runner.Run(ctx, j)
}

// skipped is a run that did not take place.
func skipped(now time.Time, j Job, r Record) Run {
	return Run{Started: now, Policy: j.Policy.Name, Action: j.Policy.Action, Result: ResultSkipped, Error: r.Blocked(), blocked: &r}
}

// unreadable is what is taken for the record of a table whose state cannot be read: it may be paused or halted.
func unreadable(err error) Record { return Record{Unread: config.Redact(err.Error())} }

// done notes how a run ended, and remembers it.
func (d *Daemon) done(ctx context.Context, j Job, run Run) {
	defer nudge(d.wake)
	defer d.release(ctx, j, run)
	record, known := d.note(j, run)
	if run.taken != nil {
		d.o.Log.Info("another daemon made the run", zap.String(logkey.Table, j.Table), zap.String(logkey.Policy, run.Policy), zap.Time(logkey.Slot, j.Slot))
		return
	}
	d.o.Metrics.Observe(run)
	d.log(j, run)
	if !known || run.Result == ResultLocked { // who holds the lease will remember more
		return
	}
	saving, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	record, err := d.merge(saving, j.Key, record)
	if err == nil {
		err = d.o.States.Save(saving, j.Key, record)
	}
	if err != nil {
		d.owe(j.Key)
		d.o.Log.Error("the run is not remembered yet", zap.String(logkey.Table, j.Table), zap.String(logkey.Error, config.Redact(err.Error())))
	}
	d.alert(j, run, record)
}

// release gives the lease of a run back, now that the next daemon can know of it.
func (d *Daemon) release(ctx context.Context, j Job, run Run) {
	if run.lease == nil {
		return
	}
	if err := run.lease.Release(ctx); err != nil {
		d.o.Log.Error("the lease was not given back, so that the table is locked until it expires", zap.String(logkey.Table, j.Table), zap.String(logkey.Error, config.Redact(err.Error())))
	}
}

// note tells the roster of a run. It returns what is to be remembered, when there is something.
func (d *Daemon) note(j Job, run Run) (Record, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.o.Now()
	if run.taken != nil {
		d.roster.Adopt(j.Key, now, *run.taken)
		return Record{}, false
	}
	if run.blocked == nil {
		if d.o.Once {
			d.finished = append(d.finished, run)
		}
		return d.roster.Done(j.Key, now, run)
	}
	d.roster.Skip(j.Key, now, *run.blocked)
	return Record{}, false
}

// merge adds to a record what an operator ordered, and another daemon remembered, while the table was being worked on. A record
// that cannot be read is not written over.
func (d *Daemon) merge(ctx context.Context, k Key, record Record) (Record, error) {
	stored, ok, err := d.o.States.Load(ctx, k)
	if err != nil {
		return record, fmt.Errorf("%w; it is not written over", err)
	}
	if !ok {
		return record, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	merged := record.with(stored, d.o.Now())
	if !merged.sameBlock(record) {
		d.roster.Block(k, d.o.Now(), merged)
	}
	return merged, nil
}

// owe notes that what is known of a key has to be remembered as soon as that can be done.
func (d *Daemon) owe(k Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.owed[k] = true
}

// log writes the one summary line of a run.
func (d *Daemon) log(j Job, run Run) {
	log := d.o.Log.Info
	switch run.Result {
	case ResultFailed, ResultHalted, ResultDamaged:
		log = d.o.Log.Error
	case ResultConflict:
		log = d.o.Log.Warn
	}
	if run.blocked != nil && run.blocked.Unread != "" {
		log = d.o.Log.Error
	}
	log("run finished", zap.String(logkey.Table, j.Table), zap.String(logkey.Policy, run.Policy), zap.String(logkey.Action, run.Action), zap.String(logkey.Result, string(run.Result)),
		zap.String(logkey.Why, run.Why), zap.String(logkey.Error, run.Error), zap.String(logkey.PlanID, run.PlanID), zap.Int64p(logkey.SnapshotBefore, run.SnapshotBefore),
		zap.Int64p(logkey.SnapshotAfter, run.SnapshotAfter), zap.Bool(logkey.Committed, run.Committed), zap.Int64(logkey.Requests, run.Requests),
		zap.Int64(logkey.Bytes, run.Bytes), zap.Float64(logkey.Seconds, run.Seconds), zap.Time(logkey.Slot, j.Slot))
}
