package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// vectorCount is how many deletion vectors a data file has, and how many positions they have together.
type vectorCount struct {
	vectors   int32
	positions int64
}

// vectorCounts are those of data files by the hash of their path, 24 bytes for each data file with a deletion vector.
type vectorCounts map[uint64]vectorCount

func (c vectorCounts) add(path uint64, vectors int32, positions int64) {
	n := c[path]
	n.vectors += vectors
	n.positions += positions
	if c[path] = n; n == (vectorCount{}) {
		delete(c, path)
	}
}

// back goes from the counts of a child to those of its parent.
func (c vectorCounts) back(s *step) {
	for path, n := range s.in {
		c.add(path, -n.vectors, -n.positions)
	}
	for path, n := range s.out {
		c.add(path, n.vectors, n.positions)
	}
}

// parentCount returns what the parent has of a data file.
func (h *history) parentCount(s *step, path uint64) vectorCount {
	child, in, out := h.counts[path], s.in[path], s.out[path]
	return vectorCount{child.vectors - in.vectors + out.vectors, child.positions - in.positions + out.positions}
}

// conserves says whether the child may not have changed any row, and manifests can tell whether it did: in neither of the
// two are there position or equality delete files, of which only reading them tells what they delete. A repair may take
// away positions that the data file does not have.
func (h *history) conserves(s *step) bool {
	if s.repairs() || s.child.Summary == nil || s.child.Summary.Operation != table.OpReplace || !h.options.wants("rows-resurrected") {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(s.before, s.after), func(m iceberg.ManifestFile) bool { return h.seen.mixed[m.FilePath()] })
}

// conserved compares the live rows of the data files that the child removed with those that it added, and the deletion
// vectors of data files that stayed.
func (h *history) conserved(s *step, c *dataChange) {
	if c.twice {
		return
	}
	before, sure := liveRows(c.removed, func(path uint64) vectorCount { return h.parentCount(s, path) })
	after, sureToo := liveRows(c.added, func(path uint64) vectorCount { return h.counts[path] })
	for _, b := range c.stayed {
		before, after = before+b.before.records, after+b.after.records
	}
	if sure && sureToo && before != after {
		h.changedRows(s, Finding{Location: s.child.ManifestList}, after-before,
			fmt.Sprintf("snapshot %d may not change rows, but the data files that it removed had %d live rows and those that it added have %d", s.child.SnapshotID, before, after))
	}
	for path := range s.touched {
		if hash := h.seen.hash(path); !has(c.removed, hash) && !has(c.added, hash) {
			h.otherVector(s, path, h.parentCount(s, hash), h.counts[hash])
		}
	}
}

// liveRows counts rows that no deletion vector deletes. It is false when nobody can say.
func liveRows(files []dataFile, of func(uint64) vectorCount) (int64, bool) {
	total := int64(0)
	for _, f := range files {
		n := of(f.path)
		if n.vectors > 1 || n.positions > f.records {
			return 0, false
		}
		total += f.records - n.positions
	}
	return total, true
}

// has looks for a data file in a list that is sorted by hash.
func has(files []dataFile, path uint64) bool {
	_, found := slices.BinarySearchFunc(files, path, func(f dataFile, path uint64) int { return cmp.Compare(f.path, path) })
	return found
}

// otherVector judges a data file that stayed and whose deletion vector has another number of positions. One that has none
// any more is said to be dropped; one that has fewer is compared by records where they are read, and is mended when the
// head has them all again.
func (h *history) otherVector(s *step, path string, before, after vectorCount) {
	data := h.survey.State.DataFiles[path]
	if data == nil || data.Twice || data.DV() == nil || before.vectors > 1 || after.vectors != 1 || before.positions == after.positions {
		return
	}
	fewer := after.positions < before.positions
	if fewer && (data.DV().Records >= before.positions || h.readsRecords(path)) {
		return
	}
	f := of("rows-resurrected", data.DV())
	h.changedRows(s, f, before.positions-after.positions,
		fmt.Sprintf("snapshot %d may not change rows, but replaced a deletion vector of %d positions by one of %d", s.child.SnapshotID, before.positions, after.positions))
}

// readsRecords says whether lost records of a data file are found by reading them.
func (h *history) readsRecords(path string) bool {
	return h.options.Level >= Vectors && h.options.Subset.Has(path) && h.options.wants("delete-lost-in-rewrite")
}

// changedRows reports rows that came, or went when n is negative, in a snapshot that may not change any.
func (h *history) changedRows(s *step, f Finding, n int64, detail string) {
	f.Issue, f.snapshotID, f.Detail = "rows-resurrected", s.child.SnapshotID, detail
	if n < 0 {
		n = -n
		f.Detail += ": rows are gone"
	}
	f.Rows = &n
	h.add(f)
}
