package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// duplicates reads the deletion vectors of data files that have several and says where one of them holds what the others
// hold, so that nothing depends on them.
func (c *checker) duplicates(ctx context.Context) error {
	if c.options.Level < Vectors {
		return nil
	}
	for i := range c.findings {
		f := &c.findings[i]
		if f.Issue != "dv-duplicate" && f.Issue != "dv-resurrected" || f.Repair == Safe {
			continue
		}
		data := c.survey.State.DataFiles[f.DataFile]
		positions, err := c.positionsOf(ctx, data)
		if err != nil {
			return err
		}
		switch {
		case f.Issue == "dv-duplicate" && oneHoldsAll(positions):
			f.Repair = Safe
			f.Detail += "; one holds the positions of all"
		case f.Issue == "dv-resurrected" && positions != nil && othersHold(data, positions, f):
			f.Repair = Safe
			f.Detail += "; another one holds its positions"
		}
	}
	return nil
}

// positionsOf reads the deletion vectors of a data file, and returns nil when one of them cannot be read, which is a
// finding of its own.
func (c *checker) positionsOf(ctx context.Context, data *snapshot.DataFile) ([]*puffin.Bitmap, error) {
	if data == nil {
		return nil, nil
	}
	var out []*puffin.Bitmap
	for _, d := range data.DVs {
		if d.Unbound() {
			return nil, nil
		}
		b, err := puffin.ReadDeletionVector(ctx, c.table.Store.Object(d.Path, 0), maintenance.RangeOf(d))
		if errors.Is(err, puffin.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("deletion vector of %s: %w", data.Path, err)
		}
		out = append(out, b)
	}
	return out, nil
}

// oneHoldsAll says whether one of some bitmaps holds the positions of all.
func oneHoldsAll(bitmaps []*puffin.Bitmap) bool {
	return slices.ContainsFunc(bitmaps, func(all *puffin.Bitmap) bool {
		return !slices.ContainsFunc(bitmaps, func(b *puffin.Bitmap) bool { return !b.IsSubsetOf(all) })
	})
}

// othersHold says whether a deletion vector other than that of a finding holds the positions of that one.
func othersHold(data *snapshot.DataFile, positions []*puffin.Bitmap, f *Finding) bool {
	own := slices.IndexFunc(data.DVs, func(d *snapshot.DeleteFile) bool {
		return d.Path == f.Location && d.Offset == number(f.Offset) && d.Length == number(f.Length)
	})
	for i, b := range positions {
		if own >= 0 && data.DVs[i].FileID != data.DVs[own].FileID && positions[own].IsSubsetOf(b) {
			return true
		}
	}
	return false
}
