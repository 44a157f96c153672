package check

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
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
}

// drop is a position delete file or deletion vector that was live in a snapshot and is not in its child.
type drop struct {
	*snapshot.DeleteFile                 // its group has only a key
	child                *table.Snapshot // which dropped it
}

// ancestors finds deletes that the table had and lost, and those that came back.
func (c *checker) ancestors(ctx context.Context) error {
	wanted := c.options.wants("delete-dropped") || c.options.wants("dv-resurrected")
	if c.options.History < 0 || !wanted || c.unread {
		return nil // without a manifest of the head nobody knows what is live
	}
	h := &history{checker: c, live: map[snapshot.FileID]*snapshot.DeleteFile{}, again: map[snapshot.FileID]bool{}}
	for _, d := range c.survey.State.DVs {
		h.live[d.FileID] = d
		if d.Referenced == "" {
			h.nameless = append(h.nameless, d)
		}
	}
	if err := h.walk(ctx); err != nil {
		return err
	}
	return h.dropped(ctx)
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
			whole, err = h.compare(ctx, child, before, manifests)
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

// compare finds the delete files that a child dropped. It reads the delete manifests that only one of the two lists, and
// is false when not all of them can be read.
func (h *history) compare(ctx context.Context, child *table.Snapshot, before, after []iceberg.ManifestFile) (bool, error) {
	gone, taken := map[snapshot.FileID]*drop{}, map[string]bool{}
	whole, err := h.entries(ctx, without(before, after, iceberg.ManifestContentDeletes), func(d *snapshot.DeleteFile) {
		gone[d.FileID] = &drop{d, child}
	})
	if err != nil || !whole || len(gone) == 0 {
		return whole, err
	}
	whole, err = h.entries(ctx, without(after, before, iceberg.ManifestContentDeletes), func(d *snapshot.DeleteFile) {
		delete(gone, d.FileID)
		if d.IsDV() && d.Referenced != "" {
			taken[d.Referenced] = true
		}
	})
	if err != nil || !whole {
		return whole, err
	}
	if err := h.resurrected(ctx, gone, after); err != nil {
		return false, err
	}
	for _, d := range slices.SortedFunc(maps.Values(gone), byPlace) {
		if d.Records > 0 && (d.Referenced == "" || !taken[d.Referenced]) {
			h.drops = append(h.drops, d)
		}
	}
	return true, nil
}

func byPlace(a, b *drop) int {
	return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Offset, b.Offset))
}

// without returns the manifests of one content that a list has and another list does not have, by location.
func without(list, other []iceberg.ManifestFile, content iceberg.ManifestContent) map[string]iceberg.ManifestFile {
	out := map[string]iceberg.ManifestFile{}
	for _, m := range list {
		if m.ManifestContent() == content {
			out[m.FilePath()] = m
		}
	}
	for _, m := range other {
		delete(out, m.FilePath())
	}
	return out
}

// entries goes over the live position delete files and deletion vectors of manifests, one at a time.
func (h *history) entries(ctx context.Context, manifests map[string]iceberg.ManifestFile, each func(*snapshot.DeleteFile)) (bool, error) {
	var mu sync.Mutex
	all := true
	err := h.eachManifest(ctx, manifests, func(ctx context.Context, m iceberg.ManifestFile) error {
		whole, err := snapshot.LiveEntries(ctx, h.files, m, func(e iceberg.ManifestEntry) {
			if e.DataFile().ContentType() != iceberg.EntryContentPosDeletes {
				return
			}
			d, err := deleteFile(e)
			mu.Lock()
			defer mu.Unlock()
			if all = all && err == nil; err == nil {
				each(d)
			}
		})
		mu.Lock()
		defer mu.Unlock()
		all = all && whole
		return err
	})
	return all, err
}

// eachManifest does something with every manifest, several at once.
func (h *history) eachManifest(ctx context.Context, manifests map[string]iceberg.ManifestFile, do func(context.Context, iceberg.ManifestFile) error) error {
	return h.each(ctx, slices.Sorted(maps.Keys(manifests)), func(ctx context.Context, location string) error {
		return do(ctx, manifests[location])
	})
}

// deleteFile is what an entry of an ancestor says. A position delete file that is about one data file by its bounds
// references it.
func deleteFile(e iceberg.ManifestEntry) (*snapshot.DeleteFile, error) {
	f := e.DataFile()
	key, err := snapshot.PartitionOf(f)
	if err != nil {
		return nil, err
	}
	d := &snapshot.DeleteFile{
		FileID: snapshot.IDOf(f), Format: f.FileFormat(), Group: &snapshot.Group{Key: key}, Seq: e.SequenceNum(), Records: f.Count(),
		Size: f.FileSizeBytes(), Referenced: optional(f.ReferencedDataFile()), SnapshotID: e.SnapshotID(),
	}
	lower, upper := bound(f.LowerBoundValues()), bound(f.UpperBoundValues())
	if d.Referenced == "" && lower != nil && upper != nil && *lower == *upper {
		d.Referenced = *lower
	}
	return d, nil
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
