package maintenance

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// selectInPlace chooses the position delete files that are worth rewriting as fewer ones, partition by partition. Other
// than a deletion vector a position delete file hides nothing, so any choice keeps the deleted positions. It is made by
// entries alone; what their records allow is seen when they are read.
func (s *selection) selectInPlace() {
	listed := entriesOf(s.state)
	for _, g := range s.state.SortedGroups() {
		if !s.chosen(g) {
			continue
		}
		c := newCandidates(s, g)
		for _, d := range g.PositionDeletes {
			if listed[d.FileID] == 1 { // its name is all there is to tell two entries of one file apart
				c.add(d)
			}
		}
		if !c.choose() {
			continue
		}
		c.blockHot()
		s.groups = append(s.groups, g)
		s.sources[g] = c.taken()
		s.partitions = append(s.partitions, c.plan())
	}
}

// sourcesOf are the position delete files of a group that are read.
func (s *selection) sourcesOf(g *snapshot.Group) []*snapshot.DeleteFile {
	if s.inPlace != nil {
		return s.sources[g]
	}
	return g.PositionDeletes
}

// candidates are the position delete files of one partition.
type candidates struct {
	sel    *selection
	group  *snapshot.Group
	oldest int64 // data sequence number among its data files

	dangling []*snapshot.DeleteFile // that by their entries apply to no live data file
	small    []*snapshot.DeleteFile // that may be rewritten
	chosen   []*snapshot.DeleteFile // of the small ones
	hot      []*snapshot.DeleteFile // that are read to learn which data files they are about
}

func newCandidates(s *selection, g *snapshot.Group) *candidates {
	c := &candidates{sel: s, group: g, oldest: math.MaxInt64}
	for _, f := range g.Data {
		c.oldest = min(c.oldest, f.Seq)
	}
	return c
}

// add sorts one file.
func (c *candidates) add(d *snapshot.DeleteFile) {
	s := c.sel
	switch {
	case !positiondelete.Readable(d.Format):
		s.skipped = append(s.skipped, Skip{Reason: "format-unreadable", Location: d.Path, Detail: fmt.Sprintf("position delete file in %s", d.Format), Hint: "it stays live"})
	case s.cool.covers(d):
		s.skipped = append(s.skipped, s.hotFile(d))
		c.hot = append(c.hot, d)
	case !c.applies(d):
		if twin, near := s.twins[d.Referenced]; near {
			s.skipped = append(s.skipped, twinned(d, twin))
		} else {
			c.dangling = append(c.dangling, d)
		}
	case s.inPlace.RewriteAll || d.Size < s.inPlace.TargetSize/4*3:
		c.small = append(c.small, d)
	}
}

// twinned says why a file stays that references no live data file of its partition.
func twinned(d *snapshot.DeleteFile, twin snapshot.Twin) Skip {
	if twin.Exact {
		return Skip{Reason: "delete-partition", Location: d.Path, DataFile: d.Referenced, Detail: "its referenced data file is in another spec or partition, so it does not apply", Hint: hintCheck}
	}
	return Skip{Reason: "path-near-miss", Location: d.Path, DataFile: twin.Path, Detail: "it references " + d.Referenced + ", which is not live, but this data file is", Hint: hintCheck}
}

// applies says whether a file may, by its entry, apply to any live data file.
func (c *candidates) applies(d *snapshot.DeleteFile) bool {
	if d.Referenced != "" {
		f := c.sel.state.DataFiles[d.Referenced]
		return f != nil && (d.AppliesTo(f) || f.Twice)
	}
	return c.oldest <= d.Seq
}

