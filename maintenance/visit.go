package maintenance

import (
	"bytes"
	"fmt"

	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// visitor assigns records to data files.
type visitor struct {
	state *snapshot.State
	facts *facts
	pass  *pass
	first bool

	path   []byte // of the last run, so that a sorted file costs one look-up a path
	target *snapshot.DataFile
	acc    *accumulator
}

func (v *visitor) visit(path []byte, positions []int64) error {
	if v.path == nil || !bytes.Equal(v.path, path) {
		v.find(path)
		if v.first {
			v.note()
		}
	}
	if v.acc == nil {
		return v.check(positions)
	}
	v.acc.mu.Lock()
	defer v.acc.mu.Unlock()
	if v.acc.bitmap == nil {
		v.acc.bitmap = puffin.NewBitmap()
	}
	if err := v.acc.bitmap.AddMany(positions); err != nil {
		return v.bad(err)
	}
	v.acc.seq = max(v.acc.seq, v.facts.file.Seq)
	return nil
}

func (v *visitor) bad(err error) error {
	return &positiondelete.Error{Location: v.facts.file.Path, Err: fmt.Errorf("%w: %w", positiondelete.ErrPosition, err)}
}

// check applies the same rule to records that the pass has no use for: whether a file is readable does not depend on
// how the work is cut.
func (v *visitor) check(positions []int64) error {
	for _, p := range positions {
		if p < 0 || p > puffin.MaxPosition {
			return v.bad(fmt.Errorf("position %d", p))
		}
	}
	return nil
}

// find looks a path up: the live data file of the delete file's own partition, if the deletes apply to it.
func (v *visitor) find(path []byte) {
	v.path = append(v.path[:0], path...)
	v.target, v.acc = nil, nil
	f := v.state.DataFiles[string(path)]
	if f == nil || f.Group != v.facts.file.Group && !f.Twice {
		return
	}
	v.target = f
	if v.facts.file.AppliesTo(f) {
		v.acc = v.pass.in[f]
	}
}

// note records what the path that was found says about the file.
func (v *visitor) note() {
	switch f := v.facts; {
	case v.target == nil:
		f.unmatched[string(v.path)] = true
	case f.file.AppliesTo(v.target), v.target.Twice: // in one of its two entries
		f.targets[v.target] = true
	case f.file.Referenced != "" && f.file.Referenced != v.target.Path:
		f.stale[v.target.Path] = true
	default:
		f.younger[v.target.Path] = true
	}
}
