package check

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// target is a data file of the head that a dropped delete file may have deleted rows of.
type target struct {
	snapshot.DataFile       // its group has only a key, and it has no deletion vectors
	fileSeq           int64 // sequence number of the snapshot that added it
}

// targets are live data files by path, and those that partition-scoped delete files may apply to by partition.
type targets struct {
	byPath  map[string]*target
	byGroup map[snapshot.GroupKey][]*target
}

// dropped reports delete files that ancestors had, of data files that the head still has. What the head has instead
// decides, so that a table that was mended is sound. Manifests can only tell when it has nothing instead.
func (h *history) dropped(ctx context.Context) error {
	sure, deep := h.sorted()
	if len(sure)+len(deep) == 0 || !h.options.wants("delete-dropped") && !h.options.wants("delete-lost-in-rewrite") {
		return nil
	}
	all, err := h.targets(ctx, slices.Concat(sure, deep))
	if err != nil {
		return err
	}
	reported := map[string]bool{}
	for _, d := range sure {
		h.certain(d, all, reported)
	}
	if len(deep) == 0 {
		return nil
	}
	return h.compareRecords(ctx, deep, all, reported)
}

// sorted returns the delete files that their entries judge, and those that are read.
func (h *history) sorted() (sure, deep []*drop) {
	for _, d := range h.drops {
		about := d.Referenced
		if about == "" {
			about = d.Path
		}
		switch {
		case h.options.Level >= Vectors && h.options.Subset.Has(about):
			deep = append(deep, d)
		case d.Referenced != "" && !d.taken():
			sure = append(sure, d)
		}
	}
	return sure, deep
}

// targets looks for the live data files that dropped delete files are about.
func (h *history) targets(ctx context.Context, drops []*drop) (*targets, error) {
	paths, groups := map[string]bool{}, map[snapshot.GroupKey]bool{}
	for _, d := range drops {
		if d.Referenced != "" {
			paths[d.Referenced] = true
		} else {
			groups[d.Group.Key] = true
		}
	}
	all := &targets{byPath: map[string]*target{}, byGroup: map[snapshot.GroupKey][]*target{}}
	var mu sync.Mutex
	see := func(e iceberg.ManifestEntry) {
		key, err := snapshot.PartitionOf(e.DataFile())
		if path := e.DataFile().FilePath(); err == nil && (paths[path] || groups[key]) {
			mu.Lock()
			defer mu.Unlock()
			all.add(e, key)
		}
	}
	err := h.eachManifest(ctx, without(h.survey.State.Manifests, nil, iceberg.ManifestContentData), func(ctx context.Context, m iceberg.ManifestFile) error {
		_, err := snapshot.LiveEntries(ctx, h.files, m, see) // whole, as the survey was
		return err
	})
	return all, err
}

func (all *targets) add(e iceberg.ManifestEntry, key snapshot.GroupKey) {
	f := e.DataFile()
	if t := all.byPath[f.FilePath()]; t != nil {
		t.Twice = true
		return
	}
	t := &target{DataFile: snapshot.DataFile{Path: f.FilePath(), Group: &snapshot.Group{Key: key}, Seq: e.SequenceNum(), Records: f.Count()}, fileSeq: -1}
	if seq := e.FileSequenceNum(); seq != nil {
		t.fileSeq = *seq
	}
	all.byPath[t.Path] = t
	all.byGroup[key] = append(all.byGroup[key], t)
}

// of returns the data files that a dropped delete file applied to when it was dropped.
func (all *targets) of(d *drop) []*target {
	candidates := all.byGroup[d.Group.Key]
	if d.Referenced != "" {
		candidates = nil
		if t := all.byPath[d.Referenced]; t != nil {
			candidates = []*target{t}
		}
	}
	var out []*target
	for _, t := range candidates {
		if d.deleted(t) {
			out = append(out, t)
		}
	}
	return out
}

// deleted says whether a data file was live in the parent and in the child, in the partition and with a data sequence
// number to which the delete file applied.
func (d *drop) deleted(t *target) bool {
	older := t.fileSeq >= 0 && t.fileSeq < d.child.SequenceNumber
	return older && !t.Twice && !d.settled[t.Path] && (d.Referenced == "" || d.Referenced == t.Path) && t.Group.Key == d.Group.Key && t.Seq <= d.Seq
}

// instead returns what may delete rows of a data file in the head. A deletion vector that names no data file may be its.
func (h *history) instead(t *target) []*snapshot.DeleteFile {
	out := slices.Clone(h.nameless)
	data := h.survey.State.DataFiles[t.Path]
	if data == nil {
		return out
	}
	out = append(out, data.DVs...)
	for _, d := range data.Group.PositionDeletes {
		if d.AppliesTo(data) {
			out = append(out, d)
		}
	}
	return out
}

// certain reports a delete file about one data file of which the head deletes nothing any more.
func (h *history) certain(d *drop, all *targets, reported map[string]bool) {
	if d.Referenced == "" || d.taken() {
		return
	}
	for _, t := range all.of(d) {
		if len(h.instead(t)) == 0 && !reported[t.Path] {
			reported[t.Path] = true
			h.lost(d, lostKey{t.Path, "delete-dropped"}, d.Records, nil)
		}
	}
}

// lost reports rows of a data file that are back since a delete file was dropped or replaced; positions are nil when
// nobody read them.
func (h *history) lost(d *drop, what lostKey, n int64, positions *puffin.Bitmap) {
	f := of(what.issue, d.DeleteFile)
	if h.options.Positions {
		f.Positions = positions
	}
	f.DataFile, f.Rows, f.snapshotID = what.path, &n, d.child.SnapshotID
	f.Detail = fmt.Sprintf("snapshot %d dropped the delete file and kept the data file: %d deleted rows are back", d.child.SnapshotID, n)
	if what.issue == "delete-lost-in-rewrite" {
		f.Detail = fmt.Sprintf("snapshot %d put other delete files in the place of this one and lost positions: %d deleted rows are back", d.child.SnapshotID, n)
	}
	h.add(f)
}
