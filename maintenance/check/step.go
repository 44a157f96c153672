package check

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// step is a snapshot beside its parent, and what only one of the two has.
type step struct {
	child, parent *table.Snapshot
	before, after []iceberg.ManifestFile // that the parent and the child list
	gone          map[snapshot.FileID]*drop
	instead       *replacements
	touched       map[string]bool // data files whose deletion vectors differ
	out, in       vectorCounts    // of the manifests that only the parent lists, and of those that only the child lists
}

// drop is a position delete file or deletion vector that was live in a snapshot and is not in its child.
type drop struct {
	*snapshot.DeleteFile                 // its group has only a key
	child                *table.Snapshot // which dropped it
	instead              *replacements   // what the child added
	kept                 bool            // the child lists it in another manifest
	settled              map[string]bool // data files that a later repair decided about
}

// replacements are what the delete files that a snapshot added are about.
type replacements struct {
	vectors map[string]bool            // data files of deletion vectors
	paths   map[string]bool            // data files of position delete files about one
	groups  map[snapshot.GroupKey]bool // partitions of other position delete files
}

func newStep(child, parent *table.Snapshot, before, after []iceberg.ManifestFile) *step {
	return &step{
		child: child, parent: parent, before: before, after: after, gone: map[snapshot.FileID]*drop{}, touched: map[string]bool{}, out: vectorCounts{}, in: vectorCounts{},
		instead: &replacements{vectors: map[string]bool{}, paths: map[string]bool{}, groups: map[snapshot.GroupKey]bool{}},
	}
}

// repairs says whether the child is a repair: what it does to deletes is on purpose.
func (s *step) repairs() bool {
	return maintenance.IsRepair(s.child)
}

// lose notes a delete file of a manifest that only the parent lists.
func (s *step) lose(seen *seen, d *snapshot.DeleteFile) {
	s.gone[d.FileID] = &drop{DeleteFile: d, child: s.child, instead: s.instead}
	s.count(seen, d, s.out)
}

// gain notes a delete file of a manifest that only the child lists.
func (s *step) gain(seen *seen, d *snapshot.DeleteFile) {
	s.count(seen, d, s.in)
	switch known := s.gone[d.FileID]; {
	case known != nil && known.Referenced == d.Referenced:
		known.kept = true
	case d.IsDV():
		s.instead.vectors[d.Referenced] = true
	case d.Referenced != "":
		s.instead.paths[d.Referenced] = true
	default:
		s.instead.groups[d.Group.Key] = true
	}
}

func (s *step) count(seen *seen, d *snapshot.DeleteFile, counts vectorCounts) {
	if d.IsDV() {
		counts.add(seen.hash(d.Referenced), 1, d.Records)
		s.touched[d.Referenced] = true
	}
}

// forgetKept leaves in gone only what the child dropped.
func (s *step) forgetKept() {
	maps.DeleteFunc(s.gone, func(_ snapshot.FileID, d *drop) bool { return d.kept })
}

// taken says whether the child added a deletion vector of the data file that the delete file is about.
func (d *drop) taken() bool { return d.Referenced != "" && d.instead.vectors[d.Referenced] }

// issue is what a loss of the delete file's positions is called, by whether something was added in its place.
func (d *drop) issue(t *target) string {
	if d.instead.vectors[t.Path] || d.instead.paths[t.Path] || d.instead.groups[t.Group.Key] {
		return "delete-lost-in-rewrite"
	}
	return "delete-dropped"
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
			h.seen.mix(m, e.DataFile())
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
	d, err := snapshot.DeleteOf(e)
	if err != nil || d == nil {
		return d, err
	}
	f := e.DataFile()
	lower, upper := bound(f.LowerBoundValues()), bound(f.UpperBoundValues())
	if d.Referenced == "" && lower != nil && upper != nil && *lower == *upper {
		d.Referenced = *lower
	}
	return d, nil
}
