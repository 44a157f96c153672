package verify

import (
	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// binding compares the entry of a new deletion vector with its data file and with what was proved.
func (c *checker) binding(v Vector, f iceberg.DataFile) {
	want(c, "A2", "referenced data file of "+idText(v.id()), referenced(f), v.DataFile.Path)
	want(c, "A2", "record count of "+idText(v.id()), f.Count(), v.Cardinality)
	want(c, "B10", "file size in the entry of "+idText(v.id()), f.FileSizeBytes(), v.PuffinSize)
	live := c.Now.DataFiles[v.DataFile.Path]
	if live == nil {
		c.differ("B2", "%s, the data file of a new deletion vector, is not live", v.DataFile.Path)
		return
	}
	key, err := snapshot.PartitionOf(f)
	if err != nil || key != live.Group.Key {
		c.differ("B2", "spec or partition of the deletion vector of %s is not that of the data file", live.Path)
	}
	if seq := c.effective(v.Seq); seq < live.Seq {
		c.differ("B2", "the deletion vector of %s has data sequence number %d, its data file %d", live.Path, seq, live.Seq)
	}
}

// referenced is the referenced_data_file of an entry, "" when it has none.
func referenced(f iceberg.DataFile) string {
	if r := f.ReferencedDataFile(); r != nil {
		return *r
	}
	return ""
}

// effective is the data sequence number that an added entry has for readers.
func (c *checker) effective(seq int64) int64 {
	if seq == snapshot.Fresh {
		return c.snap.SequenceNumber
	}
	return seq
}

// content compares what the snapshot as a whole deletes.
func (c *checker) content() {
	before, after := vectorsOf(c.Parent), vectorsOf(c.Now)
	for path, dvs := range after {
		if len(dvs) > max(1, len(before[path])) {
			c.differ("B1", "%d deletion vectors for %s", len(dvs), path)
		}
	}
	c.compared("B1", len(after), "at most one deletion vector for each of %d data files", len(after))
	want(c, "A3", "number of equality delete files", c.Now.EqualityDeletes, c.Parent.EqualityDeletes)
	c.compared("A3", c.Now.EqualityDeletes, "%d equality delete files", c.Now.EqualityDeletes)
	c.replaced(after)
	c.coverage(after)
	c.lifetime()
	n := len(c.found.added)
	c.compared("A2", n, "%d new deletion vectors are the ranges whose positions were proved, and bound to their data files (B2)", n)
	c.compared("B8", n, "only deletion vectors and position delete files that were proved were added")
}

func vectorsOf(s *snapshot.State) map[string][]*snapshot.DeleteFile {
	out := map[string][]*snapshot.DeleteFile{}
	for _, d := range s.DVs {
		out[d.Referenced] = append(out[d.Referenced], d)
	}
	return out
}

// replaced compares each retired deletion vector of a live data file with the one that took its place.
func (c *checker) replaced(after map[string][]*snapshot.DeleteFile) {
	moved := 0
	for _, f := range c.found.removed {
		referenced := f.ReferencedDataFile()
		if snapshot.FormatOf(f) != iceberg.PuffinFile || referenced == nil || c.Now.DataFiles[*referenced] == nil || c.Repaired[*referenced] {
			continue
		}
		moved++
		switch dvs := after[*referenced]; {
		case len(dvs) == 0:
			c.differ("A2", "%s lost its deletion vector", *referenced)
		case dvs[0].Records != f.Count():
			c.differ("A4", "the deletion vector of %s has %d positions, had %d", *referenced, dvs[0].Records, f.Count())
		}
	}
	c.compared("A4", moved, "%d deletion vectors that moved have as many positions as before", moved)
}

// coverage compares the removed position delete files with the deletion vectors and the position delete files that hold
// their records now.
func (c *checker) coverage(after map[string][]*snapshot.DeleteFile) {
	targets := 0
	live := map[snapshot.FileID]*snapshot.DeleteFile{}
	for _, d := range c.Now.PositionDeletes {
		live[d.FileID] = d
	}
	for _, f := range c.found.removed {
		for _, t := range c.Targets[snapshot.IDOf(f)] {
			if c.Now.DataFiles[t.Path] == nil {
				continue
			}
			targets++
			holder := live[c.Holders[t.Path]]
			if len(after[t.Path]) == 0 && (holder == nil || !holder.AppliesTo(c.Now.DataFiles[t.Path])) {
				c.differ("B7", "position delete file %s is gone and %s, of which it deleted rows, has neither a deletion vector nor a new position delete file", f.FilePath(), t.Path)
			}
		}
	}
	c.compared("B7", targets, "%d times a removed position delete file had records of a live data file, which has a deletion vector or a new position delete file", targets)
}

// lifetime looks for live deletion vectors in the Puffin files of retired ones.
func (c *checker) lifetime() {
	retired := map[string]bool{}
	for _, f := range c.found.removed {
		if snapshot.FormatOf(f) == iceberg.PuffinFile {
			retired[f.FilePath()] = true
		}
	}
	for _, d := range c.Now.DVs {
		if retired[d.Path] {
			c.differ("B11", "Puffin file %s has retired deletion vectors and that of %s, which is live", d.Path, d.Referenced)
		}
	}
	c.compared("B11", len(retired), "%d Puffin files of retired deletion vectors have no live one", len(retired))
}
