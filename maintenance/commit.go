package maintenance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// Committer commits updates to a table with a known outcome; see package catalog.
type Committer interface {
	Commit(ctx context.Context, t *catalog.Table, requirements []table.Requirement, updates []table.Update) error
}

// maxLooks is how often a table is loaded to find out whether a commit with a lost reply happened, and lookTimeout how
// long that may take.
const (
	maxLooks    = 8
	lookTimeout = 2 * time.Minute
)

// job is what a commit loop commits: it says what goes into a commit on a state of the table, and compares a newer state
// with the one it was made for.
type job interface {
	// settle returns what goes into a commit.
	settle(*view) *change
	// rebase compares a newer state. An error ends the run.
	rebase(ctx context.Context, store *storage.Store, now *snapshot.State) (*view, error)
	// dropped returns the data files that a view leaves out, sorted.
	dropped(*view) []string
}

// committer is the commit loop of one run.
type committer struct {
	cat        Catalog
	table      *catalog.Table
	plan       *Plan
	options    Options
	job        job
	report     *Report
	snapshotID int64 // the same at every attempt, so that a lost reply can be recognised

	base *catalog.Table // that the last attempt was made on
	// absent is set when the catalog acknowledged a commit that the table did not show. From then on nothing that was
	// written may be removed, unless the snapshot shows up after all.
	absent bool

	corrected map[string]iceberg.ManifestFile // what manifest lists should say, by the manifest's location
	follower  *snapshot.Follower              // of the branch, from the state of the plan on
	cache     *snapshot.Cache                 // of the manifests that attempts rewrite
}

// newCommitter makes the commit loop of a run whose merging is done: what bitmaps needed of the memory is free again. also
// are the paths beside those of the state's data files whose coming back matters to the job.
func newCommitter(cat Catalog, t *catalog.Table, p *Plan, o Options, j job, also map[string]bool, report *Report) *committer {
	return &committer{
		cat: cat, table: t, plan: p, options: o, job: j, report: report, snapshotID: snapshot.NewSnapshotID(),
		follower: p.state.Follow(also), cache: snapshot.NewCache(o.Memory / 4),
	}
}

// io is access to the table's files that remembers manifests.
func (c *committer) io(ctx context.Context) iceio.WriteFileIO {
	return c.cache.Through(c.table.Store.FileIO(ctx))
}

// run commits. It returns what a snapshot of ours holds; nothing is added or removed by it unless there is one.
func (c *committer) run(ctx context.Context) (*change, error) {
	ch, err := c.loop(ctx)
	if c.absent && !c.report.Committed {
		// Whatever came after the acknowledgement, nobody knows whether that commit happened.
		return ch, errors.Join(fmt.Errorf("%s: %w: snapshot %d; what was written stays", c.table.Name(), ErrAbsent, c.snapshotID), hide(err))
	}
	return ch, err
}

// loop commits, rebasing on every conflict.
func (c *committer) loop(ctx context.Context) (*change, error) {
	v := samePlan(c.plan.state)
	for attempt := 1; ; attempt++ {
		ch := c.job.settle(v)
		c.report.Dropped = c.job.dropped(v)
		if ch.empty() {
			return &change{stay: ch.stay}, nil
		}
		c.report.Attempts = attempt
		err := c.once(ctx, v, ch)
		if again := errors.Is(err, catalog.ErrConflict) || errors.Is(err, ErrAbsent); !again {
			if !c.report.Committed {
				ch = &change{}
			}
			return ch, err
		}
		if attempt >= c.options.Retry.Attempts {
			return &change{}, fmt.Errorf("%w after %d attempts: %w", ErrConflicts, attempt, err)
		}
		if err := c.wait(ctx, attempt, err); err != nil {
			return &change{}, err
		}
		landed, err := c.reload(ctx)
		if err != nil {
			return &change{}, err
		}
		if landed {
			return ch, c.finish(ctx, v, ch)
		}
		if v, err = c.rebase(ctx); err != nil {
			return &change{}, err
		}
	}
}

