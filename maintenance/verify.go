package maintenance

import (
	"cmp"
	"context"
	"fmt"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/maintenance/verify"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// Verification is what was compared after the commit, and what that cost.
type Verification struct {
	Checks   []verify.Check `json:"checks"`
	Requests int64          `json:"requests"` // to the table's store
	Bytes    int64          `json:"bytes"`    // read
	Seconds  float64        `json:"seconds"`
}

// verifyCacheSize bounds what verification keeps of the manifests that it reads twice: once for the state, once to compare
// every entry as it is stored.
const verifyCacheSize = 64 << 20

// finish reads the committed snapshot back from the catalog and from storage, checks that it is what was staged, and
// completes the report. The error is ErrAbsent when the catalog does not show it.
func (c *committer) finish(ctx context.Context, v *view, ch *change) error {
	c.options.Progress.Stage("verifying the commit", 0, "")
	ctx = context.WithoutCancel(ctx) // the commit happened; the report says whether it is right
	landed, err := c.look(ctx, maxLooks)
	if err == nil && !landed {
		return fmt.Errorf("%s: %w: snapshot %d", c.table.Name(), ErrAbsent, c.snapshotID)
	}
	c.conclude(v, ch)
	if err == nil {
		err = c.verify(ctx, v, ch)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %w", c.table.Name(), ErrVerify, err)
	}
	return nil
}

// conclude puts into the report what was committed.
func (c *committer) conclude(v *view, ch *change) {
	id := c.snapshotID
	c.report.Committed, c.report.SnapshotAfter = true, &id
	c.report.UpgradedFormat = c.upgrades(ch) && v.state.Metadata.Version() < 3
	proved := ch.proved()
	c.report.DataFiles = len(proved)
	c.report.Puffins = puffinLocations(ch.add)
	for _, f := range ch.addFiles {
		c.report.DeleteFiles = append(c.report.DeleteFiles, f.Location)
	}
	if len(proved) > 0 {
		c.report.DigestAfter = tableDigest(proved)
	}
	if len(ch.repaired) == 0 {
		c.report.DigestBefore = c.report.DigestAfter // or the proof had failed
	}
}

// verify compares the committed snapshot with what it replaced.
func (c *committer) verify(ctx context.Context, v *view, ch *change) error {
	store, start := c.table.Store, c.options.Now()
	stats := store.Stats()
	stored := snapshot.NewCache(verifyCacheSize).Through(store.FileIO(ctx))
	snap := c.table.Metadata.SnapshotByID(c.snapshotID)
	now, err := c.follower.Load(ctx, stored, c.table.Metadata, snap, snapshot.LoadOptions{Parallelism: c.options.Parallelism})
	if err != nil {
		return &verify.Error{Table: c.table.Identifier, Ref: c.plan.Ref, Snapshot: snap.SnapshotID, Parent: v.state.Snapshot.SnapshotID, Err: err}
	}
	checks, err := verify.Commit(ctx, verify.Input{
		Change: c.meant(v, ch), Before: c.base, Parent: v.state, After: c.table, Now: now, Old: c.io(ctx), New: stored,
		Parallelism: c.options.Parallelism,
	})
	cost := store.Stats().Sub(stats)
	c.report.Verification = Verification{Checks: checks, Requests: cost.Requests(), Bytes: cost.BytesRead, Seconds: c.options.Now().Sub(start).Seconds()}
	for _, check := range checks {
		c.report.Verified = append(c.report.Verified, check.String())
	}
	if err != nil {
		return err
	}
	c.report.After = Count(now)
	if len(ch.repaired) == 0 {
		// Records of position delete files may repeat a position, deletion vectors do not: the number that both sides share.
		c.report.Before.DeletedRows = c.report.After.DeletedRows
	}
	return nil
}

// meant is the change in the terms of the verification.
func (c *committer) meant(v *view, ch *change) verify.Change {
	out := verify.Change{
		Ref: c.plan.Ref, SnapshotID: c.snapshotID, Operation: cmp.Or(ch.operation, table.OpReplace), Upgrade: c.upgrades(ch), Removed: ch.remove,
		Targets: ch.targets, AddedFiles: ch.addFiles, Repaired: ch.repaired, Corrected: c.corrected, Totals: ch.totals, Tag: ch.tag,
		Holders: map[string]snapshot.FileID{},
	}
	for path, location := range ch.holders {
		out.Holders[path] = snapshot.FileID{Path: location, Offset: -1, Length: -1}
	}
	for _, a := range ch.add {
		out.Added = append(out.Added, verify.Vector{
			DataFile: a.file, Puffin: a.puffin.location, PuffinSize: a.puffin.size, Offset: a.offset, Length: a.length, Cardinality: a.cardinality, Seq: a.seq,
		})
	}
	return out
}
