package maintenance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/puffin"
)

// proveDeletes reads a position delete file back, as readers will, and compares it with what was merged: data files in
// the order of their paths, and of each one every position once, in ascending order. What readers go by without reading
// a record, the statistics in the file and the bounds of its entry, is compared too: the bytes are those that were written,
// and the bounds those of the records.
func (w *writer) proveDeletes(ctx context.Context, f *deletesFile) error {
	source, err := stored(ctx, w.store.Object(f.Location, 0), f)
	if err == nil {
		p := &proof{want: f.holds, last: -1}
		err = positiondelete.Read(ctx, positiondelete.File{Location: f.Location, Source: source, Size: f.Size}, p.visit)
		if err == nil {
			err = p.finish(f)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: position delete file %s: %w", ErrProof, f.Location, err)
	}
	return nil
}

// proofChunk is how many bytes of a position delete file are fetched at once to compare them.
const proofChunk = 4 << 20

// stored compares the bytes of an object with those that were written, and returns where to read them: a small object is
// fetched once.
func stored(ctx context.Context, object *storage.Object, f *deletesFile) (positiondelete.Source, error) {
	sum, buf := sha256.New(), make([]byte, min(f.Size+1, proofChunk)) // one byte more would be one too many
	n, err := io.CopyBuffer(sum, struct{ io.Reader }{io.NewSectionReader(object.ReaderAt(ctx), 0, f.Size+1)}, buf)
	if err != nil {
		return nil, err
	}
	if n != f.Size || [sha256.Size]byte(sum.Sum(nil)) != f.sum {
		return nil, fmt.Errorf("its %d bytes are not the %d that were written", n, f.Size)
	}
	if n < int64(len(buf)) {
		return memory(buf[:n]), nil
	}
	return object, nil
}

// memory is a small object.
type memory []byte

// ReadRange implements positiondelete.Source.
func (m memory) ReadRange(_ context.Context, offset, length int64) ([]byte, error) {
	if offset < 0 || length < 0 || offset+length > int64(len(m)) {
		return nil, errors.New("range outside of the object")
	}
	return m[offset : offset+length], nil
}

// Size implements positiondelete.Source.
func (m memory) Size(context.Context) (int64, error) { return int64(len(m)), nil }

// proof compares the records of a position delete file with what it is to hold, one data file at a time.
type proof struct {
	want []held // that have not come yet
	path []byte // that is being read
	got  *puffin.Bitmap
	low  int64                  // position of the path that came first
	last int64                  // and last
	read positiondelete.Written // what the entry has to say of the data files so far
}

func (p *proof) visit(path []byte, positions []int64) error {
	if p.got == nil || string(p.path) != string(path) {
		if err := p.next(); err != nil {
			return err
		}
		p.path, p.got, p.last = append(p.path[:0], path...), puffin.NewBitmap(), -1
	}
	if p.last < 0 && len(positions) > 0 {
		p.low = positions[0]
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
	p.count()
	return nil
}

// count adds the data file whose records have all come to what the entry has to say.
func (p *proof) count() {
	r := &p.read
	if r.Records == 0 {
		r.LowerPath, r.LowerPos = string(p.path), p.low
	}
	r.Records += p.got.Cardinality()
	r.UpperPath = string(p.path)
	r.LowerPos, r.UpperPos = min(r.LowerPos, p.low), max(r.UpperPos, p.last)
}

func (p *proof) finish(f *deletesFile) error {
	if err := p.next(); err != nil {
		return err
	}
	if len(p.want) > 0 {
		return fmt.Errorf("it has no records of %s", p.want[0].path)
	}
	lower, upper := p.read.Bounds()
	if p.read.Records != f.Records || !maps.EqualFunc(lower, f.Lower, bytes.Equal) || !maps.EqualFunc(upper, f.Upper, bytes.Equal) {
		return errors.New("the number or the bounds of its records are not those of its entry")
	}
	if one := f.holds[0].path; len(f.holds) == 1 && f.Referenced != one || len(f.holds) > 1 && f.Referenced != "" {
		return fmt.Errorf("its entry references %q", f.Referenced)
	}
	return nil
}
