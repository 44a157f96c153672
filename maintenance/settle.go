package maintenance

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// results are what merging and writing produced.
type results struct {
	written   map[*snapshot.DataFile]*vector
	kept      map[*snapshot.DataFile]bool // the existing deletion vector holds every position delete
	facts     []*facts                    // in a fixed order
	sel       *selection
	newcomers *newcomers
}

// view is how the table looks at a commit attempt, compared with the state that was merged.
type view struct {
	state *snapshot.State
	// dropped are data files whose deletes are no longer what was merged.
	dropped map[*snapshot.DataFile]bool
	// gone are data files that are no longer live: nothing needs to be said about them.
	gone map[*snapshot.DataFile]bool
	// missing are delete entries that are no longer live.
	missing map[*snapshot.DeleteFile]bool
	// unsettled are position delete files that got a live data file to apply to which merging did not know.
	unsettled map[*snapshot.DeleteFile]bool
}

// inVain returns the paths of those data files whose new deletes are not in a commit.
func (v *view) inVain(files iter.Seq[*snapshot.DataFile]) []string {
	out := []string{}
	for f := range files {
		if v.dropped[f] || v.gone[f] {
			out = append(out, f.Path)
		}
	}
	slices.Sort(out)
	return out
}

// samePlan is the view of a table that nobody changed.
func samePlan(s *snapshot.State) *view { return &view{state: s} }

// change is what goes into one commit.
type change struct {
	add    []*vector
	remove map[snapshot.FileID]bool
	stay   []Skip // position delete files that stay although they were read
	// targets are, of each removed position delete file, the live data files whose new deletion vectors hold its records.
	targets map[snapshot.FileID][]*snapshot.DataFile

	operation table.Operation // default "replace"
	addFiles  []snapshot.NewPositionDeletes
	held      []held            // what of addFiles is about live data files whose deletes stay the same
	holders   map[string]string // locations of the addFiles that hold the records of data files, by path
	rewrite   map[string]bool   // delete manifests to write anew although none of their entries goes
	// mergesOnly says that nothing but manifests is written anew, which is no reason to upgrade a table.
	mergesOnly bool
	totals     map[string]int64  // of the summary, counted anew; nil to carry the parent's forward
	summary    map[string]string // further entries of the summary
	tag        string            // to put on the parent, "" for none
	repaired   map[string]bool   // data files whose deletes change on purpose
	corrects   bool              // the new manifest list says other things of some manifest than the old one
	// inspect is shown the table as it would be before each commit; nil when nobody has to agree.
	inspect func(context.Context, *catalog.Table) error
}

// empty says that there is nothing to gain.
func (c *change) empty() bool {
	return len(c.remove)+len(c.add)+len(c.addFiles)+len(c.rewrite)+len(c.totals) == 0 && !c.corrects
}

// proved lists the data files that get other delete files, with the digests of their positions.
func (c *change) proved() []held {
	out := slices.Clone(c.held)
	for _, v := range c.add {
		out = append(out, held{path: v.file.Path, file: v.file, digest: v.digest})
	}
	return out
}

// locations are those of the files that the change adds.
func (c *change) locations() map[string]bool {
	out := map[string]bool{}
	for _, v := range c.add {
		out[v.puffin.location] = true
	}
	for _, f := range c.addFiles {
		out[f.Location] = true
	}
	return out
}

// settle decides what goes into a commit:
//
//   - a position delete file goes when every live data file it applies to has a complete deletion vector in the result;
//   - a new deletion vector is added when a delete file goes because of it, or when its old one moves;
//   - an old deletion vector goes only together with all live ones of its Puffin file.
func (r *results) settle(v *view) *change {
	c := &change{remove: map[snapshot.FileID]bool{}, targets: map[snapshot.FileID][]*snapshot.DataFile{}}
	useful := map[*snapshot.DataFile]bool{}
	for _, f := range r.goingFiles(v, c) {
		c.remove[f.file.FileID] = true
		for t := range f.targets {
			useful[t] = true
			c.targets[f.file.FileID] = append(c.targets[f.file.FileID], t)
		}
	}
	moved := r.moved(v)
	r.unpack(moved, useful, v)
	for _, f := range r.sel.sortedDataFiles() {
		w := r.written[f]
		if w == nil || !r.covered(f, v) {
			continue
		}
		switch dv := f.DV(); {
		case dv == nil && useful[f]:
			c.add = append(c.add, w)
		case dv != nil && moved[dv]:
			c.add = append(c.add, w)
		}
	}
	for d := range moved {
		c.remove[d.FileID] = true
	}
	c.mergesOnly = len(c.remove)+len(c.add) == 0
	c.rewrite = r.sel.merged(v.state)
	return c
}

// dropped returns the data files that got a new deletion vector in vain.
func (r *results) dropped(v *view) []string { return v.inVain(maps.Keys(r.written)) }

// goingFiles are the position delete files that go. A file that two entries list goes with both or not at all: its name is
// all there is to tell them apart.
func (r *results) goingFiles(v *view, c *change) []*facts {
	var going []*facts
	stays := map[snapshot.FileID]bool{}
	for _, f := range r.facts {
		if removable(f, v, c, func(t *snapshot.DataFile) bool { return r.covered(t, v) }) {
			going = append(going, f)
		} else {
			stays[f.file.FileID] = true
		}
	}
	return slices.DeleteFunc(going, func(f *facts) bool { return stays[f.file.FileID] })
}

// covered says that a data file has, in the result, a deletion vector that holds all its position deletes.
func (r *results) covered(f *snapshot.DataFile, v *view) bool {
	return (r.written[f] != nil || r.kept[f]) && !v.dropped[f] && !v.gone[f]
}

// removable decides about one position delete file and notes why it is held.
func removable(f *facts, v *view, c *change, covered func(*snapshot.DataFile) bool) bool {
	if !f.read || f.err != nil || v.missing[f.file] || v.unsettled[f.file] {
		return false
	}
	if skip, held := f.held(); held {
		c.stay = append(c.stay, skip)
		return false
	}
	for t := range f.targets {
		if !v.gone[t] && !covered(t) {
			return false
		}
	}
	return true
}

// moved returns the old deletion vectors that go: dangling ones, and those written anew. Where one of a Puffin's live
// vectors has to stay, all of them do.
func (r *results) moved(v *view) map[*snapshot.DeleteFile]bool {
	out := map[*snapshot.DeleteFile]bool{}
	for _, d := range r.sel.dangling {
		if !v.missing[d] {
			out[d] = true
		}
	}
	for f, w := range r.written {
		if dv := f.DV(); dv != nil && w != nil && r.covered(f, v) && !v.missing[dv] {
			out[dv] = true
		}
	}
	going := map[snapshot.FileID]bool{}
	for d := range out {
		going[d.FileID] = true
	}
	stays := map[string]bool{} // Puffin files of which some live vector stays
	for _, d := range v.state.DVs {
		if !going[d.FileID] {
			stays[d.Path] = true
		}
	}
	maps.DeleteFunc(out, func(d *snapshot.DeleteFile, _ bool) bool { return stays[d.Path] })
	return out
}
