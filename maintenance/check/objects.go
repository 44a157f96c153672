package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/snapshot"
	"golang.org/x/sync/errgroup"
)

// objects looks at what manifests point to.
func (c *checker) objects(ctx context.Context) error {
	if c.options.Level < Footers {
		return nil
	}
	steps := []func(context.Context) error{c.puffins, c.sizes}
	if c.options.Level >= Vectors {
		steps = append(steps, c.records)
	}
	for _, step := range append(steps, c.resolve, c.orphans) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// puffins looks at every Puffin file with live deletion vectors, several at once.
func (c *checker) puffins(ctx context.Context) error {
	byLocation := c.survey.State.Puffins()
	c.options.Progress.Stage("reading Puffin files", int64(len(byLocation)), "files")
	return c.each(ctx, slices.Sorted(maps.Keys(byLocation)), func(ctx context.Context, location string) error {
		p := &puffinCheck{checker: c, location: location, dvs: byLocation[location], faulty: map[*snapshot.DeleteFile]bool{}}
		return p.run(ctx)
	})
}

// each does something for every location. Requests wait for the store more than they compute, so there are more of them
// than the parallelism says.
func (c *checker) each(ctx context.Context, locations []string, do func(context.Context, string) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.options.Parallelism * 4)
	for _, location := range locations {
		g.Go(func() error {
			defer c.options.Progress.Add(1)
			err := do(ctx, location)
			if errors.Is(err, storage.ErrUnknownScheme) || errors.Is(err, storage.ErrInvalidLocation) {
				c.skip(maintenance.Skip{Reason: "unreachable", Location: location, Detail: err.Error(), Hint: "it was not checked: say under storage in the configuration where it is"})
				err = nil
			}
			if err != nil {
				return fmt.Errorf("%s: %w", location, err)
			}
			return ctx.Err()
		})
	}
	return g.Wait()
}

// skip notes what could not be checked.
func (c *checker) skip(s maintenance.Skip) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Skipped = append(c.report.Skipped, s)
}

// size asks for the size of an object and compares it with what the entries say. It is -1 when the object is gone.
func (c *checker) size(ctx context.Context, location string, entries ...*snapshot.DeleteFile) (int64, error) {
	size, err := c.table.Store.Object(location, 0).Size(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return 0, err
	}
	for _, d := range entries {
		if d.Size != size {
			c.add(Finding{Issue: "file-size", Location: location, Expected: fmt.Sprint(size), Actual: fmt.Sprint(d.Size), snapshotID: d.SnapshotID,
				Detail: fmt.Sprintf("file_size_in_bytes is %d, the object has %d bytes", d.Size, size)})
			break // the others say the same, or are as wrong
		}
	}
	return size, nil
}

// sizes asks for the sizes of position delete files.
func (c *checker) sizes(ctx context.Context) error {
	files := map[string]*snapshot.DeleteFile{}
	for _, d := range c.survey.State.PositionDeletes {
		files[d.Path] = d
	}
	c.options.Progress.Stage("asking for sizes", int64(len(files)), "files")
	return c.each(ctx, slices.Sorted(maps.Keys(files)), func(ctx context.Context, location string) error {
		d := files[location]
		size, err := c.size(ctx, location, d)
		if size >= 0 || err != nil {
			return err
		}
		f := of("delete-unreadable", d)
		f.Rows = &d.Records
		f.Detail = "the position delete file is gone"
		c.add(f)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.gone[location] = true
		return nil
	})
}

// later is a finding that waits until it is known which of some paths are live.
type later struct {
	paths  []string
	then   func(map[string]snapshot.Twin)
	unless func() // what is to be said when nobody knows what is live; nil for nothing
}

// whenKnown calls l.then with the twins of its paths, after everything was read.
func (c *checker) whenKnown(l later) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = append(c.pending, l)
}

// resolve looks for the paths that findings wait for. When not all data manifests could be read nobody knows which of
// them are live.
func (c *checker) resolve(ctx context.Context) error {
	if !c.survey.Complete {
		for _, l := range c.pending {
			if l.unless != nil {
				l.unless()
			}
		}
		return nil
	}
	paths := map[string]bool{}
	for _, l := range c.pending {
		for _, p := range l.paths {
			paths[p] = true
		}
	}
	twins, err := c.survey.Twins(ctx, slices.Sorted(maps.Keys(paths)))
	if err != nil {
		return err
	}
	for _, l := range c.pending {
		l.then(twins)
	}
	return nil
}
