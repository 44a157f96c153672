package maintenance

import (
	"context"
	"errors"
	"sync"

	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// rewriter writes merged sets as position delete files, those of a partition in the order of their paths, and proves each.
type rewriter struct {
	w       *writer
	how     InPlace
	last    *chain // of the partition that the last sets were of: the next ones may go on with it
	mu      sync.Mutex
	written []*deletesFile // under mu
}

func newRewriter(w *writer, how InPlace) *rewriter {
	w.group.SetLimit(2 * w.parallel) // requests wait for the store more than they compute
	return &rewriter{w: w, how: how}
}

// add writes sets, in the order of their partitions and paths. Those of the last partition may be written by the next call
// only, or by finish.
func (r *rewriter) add(sets []*merged) error {
	r.w.progress.Stage("writing position deletes", int64(len(sets)), "data files")
	for len(sets) > 0 {
		n := 1
		for r.how.Granularity == ByPartition && n < len(sets) && sets[n].file.Group == sets[0].file.Group {
			n++
		}
		c := r.chain(sets[0].file.Group)
		part := sets[:n]
		if sets = sets[n:]; len(sets) == 0 && r.how.Granularity == ByPartition {
			r.last = c
			return c.add(r.w.ctx, part)
		}
		r.w.group.Go(func() error {
			return errors.Join(c.add(r.w.ctx, part), c.close(r.w.ctx))
		})
	}
	return nil
}

// chain hands over the open chain of a group, or a new one: whoever has it is the only one that writes to it.
func (r *rewriter) chain(g *snapshot.Group) *chain {
	if c := r.last; c != nil && c.group == g {
		r.last = nil
		return c
	}
	r.closeLast()
	return &chain{r: r, group: g}
}

func (r *rewriter) closeLast() {
	if c := r.last; c != nil {
		r.last = nil
		r.w.group.Go(func() error { return c.close(r.w.ctx) })
	}
}

// finish waits until everything is written and proved.
func (r *rewriter) finish() error {
	r.closeLast()
	return r.w.group.Wait()
}

// abort ends what nobody else is going to end.
func (r *rewriter) abort() error {
	if r.last == nil {
		return nil
	}
	return r.last.abort()
}

func (r *rewriter) done(f *deletesFile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written = append(r.written, f)
}

// chain writes the position delete files of one partition, one after the other.
type chain struct {
	r     *rewriter
	group *snapshot.Group
	open  *openDeletes // nil between two files
}

// add writes the sets of further data files, and begins another file whenever one has the size to aim for. The records of
// a data file are never in two of them.
func (c *chain) add(ctx context.Context, sets []*merged) error {
	for _, m := range sets {
		if err := c.addOne(ctx, m); err != nil {
			return errors.Join(err, c.abort())
		}
		m.bitmap = nil
		c.r.w.progress.Add(1)
	}
	return nil
}

func (c *chain) addOne(ctx context.Context, m *merged) (err error) {
	if c.open == nil {
		if c.open, err = c.r.w.create(ctx, c.group, c.r.options()); err != nil {
			return err
		}
	}
	// A record applies to its data file as before: by its path, and by a sequence number that is not below that of its source.
	c.open.file.Seq = max(c.open.file.Seq, m.seq)
	if err := c.open.add(m.file.Path, m.file, m.bitmap); err != nil {
		return err
	}
	if c.open.out.Size() >= c.r.how.TargetSize {
		return c.close(ctx)
	}
	return nil
}

// options makes row groups small enough for the size to aim for: the size of a file is known at their ends only.
func (r *rewriter) options() positiondelete.WriterOptions {
	const bytesPerRecord = 16 // at most, about
	return positiondelete.WriterOptions{GroupRows: int(min(1<<20, max(1<<10, r.how.TargetSize/bytesPerRecord)))}
}

// close completes and proves the open file.
func (c *chain) close(ctx context.Context) error {
	if c.open == nil {
		return nil
	}
	f, err := c.open.close(ctx)
	c.open = nil
	if err == nil {
		c.r.done(f)
	}
	return err
}

func (c *chain) abort() error {
	if c.open == nil {
		return nil
	}
	open := c.open
	c.open = nil
	return open.out.Abort()
}
