package maintenance

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// positionDeletes writes one position delete file and proves it.
func (w *writer) positionDeletes(ctx context.Context, f PatchFile) (snapshot.NewPositionDeletes, error) {
	location := fmt.Sprintf("%s/%s-%05d-deletes.parquet", w.dir, w.name, len(w.deletes))
	w.deletes = append(w.deletes, location)
	out := snapshot.NewPositionDeletes{Location: location, Group: f.Group, Seq: f.Seq}
	written, size, err := w.encodeDeletes(ctx, location, f.Positions)
	if err == nil {
		out.Size, out.Records = size, written.Records
		out.Lower, out.Upper = written.Bounds()
		err = w.proveDeletes(ctx, out, f.Positions)
	}
	if err != nil {
		return out, fmt.Errorf("position delete file %s: %w", location, err)
	}
	return out, nil
}

func (w *writer) encodeDeletes(ctx context.Context, location string, positions map[string]*puffin.Bitmap) (positiondelete.Written, int64, error) {
	out, err := w.store.Create(ctx, location)
	if err != nil {
		return positiondelete.Written{}, 0, err
	}
	written, err := positiondelete.Write(out, sortedPositions(positions))
	if err != nil {
		return written, 0, errors.Join(err, out.Abort())
	}
	size := out.Size()
	return written, size, out.Close()
}

// sortedPositions gives the positions of data files in the order of their paths.
func sortedPositions(positions map[string]*puffin.Bitmap) iter.Seq2[string, *puffin.Bitmap] {
	return func(yield func(string, *puffin.Bitmap) bool) {
		for _, path := range sortedKeys(positions) {
			if !yield(path, positions[path]) {
				return
			}
		}
	}
}

// proveDeletes reads a position delete file back and compares every record.
func (w *writer) proveDeletes(ctx context.Context, f snapshot.NewPositionDeletes, want map[string]*puffin.Bitmap) error {
	got := map[string]*puffin.Bitmap{}
	err := positiondelete.Read(ctx, positiondelete.File{Location: f.Location, Source: w.store.Object(f.Location, 0), Size: f.Size}, func(path []byte, positions []int64) error {
		b := got[string(path)]
		if b == nil {
			b = puffin.NewBitmap()
			got[string(path)] = b
		}
		return b.AddMany(positions)
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProof, err)
	}
	for path, positions := range want {
		if b := got[path]; !positions.IsEmpty() && (b == nil || !b.Equal(positions)) {
			return fmt.Errorf("%w: positions of %s are not those read back", ErrProof, path)
		}
		delete(got, path)
	}
	for path := range got {
		return fmt.Errorf("%w: it has records of %s", ErrProof, path)
	}
	return nil
}
