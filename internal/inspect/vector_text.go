package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/dvcompactor/dvcompactor/internal/term"
	"github.com/dvcompactor/dvcompactor/puffin"
)

// WriteText prints a deletion vector for people, with how it is stored and its bytes.
func (v *Vector) WriteText(ctx context.Context, w io.Writer, o Object, rng puffin.DeletionVectorRange, opts TextOptions) error {
	t := &text{w: w, style: opts.Style, all: opts.All}
	t.printf("%s  %s\n\ndeletion vector\n", t.style.Bold(term.Safe(o.Location())), fmt.Sprintf("offset %d, length %d", rng.Offset, rng.Length))
	t.vector(v)
	if rng.Length > MaxBytes {
		return t.err
	}
	blob, err := o.ReadRange(ctx, rng.Offset, rng.Length)
	if err != nil {
		if v.OK() || errors.Is(err, context.Canceled) {
			return err
		}
		return t.err // the verdict says already that the range is not there
	}
	t.storedAs(blob, rng)
	if opts.Bytes || rng.Length <= SmallFile {
		t.printf("\nbytes\n")
		t.dump(blob, rng.Offset, puffin.AnnotateDeletionVector(blob, rng.Offset))
	}
	return t.err
}

// storedAs says how a vector is stored, as far as it was understood.
func (t *text) storedAs(blob []byte, rng puffin.DeletionVectorRange) {
	d, err := puffin.DescribeDeletionVector(blob, rng)
	if err != nil && d.Keys == 0 {
		return
	}
	t.printf("     %s\n", t.style.Dim(d.String()))
	for _, odd := range d.Oddities {
		t.printf("     %s\n", t.style.Warn(odd))
	}
	if d.TrailingBytes > 0 {
		t.printf("     %s\n", t.style.Warn(term.Plural(int64(d.TrailingBytes), "byte", "bytes")+" between the last bitmap and the checksum"))
	}
}
