package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

// vector is a new deletion vector, written and proved.
type vector struct {
	file        *snapshot.DataFile
	seq         int64
	puffin      *puffinFile
	offset      int64
	length      int64
	cardinality int64
	digest      Digest // of the merged positions, and after the proof of those read back from storage

	merged *puffin.Bitmap // until it is proved
	blob   []byte         // until it is written
}

// puffinFile is a Puffin file this run wrote.
type puffinFile struct {
	location string
	size     int64
	vectors  []*vector
}

// writer packs merged sets into Puffin files of the target size. A file is written once, and proved before anything
// may refer to it.
type writer struct {
	store    *storage.Store
	dir      string // location that the files go to
	name     string // unique prefix of their names
	target   int64
	parallel int
	version  string
	progress Progress

	pending      []*vector // encoded, not yet written
	pendingBytes int64
	group        *errgroup.Group
	ctx          context.Context
	files        []*puffinFile
	mu           sync.Mutex
	deletes      []string // locations of position delete files, under mu
}

// dataDir returns where the Puffin files of a table go. The table's own wish counts only below its location.
func dataDir(meta table.Metadata) (string, error) {
	root, err := storage.TableRoot(meta.Location())
	return storage.WriteDir(root, meta.Properties()["write.data.path"], "data"), err
}

func newWriter(ctx context.Context, store *storage.Store, dir string, p *Plan, o Options) *writer {
	w := &writer{
		store: store, dir: dir, name: fmt.Sprintf("dvcompactor-%s-%s", p.PlanID, uuid.NewString()[:8]),
		target: o.TargetPuffinSize, parallel: o.Parallelism, version: o.Version, progress: o.Progress,
	}
	w.group, w.ctx = errgroup.WithContext(ctx)
	w.group.SetLimit(2) // one file is written while the next is encoded
	return w
}

// add encodes merged sets, in their order, and writes a file whenever enough is gathered. A file holds the vectors of one
// partition spec, so that one manifest lists them all, in their order: DuckDB up to 1.5.5 reads a vector wrongly when it
// lies between two that it has read already.
func (w *writer) add(sets []*merged) error {
	sets = slices.DeleteFunc(slices.Clone(sets), func(m *merged) bool { return m.keep })
	w.progress.Stage("writing deletion vectors", int64(len(sets)), "vectors")
	for batch := range slices.Chunk(sets, 16*w.parallel) {
		encoded, err := w.encode(batch)
		if err != nil {
			return err
		}
		for _, v := range encoded {
			if len(w.pending) > 0 && w.pending[0].file.Group.Key.SpecID != v.file.Group.Key.SpecID {
				w.flush()
			}
			w.pending = append(w.pending, v)
			w.pendingBytes += v.length
			if w.pendingBytes >= w.target {
				w.flush()
			}
		}
		w.progress.Add(int64(len(batch)))
	}
	return nil
}

// encode serialises bitmaps in parallel.
func (w *writer) encode(batch []*merged) ([]*vector, error) {
	out := make([]*vector, len(batch))
	g, ctx := errgroup.WithContext(w.ctx)
	g.SetLimit(w.parallel)
	for i, m := range batch {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			v := &vector{file: m.file, seq: m.seq, cardinality: m.bitmap.Cardinality(), digest: digest(m.bitmap), merged: m.bitmap}
			blob, err := puffin.EncodeDeletionVector(m.bitmap)
			if err != nil {
				return fmt.Errorf("deletion vector of %s: %w", m.file.Path, err)
			}
			v.blob, v.length = blob, int64(len(blob))
			m.bitmap = nil // from here on the vector owns it
			out[i] = v
			return nil
		})
	}
	return out, g.Wait()
}

// flush starts writing what is pending.
func (w *writer) flush() {
	vectors := w.pending
	w.pending, w.pendingBytes = nil, 0
	if len(vectors) == 0 {
		return
	}
	f := &puffinFile{location: fmt.Sprintf("%s/%s-%05d.puffin", w.dir, w.name, len(w.files)), vectors: vectors}
	w.files = append(w.files, f)
	w.group.Go(func() error {
		if err := w.write(f); err != nil {
			return fmt.Errorf("puffin file %s: %w", f.location, err)
		}
		return w.prove(f)
	})
}

// finish waits until everything is written and proved.
func (w *writer) finish() error {
	w.flush()
	return w.group.Wait()
}

// write stores one Puffin file, its blobs sorted by data file path: the same input gives the same bytes.
func (w *writer) write(f *puffinFile) error {
	slices.SortFunc(f.vectors, func(a, b *vector) int { return strings.Compare(a.file.Path, b.file.Path) })
	out, err := w.store.Create(w.ctx, f.location)
	if err != nil {
		return err
	}
	pw := puffin.NewWriter(out, puffin.WriterOptions{CreatedBy: "dvcompactor " + w.version})
	for _, v := range f.vectors {
		m, err := pw.AddEncodedDeletionVector(v.file.Path, v.blob, v.cardinality)
		if err != nil {
			return errors.Join(err, out.Abort())
		}
		v.puffin, v.offset, v.length, v.blob = f, m.Offset, m.Length, nil
	}
	if f.size, err = pw.Finish(puffin.FinishOptions{}); err != nil {
		return errors.Join(err, out.Abort())
	}
	return out.Close()
}

// prove reads every vector back by the offset and length that the manifest will record, as readers will, and compares
// its positions with those that were merged. The digest that the report gives is from then on one of both.
func (w *writer) prove(f *puffinFile) error {
	ranges := make([]puffin.DeletionVectorRange, len(f.vectors))
	for i, v := range f.vectors {
		ranges[i] = puffin.DeletionVectorRange{Offset: v.offset, Length: v.length, RecordCount: v.cardinality, Location: f.location, ReferencedDataFile: v.file.Path}
	}
	return puffin.ReadDeletionVectors(w.ctx, w.store.Object(f.location, 0), ranges, puffin.ReadOptions{}, func(i int, b *puffin.Bitmap, err error) error {
		v := f.vectors[i]
		if err != nil {
			return fmt.Errorf("%w: deletion vector of %s: %w", ErrProof, v.file.Path, err)
		}
		if !b.Equal(v.merged) {
			return fmt.Errorf("%w: deletion vector of %s in %s: merged %s, read back %s", ErrProof, v.file.Path, f.location, v.digest, digest(b))
		}
		v.merged = nil
		return nil
	})
}

// discard removes files that nothing refers to: those that the change of a commit does not add.
func (w *writer) discard(ctx context.Context, done *change) error {
	var errs []error
	used := done.locations()
	for _, f := range w.files {
		if !used[f.location] {
			errs = append(errs, w.store.Remove(ctx, f.location))
		}
	}
	for _, location := range w.deletes {
		if !used[location] {
			errs = append(errs, w.store.Remove(ctx, location))
		}
	}
	return errors.Join(errs...)
}
