package maintenance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// Catalog is what a run needs of a catalog: to load the table again and to commit to it.
type Catalog interface {
	Load(ctx context.Context, identifier []string) (*catalog.Table, error)
	Committer
}

// Run plans and applies one action on one table.
func Run(ctx context.Context, cat Catalog, identifier []string, o Options) (*Report, error) {
	return run(ctx, cat, identifier, o, func(*Plan) error { return nil })
}

// RunIf is Run that shows the plan to a function before anything is written, and ends with its error when there is one.
func RunIf(ctx context.Context, cat Catalog, identifier []string, o Options, agree func(*Plan) error) (*Report, error) {
	return run(ctx, cat, identifier, o, agree)
}

// Cost returns the requests to the table's store that a run has made when it shows its plan; none for a plan outside of a run.
func (p *Plan) Cost() storage.Stats { return p.cost }

// Apply carries out a reviewed plan, or refuses with ErrStale when the deletes it is about are no longer the same.
func Apply(ctx context.Context, cat Catalog, identifier []string, reviewed *Plan, o Options) (*Report, error) {
	o.Action, o.Ref, o.UpgradeFormat, o.TargetPuffinSize = reviewed.Action, reviewed.Ref, reviewed.Settings.UpgradeFormat, reviewed.Settings.TargetPuffinSize
	o.Where = reviewed.Settings.Where
	if in := reviewed.Settings.InPlace; in != nil {
		o.InPlace = *in
	}
	o.CoolDown, o.hotSince = 0, reviewed.Settings.HotSince // what was hot then is left alone, however long ago that is
	return run(ctx, cat, identifier, o, func(p *Plan) error {
		if p.Fingerprint != reviewed.Fingerprint {
			return fmt.Errorf("%s: %w: its deletes changed since snapshot %s; make a new plan", p.Table, ErrStale, snapshotText(reviewed.SnapshotBefore))
		}
		return nil
	})
}

// run plans, asks whether the plan may be carried out, and does so.
func run(ctx context.Context, cat Catalog, identifier []string, o Options, agree func(*Plan) error) (*Report, error) {
	o = o.withDefaults()
	t, err := cat.Load(ctx, identifier)
	if err != nil {
		return nil, err
	}
	m := startMeter(t, o)
	p, err := MakePlan(ctx, t, o)
	if err != nil {
		return nil, err
	}
	p.cost = m.spent()
	if err := agree(p); err != nil {
		return nil, err
	}
	report := newReport(p)
	report.Warnings = clockWarnings(t.Metadata, o.Now())
	err = work(ctx, cat, t, p, o, report)
	m.stop(report)
	return report, err
}

func snapshotText(id *int64) string {
	if id == nil {
		return "(none)"
	}
	return fmt.Sprint(*id)
}

// meter measures a run: time, and requests to the table's store.
type meter struct {
	store *storage.Store
	now   func() time.Time
	start time.Time
	stats storage.Stats
}

func startMeter(t *catalog.Table, o Options) *meter {
	return &meter{store: t.Store, now: o.Now, start: o.Now(), stats: t.Store.Stats()}
}

// spent are the requests to the store since the meter was started.
func (m *meter) spent() storage.Stats { return m.store.Stats().Sub(m.stats) }

func (m *meter) stop(r *Report) {
	r.Requests = m.spent()
	r.Seconds = m.now().Sub(m.start).Seconds()
}

// work merges, writes, proves and commits what a plan says.
func work(ctx context.Context, cat Catalog, t *catalog.Table, p *Plan, o Options, report *Report) (err error) {
	if !p.Work {
		return nil
	}
	dir, err := dataDir(p.state.Metadata)
	if err != nil {
		return err
	}
	w := newWriter(ctx, t.Store, dir, p, o)
	j, also, err := prepare(ctx, p, w, t)
	if err != nil {
		// Nothing was committed: what was uploaded is nobody's.
		return errors.Join(err, w.group.Wait(), w.discard(context.WithoutCancel(ctx), &change{}))
	}
	c := newCommitter(cat, t, p, o, j, also, report)
	done, err := c.run(ctx)
	report.Skipped = append(append([]Skip{}, p.pending.skipped...), done.stay...) // never nil: it is a list in JSON
	return c.tidy(ctx, done, w, err)
}

