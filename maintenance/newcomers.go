package maintenance

import (
	"context"
	"errors"
	"fmt"

	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/snapshot"
	"golang.org/x/sync/errgroup"
)

// newcomers are the position delete files that were not there in the state that work was begun on.
type newcomers struct {
	base        *snapshot.State
	parallelism int
	// paths are the data files of the base that each has records of.
	paths map[snapshot.FileID][]string
}

// touched reads the newcomers of a state, each once however often the change is rebased, and returns the data files they
// have records of.
func (n *newcomers) touched(ctx context.Context, store *storage.Store, now *snapshot.State) (map[string]bool, error) {
	known := map[snapshot.FileID]bool{}
	for _, d := range n.base.PositionDeletes {
		known[d.FileID] = true
	}
	var added []*snapshot.DeleteFile
	for _, d := range now.PositionDeletes {
		if !known[d.FileID] {
			added = append(added, d)
		}
	}
	touched := make([][]string, len(added))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(n.parallelism)
	for i, d := range added {
		if paths, read := n.paths[d.FileID]; read {
			touched[i] = paths
			continue
		}
		g.Go(func() (err error) {
			touched[i], err = n.read(ctx, store, d)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out := map[string]bool{}
	n.paths = map[snapshot.FileID][]string{}
	for i, d := range added {
		n.paths[d.FileID] = touched[i]
		for _, path := range touched[i] {
			out[path] = true
		}
	}
	return out, nil
}

// read returns the data files of the base that a position delete file has records of. An unreadable one touches every
// data file it may apply to.
func (n *newcomers) read(ctx context.Context, store *storage.Store, d *snapshot.DeleteFile) ([]string, error) {
	seen := map[string]bool{}
	err := positiondelete.Read(ctx, FileOf(store, d), func(path []byte, _ []int64) error {
		if n.base.DataFiles[string(path)] != nil {
			seen[string(path)] = true
		}
		return nil
	})
	var bad *positiondelete.Error
	switch {
	case errors.As(err, &bad):
		for _, f := range d.Group.Data {
			if d.AppliesTo(f) {
				seen[f.Path] = true
			}
		}
	case err != nil:
		return nil, fmt.Errorf("position delete file %s: %w", d.Path, err)
	}
	return sortedKeys(seen), nil
}
