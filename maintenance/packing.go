package maintenance

import (
	"maps"

	"github.com/dvcompactor/dvcompactor/snapshot"
)

// packing finds out whether writing small Puffin files anew makes fewer of them. A Puffin holds the vectors of one
// partition spec only, see [writer.add].
type packing struct {
	target int64
	due    map[int32]int64 // bytes of the vectors that are written in any case, by spec id
	fresh  map[int32]bool  // specs that get new vectors in any case, whose size nobody knows yet
	small  map[int32]int64 // bytes of the vectors in small Puffin files
	files  int64           // small Puffin files
}

func newPacking(target int64) *packing {
	return &packing{target: target, due: map[int32]int64{}, fresh: map[int32]bool{}, small: map[int32]int64{}}
}

// addFresh notes that data files of a partition with position delete files will get new vectors. Whether they do is known
// when the files were read; see [results.unpack].
func (p *packing) addFresh(g *snapshot.Group, blocked map[*snapshot.DataFile]bool) {
	for _, f := range g.Data {
		if f.DV() == nil && !blocked[f] {
			p.fresh[g.Key.SpecID] = true
		}
	}
}

// addDue notes a Puffin file that is written anew in any case, without its dangling vectors.
func (p *packing) addDue(dvs []*snapshot.DeleteFile, dangling map[*snapshot.DeleteFile]bool) {
	for _, d := range dvs {
		if !dangling[d] {
			p.due[d.Group.Key.SpecID] += d.Length
		}
	}
}

func (p *packing) addSmall(dvs []*snapshot.DeleteFile) {
	p.files++
	for _, d := range dvs {
		p.small[d.Group.Key.SpecID] += d.Length
	}
}

// pays says that there are fewer Puffin files when the small ones are written anew together with what is due.
func (p *packing) pays() bool {
	with, without := int64(0), int64(0)
	specs := maps.Clone(p.fresh)
	for _, m := range []map[int32]int64{p.due, p.small} {
		for spec := range m {
			specs[spec] = true
		}
	}
	for spec := range specs {
		with += p.count(spec, p.due[spec]+p.small[spec])
		without += p.count(spec, p.due[spec])
	}
	return with < p.files+without
}

// count returns how many Puffin files the vectors of one spec fill.
func (p *packing) count(spec int32, bytes int64) int64 {
	n := (bytes + p.target - 1) / p.target
	if p.fresh[spec] {
		n = max(n, 1)
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
