package maintenance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
	"golang.org/x/sync/errgroup"
)

// merged is the complete set of deleted positions of one data file.
type merged struct {
	file   *snapshot.DataFile
	bitmap *puffin.Bitmap
	seq    int64 // largest data sequence number of the sources
	// keep says that the existing deletion vector holds all of it and stays where it is.
	keep bool
}

// merger computes merged sets pass by pass.
type merger struct {
	sel      *selection
	store    *storage.Store
	parallel int
	progress Progress
	facts    map[*snapshot.DeleteFile]*facts
}

func newMerger(sel *selection, store *storage.Store) *merger {
	m := &merger{sel: sel, store: store, parallel: sel.options.Parallelism, progress: sel.options.Progress, facts: map[*snapshot.DeleteFile]*facts{}}
	for _, g := range sel.groups {
		for _, d := range g.PositionDeletes {
			m.facts[d] = newFacts(d)
		}
	}
	return m
}

// accumulator gathers the position deletes of one data file during a pass.
type accumulator struct {
	mu     sync.Mutex
	bitmap *puffin.Bitmap
	seq    int64
}

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
		var records int64 // of position deletes, for each data file of the partition
		if merging[g] {
			records = recordsPerFile(g)
		}
		for _, f := range g.Data {
			dv := f.DV()
			rewrite := dv != nil && m.sel.retire[dv]
			if _, blocked := m.sel.blocked[f]; blocked || !merging[g] && !rewrite {
				continue
			}
			need := bitmapEstimate(f, records)
			if dv != nil {
				need += 2 * dv.Length
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

// recordsPerFile spreads the records of a partition evenly over its data files: what each has is known only later.
func recordsPerFile(g *snapshot.Group) int64 {
	var records int64
	for _, d := range g.PositionDeletes {
		records += d.Records
	}
	return records / int64(max(len(g.Data), 1))
}

// bitmapEstimate is the memory that a data file's bitmap takes for a number of positions: 2 bytes each, and a container
// for each 65,536 rows that hold one.
func bitmapEstimate(f *snapshot.DataFile, positions int64) int64 {
	const container = 64
	return 200 + 2*positions + container*min(positions, f.Records>>16+1)
}

// run merges one pass: the position deletes of its data files, checked against the deletion vectors they have, and the
// deletion vectors that move to another Puffin.
func (m *merger) run(ctx context.Context, p *pass) ([]*merged, error) {
	if err := m.readDeletes(ctx, p); err != nil {
		return nil, err
	}
	vectors, err := m.readVectors(ctx, p)
	if err != nil {
		return nil, err
	}
	var out []*merged
	for _, f := range p.files {
		r, ok := m.combine(f, p.in[f], vectors[f])
		if ok {
			out = append(out, r)
		}
	}
	return out, nil
}

// readDeletes reads each position delete file that may have records for the pass. All of a partition are read in the
// first pass that needs it; later passes know from that which ones to read again.
func (m *merger) readDeletes(ctx context.Context, p *pass) error {
	var todo []*facts
	var records int64
	seen := map[*snapshot.Group]bool{}
	for _, f := range p.files {
		if seen[f.Group] {
			continue
		}
		seen[f.Group] = true
		for _, d := range f.Group.PositionDeletes {
			if fact := m.facts[d]; fact != nil && fact.wanted(p) {
				todo = append(todo, fact)
				records += d.Records
			}
		}
	}
	m.progress.Stage("merging position deletes", records, "records")
	for f := range p.in {
		p.in[f] = &accumulator{}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(m.parallel)
	for _, fact := range todo {
		g.Go(func() error { return m.readDelete(ctx, fact, p) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, fact := range todo {
		if fact.err != nil {
			m.blockUnreadable(fact)
		}
	}
	return nil
}

// wanted says whether a pass needs to read the file: always the first time, later if it has records for the pass.
func (f *facts) wanted(p *pass) bool {
	if f.file.Format != iceberg.ParquetFile || f.err != nil {
		return false
	}
	if !f.read {
		return true
	}
	for t := range f.targets {
		if _, in := p.in[t]; in {
			return true
		}
	}
	return false
}

// readDelete adds the records of one position delete file to the accumulators of the pass.
func (m *merger) readDelete(ctx context.Context, fact *facts, p *pass) error {
	d := fact.file
	v := &visitor{state: m.sel.state, facts: fact, pass: p, first: !fact.read}
	err := positiondelete.Read(ctx, deleteSource(m.store, d), v.visit)
	fact.read = true
	m.progress.Add(d.Records)
	var bad *positiondelete.Error
	if errors.As(err, &bad) {
		fact.err = bad
		return nil
	}
	if err != nil {
		return fmt.Errorf("position delete file %s: %w", d.Path, err)
	}
	return nil
}

// deleteSource is where to read a position delete file. The object is asked for its size if need be: the one in the
// manifest is a hint, which some writers get wrong.
func deleteSource(store *storage.Store, d *snapshot.DeleteFile) positiondelete.File {
	return positiondelete.File{Location: d.Path, Source: store.Object(d.Path, 0), Size: d.Size}
}

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
	}
	n := int64(len(positions))
	if v.first {
		v.note(string(path), n)
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
	if f == nil || f.Group != v.facts.file.Group {
		return
	}
	v.target = f
	if v.facts.file.AppliesTo(f) {
		v.acc = v.pass.in[f]
	}
}

// note records what the file turned out to be about.
func (v *visitor) note(path string, n int64) {
	switch f := v.facts; {
	case v.target == nil:
		f.unmatched[path] += n
	case f.file.AppliesTo(v.target):
		f.targets[v.target] += n
	case f.file.Referenced != "" && f.file.Referenced != path:
		f.stale[path] += n
	}
}

// blockUnreadable blocks every data file that an unreadable position delete file may apply to.
func (m *merger) blockUnreadable(fact *facts) {
	m.sel.skipped = append(m.sel.skipped, Skip{Reason: "delete-unreadable", Location: fact.file.Path, Detail: fact.err.Error(),
		Hint: "it and every delete of the data files it may apply to stay live; " + hintCheck})
	m.sel.blockTargets(fact.file, "delete-unreadable", fact.err.Error())
}

// combine applies the rule that a deletion vector hides every position delete of its data file: what the table deletes
// today is the vector where there is one, else the union of the position deletes.
func (m *merger) combine(f *snapshot.DataFile, acc *accumulator, vector *vectorResult) (*merged, bool) {
	if _, blocked := m.sel.blocked[f]; blocked {
		return nil, false
	}
	dv := f.DV()
	deletes := acc != nil && acc.bitmap != nil && !acc.bitmap.IsEmpty()
	if vector != nil && vector.err != nil {
		m.sel.block(f, "dv-corrupt", vector.err.Error(), hintCheck)
		return nil, false
	}
	switch {
	case dv == nil && !deletes:
		return nil, false
	case dv == nil:
		return &merged{file: f, bitmap: acc.bitmap, seq: acc.seq}, true
	case deletes && !acc.bitmap.IsSubsetOf(vector.bitmap):
		missing := acc.bitmap.Clone()
		missing.AndNot(vector.bitmap)
		m.sel.block(f, "dv-incomplete", fmt.Sprintf("the deletion vector lacks %d positions that live position delete files delete", missing.Cardinality()),
			"readers see these rows today; repair deletes them again")
		return nil, false
	case !m.sel.retire[dv]:
		return &merged{file: f, keep: true}, deletes
	}
	seq := dv.Seq
	if deletes {
		seq = max(seq, acc.seq)
	}
	return &merged{file: f, bitmap: vector.bitmap, seq: seq}, true
}
