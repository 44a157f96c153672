package inspect

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/dvcompactor/dvcompactor/puffin"
)

// Vector is a deletion vector read by its range.
type Vector struct {
	Verdict
	bitmap *puffin.Bitmap
}

// ReadVector reads a range as a deletion vector, without looking at anything else of the object.
func ReadVector(ctx context.Context, r puffin.RangeReader, rng puffin.DeletionVectorRange) (*Vector, error) {
	bitmap, err := puffin.ReadDeletionVector(ctx, r, rng)
	verdict, err := judge(err)
	if err != nil {
		return nil, err
	}
	return &Vector{Verdict: verdict, bitmap: bitmap}, nil
}

// WriteJSON prints the vector as one JSON document. Ranges are written as they are found: there may be more of them
// than fit into memory.
func (v *Vector) WriteJSON(w io.Writer) error {
	reason, err := json.Marshal(v.Error)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(b, `{"dv": {"status": %q, "error": %s, "cardinality": `, v.Status, reason)
	if v.bitmap == nil {
		b.WriteString("null, \"ranges\": null}}\n")
		return b.Flush()
	}
	fmt.Fprintf(b, `%d, "ranges": [`, v.bitmap.Cardinality())
	if err := writeRanges(b, v.bitmap); err != nil {
		return err
	}
	b.WriteString("]}}\n")
	return b.Flush()
}

func writeRanges(b *bufio.Writer, m *puffin.Bitmap) error {
	var line []byte
	separator := ""
	for first, last := range m.Ranges() {
		line = append(line[:0], separator...)
		line = append(line, '[')
		line = strconv.AppendInt(line, first, 10)
		line = append(line, ", "...)
		line = strconv.AppendInt(line, last, 10)
		line = append(line, ']')
		if _, err := b.Write(line); err != nil {
			return err
		}
		separator = ", "
	}
	return nil
}
