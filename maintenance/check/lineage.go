package check

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
)

// rowIDs are the row ids of the live data files of the head, 16 bytes for each.
type rowIDs struct {
	ranges  []idRange
	end     int64 // after the largest
	missing int64 // data files without
	example string
}

// idRange is the row ids of a data file, the last one excluded.
type idRange struct{ first, end int64 }

// rangeOfIDs returns the row ids of a data file, its own or inherited from its manifest (spec, "First Row ID
// Inheritance"). It is false when it has none.
func rangeOfIDs(f iceberg.DataFile) (idRange, bool) {
	id := f.FirstRowID()
	if id == nil {
		return idRange{}, false
	}
	return idRange{*id, *id + min(max(f.Count(), 0), math.MaxInt64-*id)}, true
}

// see notes a live data file. It is used under the lock of what is seen.
func (r *rowIDs) see(f iceberg.DataFile) {
	ids, numbered := rangeOfIDs(f)
	switch {
	case !numbered:
		r.missing++
		if r.example == "" || f.FilePath() < r.example {
			r.example = f.FilePath()
		}
	case ids.first < ids.end:
		r.ranges = append(r.ranges, ids)
		r.end = max(r.end, ids.end)
	}
}

// overlapping returns the ranges that share ids with another.
func (r *rowIDs) overlapping() map[idRange]bool {
	slices.SortFunc(r.ranges, func(a, b idRange) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.end, b.end)) })
	out := map[idRange]bool{}
	last := idRange{}
	for _, ids := range r.ranges {
		if ids.first < last.end {
			out[last], out[ids] = true, true
		}
		if ids.end > last.end {
			last = ids
		}
	}
	return out
}

// lineage looks at the row ids of the head, if it has any: snapshots of before the upgrade to format version 3 have none.
func (h *history) lineage(ctx context.Context) error {
	if h.report.FormatVersion < 3 || h.head.FirstRowID == nil || !h.options.wants("lineage-damage") {
		return nil
	}
	r := &h.seen.rowIDs
	if r.missing > 0 {
		h.lineageDamage(r.example, fmt.Sprintf("%d live data files have no first_row_id, nor have their manifests", r.missing))
	}
	end := r.end
	if added := h.head.AddedRows; added != nil {
		end = max(end, *h.head.FirstRowID+*added)
	}
	if next := h.table.Metadata.NextRowID(); next < end {
		h.lineageDamage("", fmt.Sprintf("next-row-id is %d, but row ids up to %d are given: the next snapshot gives some of them again", next, end-1))
	}
	ranges := r.overlapping()
	r.ranges = nil
	if len(ranges) == 0 {
		return nil
	}
	return h.overlapping(ctx, ranges)
}

// overlapping names data files with ids that another one has, too. One that is live in two entries is said to be that.
func (h *history) overlapping(ctx context.Context, ranges map[idRange]bool) error {
	var mu sync.Mutex
	byPath := map[string]idRange{}
	err := h.survey.EachData(ctx, func(f iceberg.DataFile) {
		if ids, numbered := rangeOfIDs(f); numbered && ranges[ids] {
			mu.Lock()
			defer mu.Unlock()
			byPath[f.FilePath()] = ids
		}
	})
	again := &rowIDs{ranges: slices.Collect(maps.Values(byPath))}
	ranges = again.overlapping()
	var paths []string
	for path, ids := range byPath {
		if ranges[ids] {
			paths = append(paths, path)
		}
	}
	if err != nil || len(paths) == 0 {
		return err
	}
	slices.Sort(paths)
	h.lineageDamage(paths[0], fmt.Sprintf("%d live data files have row ids that another one has, too: %s", len(paths), strings.Join(some(paths), ", ")))
	return nil
}

func (h *history) lineageDamage(dataFile, detail string) {
	h.add(Finding{Issue: "lineage-damage", DataFile: dataFile, Location: h.head.ManifestList, snapshotID: h.head.SnapshotID, Detail: detail})
}

// numbered says whether row ids of the parent have to be those of the child.
func (h *history) numbered(s *step) bool {
	return s.parent.FirstRowID != nil && s.child.FirstRowID != nil && h.options.wants("lineage-damage")
}

// relisted reports manifests that both list and that give other row ids in the child: they are inherited from the list.
func (h *history) relisted(s *step) {
	before := map[string]iceberg.ManifestFile{}
	for _, m := range s.before {
		before[m.FilePath()] = m
	}
	for _, m := range s.after {
		was := before[m.FilePath()]
		if m.ManifestContent() != iceberg.ManifestContentData || was == nil || was.FirstRowID() == nil {
			continue
		}
		if is := m.FirstRowID(); is == nil || *is != *was.FirstRowID() {
			h.add(Finding{Issue: "lineage-damage", Location: m.FilePath(), snapshotID: s.child.SnapshotID, Expected: text(was.FirstRowID()), Actual: text(is),
				Detail: fmt.Sprintf("snapshot %d changed the first_row_id of the manifest, which its data files inherit", s.child.SnapshotID)})
		}
	}
}

// renumbered reports data files that stayed and whose row ids did not.
func (h *history) renumbered(s *step, c *dataChange) {
	n := 0
	for _, b := range c.stayed {
		if b.before.first != noRowID && !b.after.added && b.before.first != b.after.first {
			n++
		}
	}
	if n > 0 {
		h.add(Finding{Issue: "lineage-damage", Location: s.child.ManifestList, snapshotID: s.child.SnapshotID,
			Detail: fmt.Sprintf("snapshot %d changed or lost the row ids of %d data files that it kept", s.child.SnapshotID, n)})
	}
}
