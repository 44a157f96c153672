package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// dataFile is what is kept of a live data file: 32 bytes.
type dataFile struct {
	path    uint64 // its hash
	records int64
	first   int64 // its first row id, or noRowID
	added   bool  // by the snapshot that wrote the manifest
}

// noRowID stands for a first row id that is not there.
const noRowID int64 = -1

// dataFile returns what is kept of an entry.
func (s *seen) dataFile(e iceberg.ManifestEntry) dataFile {
	f := dataFile{s.hash(e.DataFile().FilePath()), e.DataFile().Count(), noRowID, e.Status() == iceberg.EntryStatusADDED}
	if id := e.DataFile().FirstRowID(); id != nil {
		f.first = *id
	}
	return f
}

// dataFiles are the live data files of manifests by location, as many as there is room for: a manifest is compared up to
// twice, with what took its place and with what it took the place of.
type dataFiles struct {
	room int64 // data files that may still be kept
	kept map[string][]dataFile
	full map[string]bool // manifests of which not all are kept
}

// keep adds one.
func (d *dataFiles) keep(manifest string, f dataFile) {
	if d.full[manifest] {
		return
	}
	if d.room--; d.room < 0 {
		d.full[manifest] = true
		d.drop(manifest)
		return
	}
	d.kept[manifest] = append(d.kept[manifest], f)
}

// drop forgets a manifest.
func (d *dataFiles) drop(manifest string) {
	d.room += int64(len(d.kept[manifest]))
	delete(d.kept, manifest)
}

// both is a data file of a manifest that only the parent lists and of one that only the child lists.
type both struct{ before, after dataFile }

// dataChange is how the data files of a parent and its child differ, as far as their manifests do.
type dataChange struct {
	removed, added []dataFile // by hash
	stayed         []both
	twice          bool // one is live in two entries, so that nobody knows which of them is gone
}

// data compares the data files of a parent and its child, where that may tell anything.
func (h *history) data(ctx context.Context, s *step) error {
	rows, ids := h.conserves(s), h.numbered(s)
	if ids {
		h.relisted(s)
		ids = len(without(s.before, s.after, iceberg.ManifestContentData)) > 0 // else each data file stayed where it was
	}
	if !rows && !ids {
		return nil
	}
	c, whole, err := h.changed(ctx, s)
	if err != nil {
		return err
	}
	if !whole {
		h.skip(maintenance.Skip{Reason: "history", Location: s.child.ManifestList, Hint: "its rows and row ids were not compared with those of its parent",
			Detail: fmt.Sprintf("the data manifests of snapshot %d or its parent cannot all be read", s.child.SnapshotID)})
		return nil
	}
	if rows {
		h.conserved(s, c)
	}
	if ids {
		h.renumbered(s, c)
	}
	return nil
}

// changed reads the data manifests that only one of the two lists.
func (h *history) changed(ctx context.Context, s *step) (*dataChange, bool, error) {
	before, whole, err := h.dataFiles(ctx, without(s.before, s.after, iceberg.ManifestContentData))
	if err != nil || !whole {
		return nil, whole, err
	}
	manifests := without(s.after, s.before, iceberg.ManifestContentData)
	after, whole, err := h.dataFiles(ctx, manifests)
	if err != nil || !whole {
		return nil, whole, err
	}
	for location := range manifests {
		h.seen.files.drop(location) // no older snapshot has it
	}
	c := diff(before, after)
	c.twice = repeats(before) || repeats(after)
	return c, true, nil
}

// repeats says whether a sorted list has a data file twice.
func repeats(files []dataFile) bool {
	for i := 1; i < len(files); i++ {
		if files[i].path == files[i-1].path {
			return true
		}
	}
	return false
}

// dataFiles returns the live data files of manifests by hash, reading those that are not kept.
func (h *history) dataFiles(ctx context.Context, manifests map[string]iceberg.ManifestFile) ([]dataFile, bool, error) {
	var out []dataFile
	missing := map[string]iceberg.ManifestFile{}
	for location, m := range manifests {
		files, kept := h.seen.files.kept[location]
		if out = append(out, files...); !kept {
			missing[location] = m
		}
	}
	var mu sync.Mutex
	all := true
	err := h.eachManifest(ctx, missing, func(ctx context.Context, m iceberg.ManifestFile) error {
		whole, err := snapshot.LiveEntries(ctx, h.files, m, func(e iceberg.ManifestEntry) {
			f := h.seen.dataFile(e)
			mu.Lock()
			defer mu.Unlock()
			out = append(out, f)
			h.seen.files.keep(m.FilePath(), f)
		})
		mu.Lock()
		defer mu.Unlock()
		if !whole {
			h.seen.files.drop(m.FilePath())
		}
		all = all && whole
		return err
	})
	slices.SortFunc(out, func(a, b dataFile) int { return cmp.Compare(a.path, b.path) })
	return out, all, err
}

// diff compares two sorted lists.
func diff(before, after []dataFile) *dataChange {
	c := &dataChange{}
	for len(before)+len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].path < after[0].path:
			c.removed, before = append(c.removed, before[0]), before[1:]
		case len(before) == 0 || after[0].path < before[0].path:
			c.added, after = append(c.added, after[0]), after[1:]
		default:
			c.stayed = append(c.stayed, both{before[0], after[0]})
			before, after = before[1:], after[1:]
		}
	}
	return c
}
