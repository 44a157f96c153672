package judge

import (
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
)

// positionDeletes judges B8, B2, B10 and C7 of a new position delete file, which only format version 2 allows: it is
// about live data files of its partition, which it applies to; it is no newer than what it replaces; and its entry says
// what its records say.
func (c *commit) positionDeletes(e entry, data map[string]entry) {
	id := e.id()
	if c.after.Version() != 2 {
		c.bad("B8 position delete file %s is new in a table of version %d", id, c.after.Version())
		return
	}
	records := testlake.Records(c.t, c.fs, id)
	paths := slices.Sorted(maps.Keys(records))
	n, live, newest := 0, 0, int64(-1)
	for _, path := range paths {
		n += len(records[path])
		f, ok := data[path]
		if !ok {
			newest = max(newest, c.sourceSeq(path, e, 0)) // it went between the writing of the file and the commit
			continue
		}
		live++
		switch {
		case e.file.SpecID() != f.file.SpecID() || !testlake.EqualTuples(e.file.Partition(), f.file.Partition()):
			c.bad("B2 position delete file %s is of spec %d %v, its data file %s of %d %v", id, e.file.SpecID(), e.file.Partition(), path, f.file.SpecID(), f.file.Partition())
		case e.SequenceNum() < f.SequenceNum():
			c.bad("B2 position delete file %s has data sequence number %d, its data file %s has %d", id, e.SequenceNum(), path, f.SequenceNum())
		}
		newest = max(newest, c.sourceSeq(path, f, f.SequenceNum()))
		if unique := slices.Compact(slices.Sorted(slices.Values(records[path]))); !slices.Equal(unique, records[path]) {
			c.bad("B2 position delete file %s: positions of %s do not ascend: %v", id, path, records[path])
		}
	}
	if live == 0 {
		c.bad("B2 position delete file %s is about no live data file", id)
	}
	if e.SequenceNum() > newest {
		c.bad("C7 position delete file %s: data sequence number %d, its sources have %d", id, e.SequenceNum(), newest)
	}
	if int64(n) != e.file.Count() {
		c.bad("B10 position delete file %s: %d records, record count %d", id, n, e.file.Count())
	}
	c.bounds(e, paths)
	if value(e.FileSequenceNum()) != c.snap.SequenceNumber || e.SnapshotID() != c.snap.SnapshotID || e.Status() != iceberg.EntryStatusADDED {
		c.bad("C7 position delete file %s: status %v, file sequence number %d, snapshot %d", id, e.Status(), value(e.FileSequenceNum()), e.SnapshotID())
	}
}

// bounds judges what the entry of a position delete file says about the paths in it.
func (c *commit) bounds(e entry, paths []string) {
	if len(paths) == 0 {
		c.bad("B8 position delete file %s has no records", e.id())
		return
	}
	const filePath = 2147483546 // reserved field id
	lower, upper := string(e.file.LowerBoundValues()[filePath]), string(e.file.UpperBoundValues()[filePath])
	if lower != paths[0] || upper != paths[len(paths)-1] {
		c.bad("B2 position delete file %s: paths from %s to %s, bounds %s and %s", e.id(), paths[0], paths[len(paths)-1], lower, upper)
	}
	ref := e.file.ReferencedDataFile()
	if only := len(paths) == 1; only != (ref != nil) || only && *ref != paths[0] {
		c.bad("B2 position delete file %s is about %d data files, referenced data file %v", e.id(), len(paths), ref)
	}
}
