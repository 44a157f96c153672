package maintenance

import (
	"context"
	"fmt"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// finish reads the committed snapshot back from the catalog and from storage, checks that it is what was staged, and
// completes the report.
func (c *committer) finish(ctx context.Context, v *view, ch *change) error {
	id := c.snapshotID
	c.report.Committed, c.report.SnapshotAfter = true, &id
	c.report.UpgradedFormat = c.plan.UpgradeFormat && v.state.Metadata.Version() < 3
	c.report.DataFiles = len(ch.add)
	c.report.Puffins = puffinLocations(ch.add)
	if len(ch.add) > 0 {
		c.report.DigestBefore = tableDigest(ch.add)
		c.report.DigestAfter = c.report.DigestBefore // or the proof had failed
	}
	c.options.Progress.Stage("verifying the commit", 0, "")
	ctx = context.WithoutCancel(ctx) // the commit happened; the report says whether it is right
	landed, err := c.look(ctx, 1)
	if err != nil {
		return fmt.Errorf("%w: snapshot %d is committed, but reading it back: %w", ErrVerify, id, err)
	}
	if !landed {
		return fmt.Errorf("%w: the catalog acknowledged snapshot %d, but it is not in the table; what was written is kept", ErrVerify, id)
	}
	now, err := snapshot.LoadDeletes(ctx, c.table.Store.FileIO(ctx), c.table.Metadata, c.table.Metadata.SnapshotByID(id), snapshot.LoadOptions{Parallelism: c.options.Parallelism})
	if err != nil {
		return fmt.Errorf("%w: snapshot %d: %w", ErrVerify, id, err)
	}
	if err := verify(v.state, now, ch); err != nil {
		return fmt.Errorf("%w: snapshot %d: %w", ErrVerify, id, err)
	}
	c.report.After = Count(now)
	c.report.Verified = verified
	// Records of position delete files may repeat a position, deletion vectors do not: the number that both sides share.
	c.report.Before.DeletedRows = c.report.After.DeletedRows
	return nil
}

// verified says in words what verify and the proof before the commit compare.
var verified = []string{
	"positions of every new deletion vector read back from storage equal the merged ones",
	"snapshot: operation replace, parent, sequence number, row lineage",
	"data manifests: the same, with their first row ids",
	"delete entries: exactly the staged ones are added and removed",
	"at most one deletion vector for each data file",
}

// verify compares the committed snapshot with its parent.
func verify(parent, now *snapshot.State, ch *change) error {
	if err := verifySnapshot(parent, now); err != nil {
		return err
	}
	if err := sameDataManifests(parent.Manifests, now.Manifests); err != nil {
		return err
	}
	return verifyDeletes(parent, now, ch)
}

func verifySnapshot(parent, now *snapshot.State) error {
	s, p := now.Snapshot, parent.Snapshot
	switch {
	case s.Summary == nil || s.Summary.Operation != table.OpReplace:
		return fmt.Errorf("operation is not %q", table.OpReplace)
	case s.ParentSnapshotID == nil || *s.ParentSnapshotID != p.SnapshotID:
		return fmt.Errorf("parent is not %d", p.SnapshotID)
	case s.SequenceNumber <= p.SequenceNumber:
		return fmt.Errorf("sequence number %d is not above the parent's %d", s.SequenceNumber, p.SequenceNumber)
	case s.TimestampMs < p.TimestampMs:
		return fmt.Errorf("timestamp %d is before the parent's %d", s.TimestampMs, p.TimestampMs)
	case now.Metadata.Version() >= 3 && (s.FirstRowID == nil || s.AddedRows == nil):
		return fmt.Errorf("first-row-id or added-rows missing")
	case now.Metadata.Version() >= 3 && *s.FirstRowID+*s.AddedRows > now.Metadata.NextRowID():
		return fmt.Errorf("next-row-id %d of the table is below the snapshot's %d + %d", now.Metadata.NextRowID(), *s.FirstRowID, *s.AddedRows)
	}
	return nil
}

// sameDataManifests checks that no data manifest came, went or lost its row ids.
func sameDataManifests(before, after []iceberg.ManifestFile) error {
	want := map[string]iceberg.ManifestFile{}
	for _, m := range before {
		if m.ManifestContent() == iceberg.ManifestContentData {
			want[m.FilePath()] = m
		}
	}
	for _, m := range after {
		if m.ManifestContent() != iceberg.ManifestContentData {
			continue
		}
		old := want[m.FilePath()]
		if old == nil {
			return fmt.Errorf("data manifest %s is new", m.FilePath())
		}
		if id := old.FirstRowID(); id != nil && (m.FirstRowID() == nil || *m.FirstRowID() != *id) {
			return fmt.Errorf("data manifest %s: first_row_id changed", m.FilePath())
		}
		delete(want, m.FilePath())
	}
	for path := range want {
		return fmt.Errorf("data manifest %s is gone", path)
	}
	return nil
}

// verifyDeletes checks the live delete entries one by one.
func verifyDeletes(parent, now *snapshot.State, ch *change) error {
	want := map[snapshot.FileID]string{}
	for id, d := range liveDeletes(parent) {
		if !ch.remove[id] {
			want[id] = entryText(d.Seq, d.Records, d.Referenced, d.Group)
		}
	}
	for _, v := range ch.add {
		id := snapshot.FileID{Path: v.puffin.location, Offset: v.offset, Length: v.length}
		want[id] = entryText(v.seq, v.cardinality, v.file.Path, v.file.Group)
	}
	if parent.EqualityDeletes != now.EqualityDeletes {
		return fmt.Errorf("%d equality delete files, were %d", now.EqualityDeletes, parent.EqualityDeletes)
	}
	have := liveDeletes(now)
	for id, d := range have {
		text, ok := want[id]
		if !ok {
			return fmt.Errorf("delete entry %+v should not be live", id)
		}
		if got := entryText(d.Seq, d.Records, d.Referenced, d.Group); got != text {
			return fmt.Errorf("delete entry %+v is %s, want %s", id, got, text)
		}
	}
	for id := range want {
		if have[id] == nil {
			return fmt.Errorf("delete entry %+v is not live", id)
		}
	}
	return oneVectorEach(parent, now)
}

func entryText(seq, records int64, referenced string, g *snapshot.Group) string {
	return fmt.Sprintf("sequence %d, %d records, of %q, spec %d, partition %x", seq, records, referenced, g.Key.SpecID, g.Key.Tuple)
}

// oneVectorEach checks that no data file got a second deletion vector. Those that had two before are not ours to judge.
func oneVectorEach(parent, now *snapshot.State) error {
	before, after := map[string]int{}, map[string]int{}
	for _, d := range parent.DVs {
		before[d.Referenced]++
	}
	for _, d := range now.DVs {
		after[d.Referenced]++
	}
	for path, n := range after {
		if n > max(1, before[path]) {
			return fmt.Errorf("%d deletion vectors for %s", n, path)
		}
	}
	return nil
}
