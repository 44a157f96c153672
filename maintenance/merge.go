package maintenance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

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
		for _, d := range sel.sourcesOf(g) {
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
		for _, d := range m.sel.sourcesOf(f.Group) {
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
		m.blockTouched(fact)
	}
	return nil
}

// wanted says whether a pass needs to read the file: always the first time, later if it has records for the pass.
func (f *facts) wanted(p *pass) bool {
	if !positiondelete.Readable(f.file.Format) || f.err != nil {
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
	err := positiondelete.Read(ctx, FileOf(m.store, d), v.visit)
	fact.read = true
	m.progress.Add(d.Records)
	var bad *positiondelete.Error
	if errors.As(err, &bad) {
		fact.err = bad
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		fact.err = fmt.Errorf("position delete file %s: %w", d.Path, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("position delete file %s: %w", d.Path, err)
	}
	return nil
}

// FileOf is where and how to read a position delete file. The object is asked for its size if need be: the one in the
// manifest is a hint, which some writers get wrong.
func FileOf(store *storage.Store, d *snapshot.DeleteFile) positiondelete.File {
	return positiondelete.File{Location: d.Path, Source: store.Object(d.Path, 0), Format: d.Format, Size: d.Size, Records: d.Records}
}

// blockUnreadable blocks every data file that an unreadable position delete file may apply to. When position delete files
// stay what they are it hides behind none, and only those are blocked that records read so far were counted for.
func (m *merger) blockUnreadable(fact *facts) {
	why := fact.err.Error()
	m.sel.skipped = append(m.sel.skipped, Skip{Reason: "delete-unreadable", Location: fact.file.Path, Detail: why,
		Hint: "it and every delete of the data files it may apply to stay live; " + hintCheck})
	if m.sel.inPlace == nil {
		m.sel.blockTargets(fact.file, "delete-unreadable", why)
		return
	}
	for _, f := range fact.file.Group.Data {
		if fact.targets[f] {
			m.sel.block(f, "delete-unreadable", why, "")
		}
	}
}

// combine applies the rule that a deletion vector hides every position delete of its data file: what the table deletes
// today is the vector where there is one, else the union of the position deletes.
func (m *merger) combine(f *snapshot.DataFile, acc *accumulator, vector *vectorResult) (*merged, bool) {
	if m.sel.blocked[f] {
		return nil, false
	}
	dv := f.DV()
	deletes := acc != nil && acc.bitmap != nil && !acc.bitmap.IsEmpty()
	if vector != nil && vector.err != nil {
		m.sel.blockVector(f, vector.err)
		return nil, false
	}
	if last, ok := lastPosition(acc, vector); ok && f.Records >= 0 && last >= f.Records {
		m.sel.block(f, "position-out-of-range", fmt.Sprintf("position %d is deleted, the manifest counts %d rows", last, f.Records), hintCheck)
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

// lastPosition returns the largest position that any delete of a data file names.
func lastPosition(acc *accumulator, vector *vectorResult) (last int64, ok bool) {
	if acc != nil && acc.bitmap != nil {
		last, ok = acc.bitmap.Max()
	}
	if vector != nil {
		if m, some := vector.bitmap.Max(); some {
			last, ok = max(last, m), true
		}
	}
	return last, ok
}
