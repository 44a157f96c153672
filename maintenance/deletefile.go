package maintenance

import (
	"context"
	"errors"
	"fmt"

	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// deletesFile is a position delete file that a run wrote and proved.
type deletesFile struct {
	snapshot.NewPositionDeletes
	holds []held // by path, ascending
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
	file *deletesFile
}

// create begins a position delete file of one partition.
func (w *writer) create(ctx context.Context, g *snapshot.Group, o positiondelete.WriterOptions) (*openDeletes, error) {
	location := w.deletesLocation()
	out, err := w.store.Create(ctx, location)
	if err != nil {
		return nil, fmt.Errorf("position delete file %s: %w", location, err)
	}
	enc, err := positiondelete.NewWriter(out, o)
	if err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	return &openDeletes{w: w, out: out, enc: enc, file: &deletesFile{NewPositionDeletes: snapshot.NewPositionDeletes{Location: location, Group: g}}}, nil
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

// proveDeletes reads a position delete file back, as readers will, and compares it with what was merged: data files in
// the order of their paths, and of each one every position once, in ascending order.
func (w *writer) proveDeletes(ctx context.Context, f *deletesFile) error {
	p := &proof{want: f.holds, last: -1}
	err := positiondelete.Read(ctx, positiondelete.File{Location: f.Location, Source: w.store.Object(f.Location, 0), Size: f.Size}, p.visit)
	if err == nil {
		err = p.finish()
	}
	if err != nil {
		return fmt.Errorf("%w: position delete file %s: %w", ErrProof, f.Location, err)
	}
	return nil
}

// proof compares the records of a position delete file with what it is to hold, one data file at a time.
type proof struct {
	want []held // that have not come yet
	path []byte // that is being read
	got  *puffin.Bitmap
	last int64 // position that came last
}

func (p *proof) visit(path []byte, positions []int64) error {
	if p.got == nil || string(p.path) != string(path) {
		if err := p.next(); err != nil {
			return err
		}
		p.path, p.got, p.last = append(p.path[:0], path...), puffin.NewBitmap(), -1
	}
	for _, position := range positions {
		if position <= p.last {
			return fmt.Errorf("position %d of %s comes after %d", position, path, p.last)
		}
		p.last = position
	}
	return p.got.AddMany(positions)
}

// next compares the data file whose records have all come.
func (p *proof) next() error {
	if p.got == nil {
		return nil
	}
	if len(p.want) == 0 || p.want[0].path != string(p.path) {
		return fmt.Errorf("it has records of %s", p.path)
	}
	want := p.want[0]
	p.want = p.want[1:]
	if d := digest(p.got); d != want.digest {
		return fmt.Errorf("positions of %s: merged %s, read back %s", want.path, want.digest, d)
	}
	return nil
}

func (p *proof) finish() error {
	if err := p.next(); err != nil {
		return err
	}
	if len(p.want) > 0 {
		return fmt.Errorf("it has no records of %s", p.want[0].path)
	}
	return nil
}
