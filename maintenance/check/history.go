package check

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// history compares the ancestors of the head with their children. It keeps what differs, never a whole ancestor.
type history struct {
	*checker
	live     map[snapshot.FileID]*snapshot.DeleteFile // deletion vectors of the head
	nameless []*snapshot.DeleteFile                   // those of them that reference no data file
	drops    []*drop                                  // of newer snapshots first
	again    map[snapshot.FileID]bool                 // reported as resurrected
	puffins  map[string][]*snapshot.DeleteFile        // live deletion vectors by Puffin file
	retired  map[string]string                        // by Puffin file of them: data file of a deletion vector that is live no more
	counts   vectorCounts                             // of the snapshot that the walk has reached
	settled  map[string]bool                          // data files that repairs decided about; never changed, but replaced
}

// ancestors finds what snapshots did to the deletes, rows and row ids of their parents.
func (c *checker) ancestors(ctx context.Context) error {
	wanted := slices.ContainsFunc(historyIssues(), func(i Issue) bool { return c.options.wants(i.ID) })
	if c.options.History < 0 || !wanted || c.unread {
		return nil // without a manifest of the head nobody knows what is live
	}
	h := &history{
		checker: c, live: map[snapshot.FileID]*snapshot.DeleteFile{}, again: map[snapshot.FileID]bool{}, puffins: c.survey.State.Puffins(), retired: map[string]string{}, counts: vectorCounts{},
	}
	for _, d := range c.survey.State.DVs {
		h.live[d.FileID] = d
		h.counts.add(h.seen.hash(d.Referenced), 1, d.Records)
		if d.Referenced == "" {
			h.nameless = append(h.nameless, d)
		}
	}
	for _, step := range []func(context.Context) error{h.walk, h.dropped, h.lineage, h.colifetime} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// walk goes from the head along its parents, as far as they are there.
func (h *history) walk(ctx context.Context) error {
	h.options.Progress.Stage("comparing with ancestors", 0, "")
	child, manifests := h.head, h.survey.State.Manifests
	for range h.options.History {
		if child.ParentSnapshotID == nil {
			return nil
		}
		parent := h.table.Metadata.SnapshotByID(*child.ParentSnapshotID)
		if parent == nil {
			return nil // expired, as the oldest ancestor of most tables is
		}
		before, whole, err := snapshot.Listed(ctx, h.files, parent)
		if err == nil && whole {
			whole, err = h.compare(ctx, newStep(child, parent, before, manifests))
		}
		if err != nil {
			return fmt.Errorf("snapshot %d: %w", parent.SnapshotID, err)
		}
		if !whole {
			h.ends(parent.ManifestList, fmt.Sprintf("the manifests of snapshot %d cannot all be read", parent.SnapshotID))
			return nil
		}
		child, manifests = parent, before
	}
	return nil
}

// ends notes why the walk ended early.
func (h *history) ends(location, why string) {
	h.skip(maintenance.Skip{Reason: "history", Location: location, Detail: why, Hint: "what it and older snapshots deleted was not compared"})
}

// compare finds what a child did. It reads the delete manifests that only one of the two lists, and is false when not all
// of them can be read.
func (h *history) compare(ctx context.Context, s *step) (bool, error) {
	whole, err := h.entries(ctx, without(s.before, s.after, iceberg.ManifestContentDeletes), func(d *snapshot.DeleteFile) { s.lose(h.seen, d) })
	if err != nil || !whole {
		return whole, err
	}
	whole, err = h.entries(ctx, without(s.after, s.before, iceberg.ManifestContentDeletes), func(d *snapshot.DeleteFile) { s.gain(h.seen, d) })
	if err != nil || !whole {
		return whole, err
	}
	s.forgetKept()
	if err := h.resurrected(ctx, s.gone, s.after); err != nil {
		return false, err
	}
	if s.repairs() {
		h.settle(s)
	}
	for _, d := range slices.SortedFunc(maps.Values(s.gone), byPlace) {
		h.retire(d)
		d.settled = h.settled
		if d.Records > 0 && !s.repairs() && (!d.taken() || h.options.Level >= Vectors && h.options.wants("delete-lost-in-rewrite")) {
			h.drops = append(h.drops, d)
		}
	}
	if err := h.data(ctx, s); err != nil {
		return false, err
	}
	h.counts.back(s)
	return true, nil
}

// settle notes the data files whose deletes a repair decided about. What they had before says nothing any more about what
// is right: it was damaged, or an operator agreed to lose it.
func (h *history) settle(s *step) {
	h.settled = maps.Clone(h.settled)
	if h.settled == nil {
		h.settled = map[string]bool{}
	}
	maps.Copy(h.settled, s.touched)
	for _, d := range s.gone {
		h.settled[d.Referenced] = true
	}
}

// resurrected reports deletion vectors that a child dropped and that the head lists in the same entry. That of a vector
// that was added again names another snapshot. A vector that the child lists elsewhere was never gone.
func (h *history) resurrected(ctx context.Context, gone map[snapshot.FileID]*drop, after []iceberg.ManifestFile) error {
	back := map[snapshot.FileID]*drop{}
	for id, d := range gone {
		if live := h.live[id]; live != nil && live.SnapshotID == d.SnapshotID && !h.again[id] {
			back[id] = d
		}
	}
	if len(back) == 0 {
		return nil
	}
	whole, err := h.entries(ctx, without(after, nil, iceberg.ManifestContentDeletes), func(d *snapshot.DeleteFile) { delete(back, d.FileID) })
	if err != nil || !whole {
		return err
	}
	for id, d := range back {
		h.again[id] = true
		f := of("dv-resurrected", h.live[id])
		f.Detail = fmt.Sprintf("snapshot %d removed the deletion vector, and it is live again without having been added again", d.child.SnapshotID)
		h.add(f)
	}
	return nil
}
