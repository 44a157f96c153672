package maintenance

import (
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// pass is a range of data files that fit into memory together.
type pass struct {
	files []*snapshot.DataFile
	in    map[*snapshot.DataFile]*accumulator
}

// passes cuts the data files that may get a new deletion vector into ranges whose bitmaps fit into the memory budget.
func (m *merger) passes() []*pass {
	budget := m.sel.options.Memory / 2 // the rest is for encoded vectors and for what is being decoded
	merging := map[*snapshot.Group]bool{}
	for _, g := range m.sel.groups {
		merging[g] = true
	}
	var out []*pass
	var used int64
	for _, g := range m.sel.state.SortedGroups() {
		var records int64 // spread evenly over the data files of the partition: what each has is known only later
		if merging[g] {
			records = recordsOf(m.sel.sourcesOf(g)) / int64(max(len(g.Data), 1))
		}
		for _, f := range g.Data {
			dv := f.DV()
			rewrite := dv != nil && m.sel.retire[dv]
			if m.sel.blocked[f] || !merging[g] && !rewrite {
				continue
			}
			need := bitmapEstimate(f, min(records, sane(f.Records)))
			if dv != nil {
				need += 2 * sane(dv.Length)
			}
			if len(out) == 0 || used+need > budget {
				out = append(out, &pass{in: map[*snapshot.DataFile]*accumulator{}})
				used = 0
			}
			used += need
			p := out[len(out)-1]
			p.files = append(p.files, f)
			p.in[f] = nil
		}
	}
	return out
}

// bitmapEstimate is the memory that a data file's bitmap takes for a number of positions: 2 bytes each, and a container
// for each 65,536 rows that hold one.
func bitmapEstimate(f *snapshot.DataFile, positions int64) int64 {
	const container = 64
	return 200 + 2*positions + container*min(positions, sane(f.Records)>>16+1)
}

// sane is a number of a manifest as far as an estimate believes it: it is at least 0, and small enough that sums of many
// do not overflow.
func sane(n int64) int64 { return min(max(n, 0), 1<<40) }

func recordsOf(files []*snapshot.DeleteFile) (n int64) {
	for _, d := range files {
		n += sane(d.Records)
	}
	return n
}