// choose says whether there is anything to gain in the partition, or notes why not.
func (c *candidates) choose() bool {
	p := c.sel.inPlace
	c.chosen = c.small
	if p.Granularity == ByFile && !p.RewriteAll {
		c.chosen = c.scattered()
	}
	if why := c.littleToGain(); why != "" {
		if len(c.small) > 1 {
			c.sel.skipped = append(c.sel.skipped, Skip{Reason: "little-to-gain", Detail: fmt.Sprintf("partition %s of spec %d: %s", cmp.Or(c.group.Label, "(none)"), c.group.Key.SpecID, why)})
		}
		c.chosen = nil
	}
	return len(c.chosen)+len(c.dangling) > 0
}

// littleToGain says why the chosen files are better left alone, or "".
func (c *candidates) littleToGain() string {
	p, n, after := c.sel.inPlace, len(c.chosen), c.filesAfter()
	switch {
	case p.RewriteAll:
		return ""
	case n == 0:
		return fmt.Sprintf("%d small position delete files, each of another data file", len(c.small))
	case n < p.MinInputFiles:
		return fmt.Sprintf("%d small position delete files to merge, fewer than the %d that are worth it", n, p.MinInputFiles)
	case p.Granularity == ByPartition && *after >= n:
		return fmt.Sprintf("%d position delete files of %d bytes, which make no fewer of %d", n, sizeOf(c.chosen), p.TargetSize)
	}
	return ""
}

// scattered are the files that may apply to a data file to which others may apply as well.
func (c *candidates) scattered() []*snapshot.DeleteFile {
	perFile := map[string]int{}
	var common []*snapshot.DeleteFile // about any data file of the partition
	for _, d := range c.small {
		if d.Referenced == "" {
			common = append(common, d)
		} else {
			perFile[d.Referenced]++
		}
	}
	if len(common) > 1 {
		return c.small
	}
	var out []*snapshot.DeleteFile
	shared := false
	for _, d := range c.small {
		if d.Referenced == "" {
			continue
		}
		with := len(common) == 1 && common[0].AppliesTo(c.sel.state.DataFiles[d.Referenced])
		shared = shared || with
		if with || perFile[d.Referenced] > 1 {
			out = append(out, d)
		}
	}
	if shared {
		out = append(out, common...)
	}
	return out
}

// filesAfter is how many files the chosen ones become, going by their sizes; nil when only their records tell.
func (c *candidates) filesAfter() *int {
	p := c.sel.inPlace
	n := int((sizeOf(c.chosen) + p.TargetSize - 1) / p.TargetSize)
	if p.Granularity == ByFile {
		about := map[string]bool{}
		for _, d := range c.chosen {
			about[d.Referenced] = true
		}
		if about[""] {
			return nil
		}
		n = len(about)
	}
	return &n
}

// taken are the files to read, in the order of their names: beside those that are to go the hot ones of which only their
// records tell what they are about.
func (c *candidates) taken() []*snapshot.DeleteFile {
	out := slices.Concat(c.dangling, c.chosen)
	for _, d := range c.hot {
		if len(c.chosen) > 0 && d.Referenced == "" {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b *snapshot.DeleteFile) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// blockHot blocks the data files that hot files name in their entries.
func (c *candidates) blockHot() {
	for _, d := range c.hot {
		if f := c.sel.state.DataFiles[d.Referenced]; f != nil {
			c.sel.block(f, "cool-down", "its position delete file "+d.Path+" was "+c.sel.cool.why(d), hintCoolDown)
		}
	}
}

// plan says what the choice is.
func (c *candidates) plan() PartitionPlan {
	out := PartitionPlan{
		SpecID: c.group.Key.SpecID, Partition: c.group.Label, DataFiles: len(c.group.Data), PositionDeleteFiles: len(c.dangling) + len(c.chosen),
		InPlace: &InPlacePlan{Bytes: sizeOf(c.dangling) + sizeOf(c.chosen), Dangling: len(c.dangling), FilesAfter: c.filesAfter()},
	}
	for _, d := range slices.Concat(c.dangling, c.chosen) {
		out.Records += d.Records
	}
	return out
}

func sizeOf(files []*snapshot.DeleteFile) (n int64) {
	for _, d := range files {
		n += sane(d.Size)
	}
	return n
}
