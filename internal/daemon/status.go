package daemon

import (
	"context"
	"time"
)

// Status is how the daemon stands.
type Status struct {
	Now      time.Time
	Started  time.Time
	Ready    bool
	Stopping bool
	Healthy  bool
	Missing  map[string]string // why catalogs cannot be listed, by their names
	Policies []string          // their names
	Tables   []State
}

// Status returns how the daemon stands. It shares the runs of the roster, which only ever appends to them: copies of those of
// thousands of tables would cost hundreds of megabytes each time that somebody asks.
func (d *Daemon) Status() Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.o.Now()
	s := Status{Now: now, Started: d.started, Stopping: d.stopping, Ready: d.ready && !d.stopping, Tables: d.roster.States(), Missing: map[string]string{}}
	s.Healthy = d.stopping || d.ticked.IsZero() || now.Sub(d.ticked) < 4*longestPause
	for name, why := range d.missing {
		s.Missing[name] = why
	}
	for _, p := range d.config.Policies {
		s.Policies = append(s.Policies, p.Name)
	}
	return s
}

// Look finds the tables and what is remembered of them, and runs nothing. The error says which catalogs did not answer and
// which states cannot be read; the rest is in the status all the same.
func (d *Daemon) Look(ctx context.Context) (Status, error) {
	err := d.discover(ctx)
	s := d.Status()
	s.Started, s.Ready = time.Time{}, false
	return s, err
}