// once makes one attempt and, when it succeeds, looks at what came of it.
func (c *committer) once(ctx context.Context, v *view, ch *change) error {
	err := c.attempt(ctx, v.state, ch)
	if err == nil {
		err = c.finish(ctx, v, ch)
		c.absent = c.absent || errors.Is(err, ErrAbsent)
	}
	return err
}

// attempt writes manifests and commits once. Whatever a failed commit is said to be, the manifests are removed only
// when the table was seen without our snapshot: a proxy that repeats a request answers a conflict, or a refusal, to the
// copy of a commit that happened.
func (c *committer) attempt(ctx context.Context, s *snapshot.State, ch *change) error {
	c.options.Progress.Stage("committing", 0, "")
	staged, err := snapshot.Stage(ctx, c.io(ctx), s, c.snapshotChange(ch))
	if err != nil {
		return c.unstage(ctx, staged, fmt.Errorf("%s: %w", c.table.Name(), err))
	}
	if ch.inspect != nil {
		if err := c.inspect(ctx, staged, ch); err != nil {
			return c.unstage(ctx, staged, err)
		}
	}
	before := c.table
	c.base = before
	if ctx.Err() != nil {
		return c.unstage(ctx, staged, fmt.Errorf("%s: %w", c.table.Name(), ctx.Err()))
	}
	if err = c.ask(ctx, staged); err == nil {
		return nil
	}
	enough := 1
	if errors.Is(err, catalog.ErrUnknown) {
		enough = maxLooks // it may still be on its way
	}
	landed, lookErr := c.look(ctx, enough)
	switch {
	case landed:
		return nil
	case errors.Is(lookErr, errGone) && !errors.Is(err, catalog.ErrUnknown):
		return c.unstage(ctx, staged, errors.Join(lookErr, hide(err))) // the commit failed, and there is no table to find it in
	case lookErr != nil:
		return outcome(catalog.ErrUnknown, before, err, lookErr)
	case errors.Is(err, catalog.ErrUnknown):
		return fmt.Errorf("%w (snapshot %d is not in the table; what was written stays, orphan clean-up removes it if the commit never happens)", err, c.snapshotID)
	case errors.Is(err, catalog.ErrRefused) && c.table.Metadata.LastSequenceNumber() != before.Metadata.LastSequenceNumber():
		err = outcome(catalog.ErrConflict, before, err) // the refusal may be about what another writer changed
	}
	return c.unstage(ctx, staged, err)
}

// ask asks the catalog to commit. A run that is told to stop meanwhile waits for the answer: without it nobody would know what
// happened, and what was written would have to stay.
func (c *committer) ask(ctx context.Context, staged *snapshot.Staged) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTimeout)
	defer cancel()
	return c.cat.Commit(ctx, c.table, staged.Requirements, staged.Updates)
}

// unstage removes the manifests of an attempt that did not happen.
func (c *committer) unstage(ctx context.Context, staged *snapshot.Staged, err error) error {
	for _, location := range staged.Written {
		err = errors.Join(err, c.table.Store.Remove(context.WithoutCancel(ctx), location))
	}
	return err
}

// inspect shows the table as it would be to what has to agree before the commit.
func (c *committer) inspect(ctx context.Context, staged *snapshot.Staged, ch *change) error {
	meta, err := table.UpdateTableMetadata(c.table.Metadata, staged.Updates, "")
	if err != nil {
		return fmt.Errorf("%s: %w", c.table.Name(), err)
	}
	would := *c.table
	would.Metadata = meta
	return ch.inspect(ctx, &would)
}

func (c *committer) upgrades(ch *change) bool { return c.plan.UpgradeFormat && !ch.mergesOnly }

