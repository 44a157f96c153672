package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// duplicates reads the deletion vectors of data files that have several and says whether one of them holds all.
func (c *checker) duplicates(ctx context.Context) error {
	for i := range c.findings {
		f := &c.findings[i]
		if f.Issue != "dv-duplicate" || f.Repair == Safe {
			continue
		}
		superset, err := c.superset(ctx, c.survey.State.DataFiles[f.DataFile])
		if err != nil {
			return err
		}
		if superset {
			f.Repair = Safe
			f.Detail += "; one holds the positions of all"
		}
	}
	return nil
}

// superset says whether one deletion vector of a data file holds the positions of all the others.
func (c *checker) superset(ctx context.Context, data *snapshot.DataFile) (bool, error) {
	if data == nil {
		return false, nil
	}
	all, largest := puffin.NewBitmap(), int64(0)
	for _, d := range data.DVs {
		if d.Unbound() {
			return false, nil
		}
		b, err := puffin.ReadDeletionVector(ctx, c.table.Store.Object(d.Path, 0), rangeOf(d))
		if errors.Is(err, puffin.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) {
			return false, nil // which is a finding of its own
		}
		if err != nil {
			return false, fmt.Errorf("deletion vector of %s: %w", data.Path, err)
		}
		largest = max(largest, b.Cardinality())
		all.Or(b)
	}
	return largest == all.Cardinality(), nil
}
