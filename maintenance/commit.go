package maintenance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// Commiter commits updates to a table with a known outcome; see package catalog.
type Commiter interface {
	Commit(ctx context.Context, t *catalog.Table, requirements []table.Requirement, updates []table.Update) error
}

// unknownLooks is how often a table is loaded to find out whether a commit with a lost reply happened.
const unknownLooks = 5

// committer is the commit loop of one run.
type committer struct {
	cat        Catalog
	table      *catalog.Table
	plan       *Plan
	options    Options
	results    *results
	report     *Report
	snapshotID int64 // the same at every attempt, so that a lost reply can be recognised
}

// run commits, rebasing on every conflict. The returned value is nil unless a snapshot of ours exists or nothing was
// left to commit.
func (c *committer) run(ctx context.Context) (*committed, error) {
	v := samePlan(c.plan.state)
	for attempt := 1; ; attempt++ {
		ch := c.results.settle(v)
		c.noteDropped(v)
		if ch.empty() {
			return &committed{change: &change{held: ch.held}}, nil
		}
		c.report.Attempts = attempt
		err := c.attempt(ctx, v.state, ch)
		if err == nil {
			return &committed{change: ch}, c.finish(ctx, v, ch)
		}
		if !errors.Is(err, catalog.ErrConflict) {
			return nil, err
		}
		if attempt >= c.options.Retry.Attempts {
			return nil, fmt.Errorf("%w after %d attempts: %w", ErrConflicts, attempt, err)
		}
		if err := c.wait(ctx, attempt); err != nil {
			return nil, err
		}
		landed, err := c.reload(ctx)
		if err != nil {
			return nil, err
		}
		if landed {
			return &committed{change: ch}, c.finish(ctx, v, ch)
		}
		if v, err = c.rebase(ctx); err != nil {
			return nil, err
		}
	}
}

func (c *committer) noteDropped(v *view) {
	c.report.Dropped = []string{}
	for f := range c.results.written {
		if v.dropped[f] || v.gone[f] {
			c.report.Dropped = append(c.report.Dropped, f.Path)
		}
	}
}

// attempt writes manifests and commits once. After a definite failure the manifests are removed; after an unknown
// outcome that stays unknown everything stays.
func (c *committer) attempt(ctx context.Context, s *snapshot.State, ch *change) error {
	c.options.Progress.Stage("committing", 0, "")
	staged, err := snapshot.Stage(ctx, c.table.Store.FileIO(ctx), s, c.snapshotChange(ch))
	if err == nil {
		err = c.cat.Commit(ctx, c.table, staged.Requirements, staged.Updates)
	} else {
		err = fmt.Errorf("%s: %w", c.table.Name(), err)
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, catalog.ErrUnknown) {
		landed, lookErr := c.look(ctx)
		if landed {
			return nil
		}
		return errors.Join(err, lookErr)
	}
	if errors.Is(err, catalog.ErrRefused) && c.moved(ctx) {
		err = &catalog.CommitError{Outcome: catalog.ErrConflict, Table: c.table.Name(), Err: err}
	}
	if errors.Is(err, catalog.ErrConflict) {
		if landed, _ := c.reload(ctx); landed {
			return nil // the conflict was with our own commit, whose reply was lost on the way
		}
	}
	for _, location := range staged.Written {
		err = errors.Join(err, c.table.Store.Remove(context.WithoutCancel(ctx), location))
	}
	return err
}

func (c *committer) snapshotChange(ch *change) snapshot.Change {
	out := snapshot.Change{
		Ref: c.plan.Ref, SnapshotID: c.snapshotID, Remove: ch.remove, Upgrade: c.plan.UpgradeFormat, Now: c.options.Now(),
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
	if len(ch.add) > 0 {
		out.Summary["dvcompactor.digest"] = tableDigest(ch.add)
	}
	return out
}

// look finds out whether a commit with an unknown outcome happened, by looking for our own snapshot id.
func (c *committer) look(ctx context.Context) (bool, error) {
	for i := range unknownLooks {
		landed, err := c.reload(ctx)
		if landed {
			return true, nil
		}
		if err := c.wait(ctx, i+1); err != nil {
			return false, err
		}
		if err != nil && i == unknownLooks-1 {
			return false, fmt.Errorf("looking for snapshot %d: %w", c.snapshotID, err)
		}
	}
	return false, fmt.Errorf("snapshot %d is not in the table; what was written stays, orphan clean-up removes it if the commit never happened", c.snapshotID)
}

// reload reads the table anew and says whether our snapshot is in it.
func (c *committer) reload(ctx context.Context) (bool, error) {
	t, err := c.cat.Load(ctx, c.table.Identifier)
	if err != nil {
		return false, err
	}
	if t.Metadata.TableUUID() != c.table.Metadata.TableUUID() {
		return false, fmt.Errorf("%s: %w: it is another table now (uuid %s, was %s)", t.Name(), ErrRefusedTable, t.Metadata.TableUUID(), c.table.Metadata.TableUUID())
	}
	c.table = t
	return t.Metadata.SnapshotByID(c.snapshotID) != nil, nil
}

// moved says whether the table changed since it was loaded: a refusal may then be about the change.
func (c *committer) moved(ctx context.Context) bool {
	t, err := c.cat.Load(ctx, c.table.Identifier)
	return err == nil && t.MetadataLocation != c.table.MetadataLocation
}

// rebase reads the state of the reloaded table and compares it with what was merged.
func (c *committer) rebase(ctx context.Context) (*view, error) {
	if err := refuse(c.table, c.options); err != nil {
		return nil, err
	}
	head := c.table.Metadata.SnapshotByName(c.plan.Ref)
	if head == nil {
		return nil, fmt.Errorf("%s: %w: %q was dropped meanwhile", c.table.Name(), ErrNoRef, c.plan.Ref)
	}
	now, err := snapshot.Load(ctx, c.table.Store.FileIO(ctx), c.table.Metadata, head, snapshot.LoadOptions{Parallelism: c.options.Parallelism})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.table.Name(), err)
	}
	return c.results.rebase(ctx, c.table.Store, now)
}

// wait sleeps before the next attempt: a doubling delay with full jitter.
func (c *committer) wait(ctx context.Context, attempt int) error {
	d := min(c.options.Retry.BaseDelay<<min(attempt-1, 20), c.options.Retry.MaxDelay)
	t := time.NewTimer(time.Duration(rand.Int64N(int64(d) + 1)))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
