package maintenance

import (
	"slices"

	"github.com/dvcompactor/dvcompactor/snapshot"
)

// afterRewrite is what a partition costs when its small position delete files have become fewer. With a data file that is
// left alone nobody knows yet which files it keeps, so nothing is promised.
func (s *selection) afterRewrite(g *snapshot.Group) Reading {
	if slices.ContainsFunc(g.Data, func(f *snapshot.DataFile) bool { return s.blocked[f] }) {
		return readingOf(g)
	}
	c := newCandidates(s, g)
	going := map[*snapshot.DeleteFile]bool{}
	for _, d := range s.sources[g] {
		if !s.cool.covers(d) {
			going[d] = true
			if c.applies(d) {
				c.chosen = append(c.chosen, d)
			}
		}
	}
	after := &snapshot.Group{Key: g.Key, Data: g.Data, PositionDeletes: c.expected()}
	for _, d := range g.PositionDeletes {
		if !going[d] {
			after.PositionDeletes = append(after.PositionDeletes, d)
		}
	}
	return readingOf(after)
}

// expected are files like those that will take the place of the chosen ones, as large together.
func (c *candidates) expected() []*snapshot.DeleteFile {
	var about []string // the referenced data file of each
	if after := c.filesAfter(); c.sel.inPlace.Granularity == ByPartition {
		about = make([]string, *after)
	} else {
		about = c.targets()
	}
	var seq int64
	for _, d := range c.chosen {
		seq = max(seq, d.Seq)
	}
	out := make([]*snapshot.DeleteFile, len(about))
	for i, path := range about {
		out[i] = &snapshot.DeleteFile{Group: c.group, Seq: seq, Referenced: path, Size: sizeOf(c.chosen) / int64(len(about))}
	}
	return out
}

// targets are the data files that the chosen ones may apply to.
func (c *candidates) targets() []string {
	own, newest := map[string]bool{}, int64(-1)
	for _, d := range c.chosen {
		if own[d.Referenced] = true; d.Referenced == "" {
			newest = max(newest, d.Seq)
		}
	}
	var out []string
	for _, f := range c.group.Data {
		if own[f.Path] || f.Seq <= newest {
			out = append(out, f.Path)
		}
	}
	return out
}