// prepare does all but the commit. also are the paths beside those of the plan's data files whose coming back matters.
func prepare(ctx context.Context, p *Plan, w *writer, t *catalog.Table) (j job, also map[string]bool, err error) {
	if p.pending.inPlace != nil {
		r, err := rewriteAll(ctx, p, w, t)
		if err != nil {
			return nil, nil, err
		}
		return r, r.paths(), nil
	}
	r, err := mergeAll(ctx, p, w, t)
	if err != nil {
		return nil, nil, err
	}
	return r, r.paths(), nil
}

// tidy removes what was written and is not in a commit, unless nobody knows whether it is.
func (c *committer) tidy(ctx context.Context, done *change, w *writer, err error) error {
	if errors.Is(err, catalog.ErrUnknown) {
		return err // a snapshot that refers to the files may exist
	}
	if c.absent {
		return err // the one that the catalog acknowledged first may have referred to any of them
	}
	if cleanErr := w.discard(context.WithoutCancel(ctx), done); cleanErr != nil {
		err = errors.Join(err, fmt.Errorf("removing unused files: %w", cleanErr))
	}
	return err
}

// mergeAll runs the passes and hands their results to the writer.
func mergeAll(ctx context.Context, p *Plan, w *writer, t *catalog.Table) (*results, error) {
	m := newMerger(p.pending, t.Store)
	res := &results{written: map[*snapshot.DataFile]*vector{}, kept: map[*snapshot.DataFile]bool{}, sel: p.pending}
	res.newcomers = &newcomers{base: p.state, parallelism: p.pending.options.Parallelism}
	err := m.all(ctx, func(sets []*merged) error {
		for _, s := range sets {
			if s.keep {
				res.kept[s.file] = true
			}
		}
		return w.add(sets)
	})
	if err != nil {
		return nil, err
	}
	if err := w.finish(); err != nil {
		return nil, err
	}
	for _, f := range w.files {
		for _, v := range f.vectors {
			res.written[v.file] = v
		}
	}
	res.facts = m.inOrder()
	return res, m.findTwins(ctx, t)
}

// all merges pass by pass, and reads what no pass had a data file for.
func (m *merger) all(ctx context.Context, add func([]*merged) error) error {
	passes := m.passes()
	if len(passes) == 0 && len(m.sel.groups) > 0 {
		passes = append(passes, &pass{in: map[*snapshot.DataFile]*accumulator{}})
	}
	for _, pass := range passes {
		sets, err := m.run(ctx, pass)
		if err != nil {
			return err
		}
		if err := add(sets); err != nil {
			return err
		}
	}
	return m.readLeftovers(ctx)
}

// inOrder lists what was learnt of the position delete files, in the order of the plan.
func (m *merger) inOrder() []*facts {
	var out []*facts
	for _, g := range m.sel.groups {
		for _, d := range m.sel.sourcesOf(g) {
			out = append(out, m.facts[d])
		}
	}
	return out
}

// readLeftovers reads the position delete files that no pass had a data file for: all their targets are gone or
// blocked, which still has to be learnt from their content.
func (m *merger) readLeftovers(ctx context.Context) error {
	empty := &pass{in: map[*snapshot.DataFile]*accumulator{}}
	for _, g := range m.sel.groups {
		for _, d := range m.sel.sourcesOf(g) {
			if fact := m.facts[d]; fact.wanted(empty) {
				if err := m.readDelete(ctx, fact, empty); err != nil {
					return err
				}
				if fact.err != nil {
					m.blockUnreadable(fact)
				}
			}
		}
	}
	return nil
}

// findTwins looks for live data files that the unmatched records may mean.
func (m *merger) findTwins(ctx context.Context, t *catalog.Table) error {
	unmatched := map[string]bool{}
	for _, f := range m.facts {
		for path := range f.unmatched {
			unmatched[path] = true
		}
	}
	twins, err := m.sel.state.Twins(ctx, t.Store.FileIO(ctx), sortedKeys(unmatched))
	if err != nil {
		return err
	}
	for _, f := range m.facts {
		f.twins = twins
	}
	return nil
}

func puffinLocations(vectors []*vector) []string {
	seen := map[string]bool{}
	for _, v := range vectors {
		seen[v.puffin.location] = true
	}
	return sortedKeys(seen)
}
