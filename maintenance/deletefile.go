package maintenance

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// deletesFile is a position delete file that a run wrote and proved.
type deletesFile struct {
	snapshot.NewPositionDeletes
	holds []held            // by path, ascending
	sum   [sha256.Size]byte // of its bytes
}

// held are the records of one data file.
type held struct {
	path   string
	file   *snapshot.DataFile // nil when only its path is known
	digest Digest             // of the positions
}

// openDeletes is a position delete file that is being written.
type openDeletes struct {
	w    *writer
	out  *storage.Writer
	enc  *positiondelete.Writer
	sum  hash.Hash // of what was written
	file *deletesFile
}

// create begins a position delete file of one partition.
func (w *writer) create(ctx context.Context, g *snapshot.Group, o positiondelete.WriterOptions) (*openDeletes, error) {
	location := w.deletesLocation()
	out, err := w.store.Create(ctx, location)
	if err != nil {
		return nil, fmt.Errorf("position delete file %s: %w", location, err)
	}
	sum := sha256.New()
	enc, err := positiondelete.NewWriter(io.MultiWriter(out, sum), o)
	if err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	return &openDeletes{w: w, out: out, enc: enc, sum: sum, file: &deletesFile{NewPositionDeletes: snapshot.NewPositionDeletes{Location: location, Group: g}}}, nil
}

func (w *writer) deletesLocation() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	location := fmt.Sprintf("%s/%s-%05d-deletes.parquet", w.dir, w.name, len(w.deletes))
	w.deletes = append(w.deletes, location)
	return location
}

// add appends the records of one data file, whose path comes after those before. f may be nil.
func (o *openDeletes) add(path string, f *snapshot.DataFile, positions *puffin.Bitmap) error {
	if positions.IsEmpty() {
		return nil
	}
	if err := o.enc.Add(path, positions); err != nil {
		return fmt.Errorf("%s: %w", o.file.Location, err)
	}
	o.file.holds = append(o.file.holds, held{path: path, file: f, digest: digest(positions)})
	return nil
}

// close completes the file and proves it. After an error there is nothing to abort.
func (o *openDeletes) close(ctx context.Context) (*deletesFile, error) {
	f := o.file
	written, err := o.enc.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.Location, err), o.out.Abort())
	}
	f.Size, f.Records = o.out.Size(), written.Records
	f.Lower, f.Upper = written.Bounds()
	f.ColumnSizes, f.SplitOffsets = written.ColumnSizes, written.SplitOffsets
	o.sum.Sum(f.sum[:0])
	if len(f.holds) == 1 {
		f.Referenced = f.holds[0].path
	}
	if err := o.out.Close(); err != nil {
		return nil, fmt.Errorf("position delete file %s: %w", f.Location, err)
	}
	return f, o.w.proveDeletes(ctx, f)
}

// positionDeletes writes the position delete file of a patch.
func (w *writer) positionDeletes(ctx context.Context, p PatchFile) (snapshot.NewPositionDeletes, error) {
	o, err := w.create(ctx, p.Group, positiondelete.WriterOptions{})
	if err != nil {
		return snapshot.NewPositionDeletes{}, err
	}
	o.file.Seq = p.Seq
	for _, path := range sortedKeys(p.Positions) {
		if err := o.add(path, nil, p.Positions[path]); err != nil {
			return snapshot.NewPositionDeletes{}, errors.Join(err, o.out.Abort())
		}
	}
	f, err := o.close(ctx)
	if err != nil {
		return snapshot.NewPositionDeletes{}, err
	}
	return f.NewPositionDeletes, nil
}
