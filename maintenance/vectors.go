package maintenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
	"golang.org/x/sync/errgroup"
)

// vectorResult is an existing deletion vector as read, or why it cannot be.
type vectorResult struct {
	bitmap *puffin.Bitmap
	err    error
}

// RangeOf is where the entry of a deletion vector says that it is.
func RangeOf(d *snapshot.DeleteFile) puffin.DeletionVectorRange {
	return puffin.DeletionVectorRange{Offset: d.Offset, Length: d.Length, RecordCount: d.Records, Location: d.Path, ReferencedDataFile: d.Referenced}
}

// readVectors reads the existing deletion vectors that a pass needs: those that move, and those of data files that also
// have position deletes. Ranges come from the manifests; footers are never read.
func (m *merger) readVectors(ctx context.Context, p *pass) (map[*snapshot.DataFile]*vectorResult, error) {
	byPuffin := map[string][]*snapshot.DataFile{}
	total := int64(0)
	for _, f := range p.files {
		dv, acc := f.DV(), p.in[f]
		if dv == nil || !m.sel.retire[dv] && (acc == nil || acc.bitmap == nil) {
			continue
		}
		byPuffin[dv.Path] = append(byPuffin[dv.Path], f)
		total++
	}
	m.progress.Stage("reading deletion vectors", total, "vectors")
	out := make(map[*snapshot.DataFile]*vectorResult, total)
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(m.parallel * 4) // requests wait for the store more than they compute
	for _, location := range sortedKeys(byPuffin) {
		files := byPuffin[location]
		g.Go(func() error {
			return readPuffin(ctx, m.store.Object(location, 0), location, files, func(f *snapshot.DataFile, r *vectorResult) {
				mu.Lock()
				defer mu.Unlock()
				out[f] = r
				m.progress.Add(1)
			})
		})
	}
	return out, g.Wait()
}

// readPuffin reads the deletion vectors of some data files from one Puffin. A damaged vector and a missing object are
// results; a store that fails is an error.
func readPuffin(ctx context.Context, r puffin.RangeReader, location string, files []*snapshot.DataFile, deliver func(*snapshot.DataFile, *vectorResult)) error {
	ranges := make([]puffin.DeletionVectorRange, len(files))
	for i, f := range files {
		ranges[i] = RangeOf(f.DV())
	}
	return puffin.ReadDeletionVectors(ctx, r, ranges, puffin.ReadOptions{}, func(i int, b *puffin.Bitmap, err error) error {
		if err != nil && !errors.Is(err, puffin.ErrCorrupt) && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("deletion vector of %s: %w", files[i].Path, err)
		}
		deliver(files[i], &vectorResult{bitmap: b, err: err})
		return nil
	})
}

// blockVector blocks a data file whose deletion vector could not be read.
func (s *selection) blockVector(f *snapshot.DataFile, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		s.block(f, "dv-missing", err.Error(), "readers fail on it; "+hintCheck)
		return
	}
	s.block(f, "dv-corrupt", err.Error(), hintCheck)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	out := make([]K, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