func (c *committer) snapshotChange(ch *change) snapshot.Change {
	out := snapshot.Change{
		Ref: c.plan.Ref, SnapshotID: c.snapshotID, Operation: ch.operation, Remove: ch.remove, AddFiles: ch.addFiles, Rewrite: ch.rewrite,
		Totals: ch.totals, Tag: ch.tag, Upgrade: c.upgrades(ch), Now: c.options.Now(), Parallelism: c.options.Parallelism,
		Summary: map[string]string{
			"dvcompactor.plan-id": c.plan.PlanID, "dvcompactor.version": c.options.Version,
			"engine-name": "dvcompactor", "engine-version": c.options.Version,
		},
	}
	for _, v := range ch.add {
		out.Add = append(out.Add, snapshot.NewDV{
			Data: v.file, Seq: v.seq, Puffin: v.puffin.location, PuffinSize: v.puffin.size, Offset: v.offset, Length: v.length, Cardinality: v.cardinality,
		})
	}
	maps.Copy(out.Summary, ch.summary)
	if proved := ch.proved(); len(proved) > 0 {
		out.Summary["dvcompactor.digest"] = tableDigest(proved)
	}
	return out
}

// look finds out whether a commit happened: it loads the table until our own snapshot is in it, or until it was seen
// often enough without. It does not end with the run's context: what was started has to be known. An error says that
// the table could not be loaded.
func (c *committer) look(ctx context.Context, enough int) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTimeout)
	defer cancel()
	seen := 0
	for i := 1; ; i++ {
		landed, err := c.reload(ctx)
		if err == nil {
			seen++
		}
		if landed || seen >= enough || i >= maxLooks || errors.Is(err, errGone) {
			return landed, err
		}
		if err := c.wait(ctx, i, nil); err != nil {
			return false, err
		}
	}
}

// errGone says that the table of the run is not in the catalog any more.
var errGone = errors.New("the table was dropped during the run")

// reload reads the table anew and says whether our snapshot is in it. A table that is no more is errGone.
func (c *committer) reload(ctx context.Context) (bool, error) {
	t, err := c.cat.Load(ctx, c.table.Identifier)
	if errors.Is(err, catalog.ErrNotFound) {
		err = fmt.Errorf("%w: %w", errGone, err)
	}
	if err != nil {
		return false, err
	}
	if t.Metadata.TableUUID() != c.table.Metadata.TableUUID() {
		return false, fmt.Errorf("%s: %w: %w: another one has its name now (uuid %s, was %s)", t.Name(), ErrRefusedTable, errGone, t.Metadata.TableUUID(), c.table.Metadata.TableUUID())
	}
	c.table = t
	return t.Metadata.SnapshotByID(c.snapshotID) != nil, nil
}

// rebase reads what is new in the reloaded table and compares its state with what was merged.
func (c *committer) rebase(ctx context.Context) (*view, error) {
	if err := refuse(c.table, c.options); err != nil {
		return nil, err
	}
	head := c.table.Metadata.SnapshotByName(c.plan.Ref)
	if head == nil {
		return nil, fmt.Errorf("%s: %w: %q was dropped meanwhile", c.table.Name(), ErrNoRef, c.plan.Ref)
	}
	now, err := c.follower.Load(ctx, c.io(ctx), c.table.Metadata, head, snapshot.LoadOptions{Parallelism: c.options.Parallelism, Corrected: c.corrected})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.table.Name(), err)
	}
	return c.job.rebase(ctx, c.table.Store, now)
}

// wait sleeps before the next attempt: a doubling delay with full jitter, on top of what the catalog asked for when it
// refused the last one.
func (c *committer) wait(ctx context.Context, attempt int, last error) error {
	d := min(c.options.Retry.BaseDelay<<min(attempt-1, 20), c.options.Retry.MaxDelay)
	var failed *catalog.CommitError
	asked := time.Duration(0)
	if errors.As(last, &failed) {
		asked = failed.RetryAfter
	}
	return storage.Wait(ctx, asked+rand.N(d+1))
}
