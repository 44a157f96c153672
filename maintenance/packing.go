package maintenance

import (
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// packed counts the Puffin files that could be packed together, and those that would come out: a Puffin holds the
// vectors of one partition spec only, see [writer.add].
type packed struct {
	before int64
	bytes  map[int32]int64 // of the vectors that stay, by spec id
	fresh  map[int32]bool  // specs that get new vectors in any case, whose size nobody knows yet
	target int64
}

func (p *packed) add(dvs []*snapshot.DeleteFile, dangling map[*snapshot.DeleteFile]bool) {
	live := false
	for _, d := range dvs {
		if !dangling[d] {
			live = true
			p.bytes[d.Group.Key.SpecID] += d.Length
		}
	}
	if live {
		p.before++
	}
}

// addFresh counts the Puffin file that new vectors for the data files of a partition with position delete files will
// need. Whether there will be any is known when the files were read; see [results.unpack].
func (p *packed) addFresh(g *snapshot.Group, blocked map[*snapshot.DataFile]bool) {
	spec := g.Key.SpecID
	for _, f := range g.Data {
		if f.DV() == nil && !blocked[f] && !p.fresh[spec] {
			p.fresh[spec] = true
			p.before++
		}
	}
}

func (p *packed) after() (n int64) {
	for spec, bytes := range p.bytes {
		files := (bytes + p.target - 1) / p.target
		if p.fresh[spec] {
			files = max(files, 1)
		}
		n += files
	}
	for spec := range p.fresh {
		if p.bytes[spec] == 0 {
			n++
		}
	}
	return n
}

// unpack takes the vectors of small Puffin files out of what moves when packing them made no fewer files after all:
// moving them again and again would be work without an end.
func (r *results) unpack(moved map[*snapshot.DeleteFile]bool, useful map[*snapshot.DataFile]bool, v *view) {
	small := map[string]bool{} // old Puffin files that move only to be packed
	extra, needed := map[*puffinFile]bool{}, map[*puffinFile]bool{}
	for f, w := range r.written {
		dv := f.DV()
		switch {
		case w == nil || !r.covered(f, v):
		case dv != nil && moved[dv] && r.sel.small[dv.Path]:
			small[dv.Path] = true
			extra[w.puffin] = true
		case dv != nil && moved[dv], dv == nil && useful[f]:
			needed[w.puffin] = true
		}
	}
	for p := range extra {
		if needed[p] {
			return // they fill up a file that is needed anyway, which would be left with dead bytes
		}
	}
	if len(extra) < len(small) {
		return
	}
	for d := range moved {
		if small[d.Path] {
			delete(moved, d)
		}
	}
}
