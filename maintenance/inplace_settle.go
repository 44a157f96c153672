package maintenance

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// rewrite is the job of committing position delete files that take the place of others. Position deletes add up, so a
// source may go as soon as its records of every live data file are in files of the result; and what other writers delete
// meanwhile does not matter.
type rewrite struct {
	sel    *selection
	facts  []*facts // in a fixed order
	files  []*deletesFile
	holder map[*snapshot.DataFile]*deletesFile
}

// rewriteAll reads the chosen position delete files and writes what takes their place.
func rewriteAll(ctx context.Context, p *Plan, w *writer, t *catalog.Table) (*rewrite, error) {
	m := newMerger(p.pending, t.Store)
	out := newRewriter(w, *p.pending.inPlace)
	err := m.all(ctx, func(sets []*merged) error { return out.add(m.worth(sets)) })
	if err == nil {
		err = out.finish()
	}
	if err == nil {
		err = m.findTwins(ctx, t)
	}
	if err != nil {
		return nil, errors.Join(err, out.abort())
	}
	r := &rewrite{sel: p.pending, facts: m.inOrder(), files: out.written, holder: map[*snapshot.DataFile]*deletesFile{}}
	slices.SortFunc(r.files, func(a, b *deletesFile) int { return strings.Compare(a.holds[0].path, b.holds[0].path) })
	for _, f := range r.files {
		for _, h := range f.holds {
			r.holder[h.file] = f
		}
	}
	return r, nil
}

// worth leaves out data files that one source alone is about, which is about no other and loses no records: the
// file that took its place would be the same.
func (m *merger) worth(sets []*merged) []*merged {
	if m.sel.inPlace.Granularity != ByFile {
		return sets
	}
	sources := map[*snapshot.Group]map[*snapshot.DataFile][]*facts{}
	return slices.DeleteFunc(slices.Clone(sets), func(s *merged) bool {
		g := s.file.Group
		if sources[g] == nil {
			sources[g] = m.byTarget(g)
		}
		of := sources[g][s.file]
		return len(of) == 1 && len(of[0].targets) == 1 && !(m.sel.inPlace.RewriteAll && of[0].loses(s.bitmap.Cardinality()))
	})
}

// byTarget lists the sources of a partition by the data files that they have records of.
func (m *merger) byTarget(g *snapshot.Group) map[*snapshot.DataFile][]*facts {
	out := map[*snapshot.DataFile][]*facts{}
	for _, d := range m.sel.sourcesOf(g) {
		for f := range m.facts[d].targets {
			out[f] = append(out[f], m.facts[d])
		}
	}
	return out
}

// loses says that a file has records beside n that delete something.
func (f *facts) loses(n int64) bool { return f.file.Records > n }

// settle implements job.
func (r *rewrite) settle(v *view) *change {
	c := &change{remove: map[snapshot.FileID]bool{}, targets: map[snapshot.FileID][]*snapshot.DataFile{}, holders: map[string]string{}}
	covered := func(f *snapshot.DataFile) bool { return r.usable(r.holder[f], v) }
	parts := map[*snapshot.Group]*part{}
	for _, f := range r.facts {
		if r.sel.cool.covers(f.file) || !removable(f, v, c, covered) {
			continue
		}
		p := parts[f.file.Group]
		if p == nil {
			p = &part{how: r.sel.inPlace, adds: map[*deletesFile]bool{}}
			parts[f.file.Group] = p
		}
		p.take(f, v, r.holder)
	}
	for _, g := range r.sel.groups {
		if p := parts[g]; p != nil && p.pays() {
			p.into(c, v)
		}
	}
	slices.SortFunc(c.addFiles, func(a, b snapshot.NewPositionDeletes) int { return strings.Compare(a.Location, b.Location) })
	c.rewrite = r.sel.merged(v.state)
	return c
}

// usable says that a new file may be added: its data files are as they were, and some of them are still live.
func (r *rewrite) usable(f *deletesFile, v *view) bool {
	return f != nil && !slices.ContainsFunc(f.holds, func(h held) bool { return v.dropped[h.file] }) &&
		slices.ContainsFunc(f.holds, func(h held) bool { return !v.gone[h.file] })
}

// part is what would change in one partition.
type part struct {
	how   *InPlace
	going []*facts
	adds  map[*deletesFile]bool

	opens, records int64 // of those going: how often a reader of every data file opens one, and their records
	splits         bool  // one that is about several data files goes
}

func (p *part) take(f *facts, v *view, holder map[*snapshot.DataFile]*deletesFile) {
	p.going = append(p.going, f)
	p.records += f.file.Records
	p.splits = p.splits || len(f.targets) > 1
	for t := range f.targets {
		if !v.gone[t] {
			p.opens++
			p.adds[holder[t]] = true
		}
	}
}

// pays says that the partition is better off. Whatever is measured becomes less with every commit, so that there is an
// end to it: the number of files, or that of files about several data files and of files for each data file; at last the
// number of records.
func (p *part) pays() bool {
	var records, opens int64
	for f := range p.adds {
		records += f.Records
		opens += int64(len(f.holds))
	}
	fewer := len(p.adds) < len(p.going)
	if p.how.Granularity == ByFile {
		fewer = fewer || p.splits || opens < p.opens
	}
	return fewer || p.how.RewriteAll && len(p.adds) <= len(p.going) && records < p.records
}

// into puts the partition into a change.
func (p *part) into(c *change, v *view) {
	for _, f := range p.going {
		c.remove[f.file.FileID] = true
		for t := range f.targets {
			c.targets[f.file.FileID] = append(c.targets[f.file.FileID], t)
		}
	}
	for f := range p.adds {
		c.addFiles = append(c.addFiles, f.NewPositionDeletes)
		for _, h := range f.holds {
			if !v.gone[h.file] {
				c.held = append(c.held, h)
				c.holders[h.path] = f.Location
			}
		}
	}
}

// dropped implements job.
func (r *rewrite) dropped(v *view) []string { return v.inVain(maps.Keys(r.holder)) }

// rebase implements job. What was added meanwhile does not matter; a source that is gone does, for whoever removed it may
// have given rows back, and so does a data file that is another one now. Nothing may be added to a table that was
// upgraded: version 3 has no new position delete files.
func (r *rewrite) rebase(_ context.Context, _ *storage.Store, now *snapshot.State) (*view, error) {
	v := newView(now)
	v.compareSources(r.facts, r.sel.state)
	upgraded := now.Metadata.Version() > r.sel.state.Metadata.Version()
	for f := range r.holder {
		switch live := now.DataFiles[f.Path]; {
		case live == nil:
			v.gone[f] = true
		case upgraded || !sameData(f, live):
			v.dropped[f] = true
		}
	}
	v.findNewTargets(r.facts)
	return v, nil
}

// paths are those of records that name no live data file.
func (r *rewrite) paths() map[string]bool {
	out := map[string]bool{}
	for _, f := range r.facts {
		maps.Copy(out, f.unmatched)
	}
	return out
}
