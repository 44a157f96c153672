package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// positionDeletes finds what the entries of position and equality delete files contradict.
func (c *checker) positionDeletes() error {
	for _, d := range c.survey.State.PositionDeletes {
		c.boundsOf(d)
		c.bound(d)
	}
	if c.survey.Complete {
		c.agedEqualityDeletes()
	}
	return nil
}

// bound looks at the data file that a position delete file is bound to, and whether there is any.
func (c *checker) bound(d *snapshot.DeleteFile) {
	data := c.survey.State.DataFiles[d.Referenced]
	if data != nil && !data.Twice && data.Group != d.Group {
		f := of("delete-partition", d)
		f.Expected, f.Actual = place(data.Group), place(d.Group)
		f.Detail = fmt.Sprintf("referenced_data_file is in %s, the position delete file in %s", f.Expected, f.Actual)
		c.add(f)
		return
	}
	if !c.survey.Complete {
		return
	}
	aged := func(why string) {
		f := of("delete-aged", d)
		f.Detail = why
		c.add(f)
	}
	least, any := c.seen.minSeq[d.Group.Key]
	switch {
	case data != nil && !data.Twice && data.Seq > d.Seq:
		aged(fmt.Sprintf("its referenced data file has data sequence number %d, the delete file %d", data.Seq, d.Seq))
	case !any:
		aged("its partition has no live data file")
	case least > d.Seq:
		aged(fmt.Sprintf("every live data file of its partition has a data sequence number of %d or more, the delete file has %d", least, d.Seq))
	}
}

// agedEqualityDeletes finds equality delete files that are older than every data file they could apply to.
func (c *checker) agedEqualityDeletes() {
	for _, e := range c.seen.equality {
		least, any := c.seen.minSeq[e.key]
		if spec := c.table.Metadata.PartitionSpecByID(int(e.key.SpecID)); spec != nil && spec.NumFields() == 0 {
			least, any = c.seen.leastSeq, c.seen.leastSeq >= 0 // it applies to the whole table
		}
		if any && least < e.seq {
			continue
		}
		c.add(Finding{Issue: "delete-aged", Repair: None, Location: e.path, snapshotID: e.snapshotID,
			Detail: fmt.Sprintf("the equality delete file has data sequence number %d and applies to older data files only, of which there are none", e.seq),
			Hint:   "dvcompactor leaves equality delete files alone: rewrite the table's data files with the engine"})
	}
}

// truncated is to how many characters writers cut bounds by default.
const truncated = 16

// boundsOf finds column bounds of file_path that are wrong without looking into the file.
func (c *checker) boundsOf(d *snapshot.DeleteFile) {
	b := c.seen.bounds[d.FileID]
	if b.lower == nil || b.upper == nil {
		return // none is slow and not wrong
	}
	f := of("delete-bounds", d)
	f.Rows = &d.Records
	switch {
	case *b.lower > *b.upper:
		f.Detail = fmt.Sprintf("the lower bound of file_path %q is above the upper bound %q: readers skip the file", *b.lower, *b.upper)
	case *b.lower == *b.upper && c.cutPath(d.Group, *b.lower):
		f.Actual = *b.lower
		f.Detail = fmt.Sprintf("both bounds of file_path are %q, the start of a path and no path: readers bind the file to a data file that does not exist", *b.lower)
	default:
		return
	}
	c.misbounded[d] = true
	c.add(f)
}

// cutPath says whether a text is the start of the path of a live data file of a partition, cut to the length that
// writers cut bounds to, and no path itself.
func (c *checker) cutPath(g *snapshot.Group, text string) bool {
	if len([]rune(text)) != truncated || slices.ContainsFunc(g.Data, func(f *snapshot.DataFile) bool { return f.Path == text }) {
		return false
	}
	return slices.ContainsFunc(g.Data, func(f *snapshot.DataFile) bool { return strings.HasPrefix(f.Path, text) })
}

// afterUpgrade finds a position delete file that was added while the table had format version 3 already.
func (c *checker) afterUpgrade(f iceberg.DataFile, e iceberg.ManifestEntry) {
	if c.report.FormatVersion < 3 {
		return
	}
	added := c.table.Metadata.SnapshotByID(e.SnapshotID())
	if added == nil || added.FirstRowID == nil { // every snapshot of format version 3 has a first row id
		return
	}
	records := f.Count()
	c.add(Finding{Issue: "delete-after-upgrade", Location: f.FilePath(), DataFile: optional(f.ReferencedDataFile()), Rows: &records, snapshotID: e.SnapshotID(),
		Detail: fmt.Sprintf("snapshot %d of format version 3 added a position delete file", e.SnapshotID())})
}

func optional(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// twice finds data files that are live in two entries. Only when hashes of paths collide are the manifests read again.
func (c *checker) twice(ctx context.Context) error {
	hashes := c.seen.paths
	c.seen.paths = nil
	slices.Sort(hashes)
	suspects := map[uint64]bool{}
	for i := 1; i < len(hashes); i++ {
		if hashes[i] == hashes[i-1] {
			suspects[hashes[i]] = true
		}
	}
	if len(suspects) == 0 {
		return nil
	}
	var mu sync.Mutex
	times := map[string]int{}
	err := c.survey.EachData(ctx, func(f iceberg.DataFile) {
		if path := f.FilePath(); suspects[c.seen.hash(path)] {
			mu.Lock()
			defer mu.Unlock()
			times[path]++
		}
	})
	for path, n := range times {
		if n > 1 {
			c.add(Finding{Issue: "data-file-twice", DataFile: path, Location: path, Detail: fmt.Sprintf("the data file is live in %d entries", n)})
		}
	}
	return err
}
