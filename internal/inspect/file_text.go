package inspect

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/dvcompactor/dvcompactor/internal/term"
	"github.com/dvcompactor/dvcompactor/puffin"
)

// TextOptions say how much is shown.
type TextOptions struct {
	Style term.Style
	// All shows every range and every byte; otherwise long lists are cut.
	All bool
	// Bytes shows the bytes with the names of their parts. Small files are shown that way in any case.
	Bytes bool
}

// someRanges is how many ranges of a deletion vector are shown unless everything is asked for.
const someRanges = 12

// WriteText prints the file for people, with its deletion vectors, which it reads. It returns false when the footer or
// one of them is not ok.
func (f *File) WriteText(ctx context.Context, w io.Writer, o Object, opts TextOptions) (bool, error) {
	t := &text{w: w, style: opts.Style, all: opts.All}
	t.printf("%s  %s\n", t.style.Bold(term.Safe(f.location)), term.Size(f.size))
	t.footer(f.Footer)
	t.blobs(f.blobs)
	ok, err := t.vectors(ctx, o, f)
	if err != nil {
		return false, err
	}
	if opts.Bytes || f.size <= SmallFile {
		if err := t.fileBytes(ctx, o, f.size); err != nil {
			return false, err
		}
	}
	return ok && f.Footer.OK(), t.err
}

func (t *text) footer(f Footer) {
	t.printf("\nfooter  %s", t.status(f.Verdict))
	if f.Compressed {
		t.printf("  %s", t.style.Warn("compressed: several readers cannot open it"))
	}
	t.printf("\n")
	if !f.OK() {
		t.printf("  %s\n", t.style.Bad(term.Safe(f.text())))
	}
	for _, key := range slices.Sorted(maps.Keys(f.Properties)) {
		t.printf("  %s  %s\n", term.Safe(key), term.Safe(f.Properties[key]))
	}
}

func (t *text) blobs(blobs []puffin.BlobMetadata) {
	if len(blobs) == 0 {
		return
	}
	t.printf("\n%s\n", term.Plural(int64(len(blobs)), "blob", "blobs"))
	table := &term.Table{Indent: "  ", Right: []bool{true, false, true, true}}
	table.Row(t.style.Dim("#"), t.style.Dim("type"), t.style.Dim("offset"), t.style.Dim("length"), t.style.Dim("codec"), t.style.Dim("properties"))
	for i, b := range blobs {
		codec := b.CompressionCodec
		if codec == puffin.CodecNone {
			codec = "-"
		}
		table.Row(fmt.Sprint(i), term.Safe(b.Type), fmt.Sprint(b.Offset), fmt.Sprint(b.Length), term.Safe(codec), term.Safe(keyValues(b)))
	}
	t.table(table)
}

// keyValues shows what of a blob is not shown elsewhere.
func keyValues(b puffin.BlobMetadata) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(b.Properties)) {
		if !b.IsDeletionVector() || key != puffin.PropertyReferencedDataFile {
			parts = append(parts, key+"="+b.Properties[key])
		}
	}
	if b.SnapshotID != puffin.NoSnapshotID || b.SequenceNumber != puffin.NoSequenceNumber {
		parts = append(parts, fmt.Sprintf("snapshot-id=%d sequence-number=%d", b.SnapshotID, b.SequenceNumber))
	}
	if len(b.Fields) > 0 {
		parts = append(parts, fmt.Sprintf("fields=%v", b.Fields))
	}
	return strings.Join(parts, " ")
}

// vectors reads and shows the deletion vectors that the footer names.
func (t *text) vectors(ctx context.Context, o Object, f *File) (bool, error) {
	var ranges []puffin.DeletionVectorRange
	var index []int
	for i, b := range f.blobs {
		if b.IsDeletionVector() && b.CompressionCodec == puffin.CodecNone {
			rng := b.DeletionVectorRange("")
			rng.ReferencedDataFile = "" // shown beside the error, as the location is
			ranges = append(ranges, rng)
			index = append(index, i)
		}
	}
	if len(ranges) == 0 {
		return true, nil
	}
	t.printf("\ndeletion vectors\n")
	ok := true
	err := puffin.ReadDeletionVectors(ctx, o, ranges, puffin.ReadOptions{}, func(i int, b *puffin.Bitmap, err error) error {
		verdict, err := judge(err)
		if err != nil {
			return err
		}
		ok = ok && verdict.OK()
		t.printf("  %s  %s\n", t.style.Bold(fmt.Sprintf("%d", index[i])), term.Safe(f.blobs[index[i]].ReferencedDataFile()))
		t.vector(&Vector{Verdict: verdict, bitmap: b})
		return t.err
	})
	return ok, err
}

// vector shows one deletion vector.
func (t *text) vector(v *Vector) {
	if !v.OK() {
		t.printf("     %s  %s\n", t.status(v.Verdict), term.Safe(v.text()))
		return
	}
	t.printf("     %s  %s\n", t.status(v.Verdict), term.Plural(v.bitmap.Cardinality(), "position", "positions"))
	t.ranges(v.bitmap)
}

// ranges writes ranges of positions, a few on each line.
func (t *text) ranges(m *puffin.Bitmap) {
	const perLine = 6
	n := 0
	for first, last := range m.Ranges() {
		if n == someRanges && !t.all {
			t.printf("\n     %s", t.style.Dim("… more: --all shows them"))
			break
		}
		switch {
		case n%perLine == 0 && n > 0:
			t.printf("\n     ")
		case n == 0:
			t.printf("     ")
		default:
			t.printf("  ")
		}
		t.printf("%s", rangeText(first, last))
		n++
	}
	if n > 0 {
		t.printf("\n")
	}
}

func rangeText(first, last int64) string {
	if first == last {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

func (t *text) fileBytes(ctx context.Context, o Object, size int64) error {
	if size > MaxBytes {
		t.printf("\nbytes are shown of files up to %s: use --offset and --length\n", term.Size(MaxBytes))
		return nil
	}
	data, err := o.ReadRange(ctx, 0, size)
	if err != nil {
		return err
	}
	t.printf("\nbytes\n")
	t.dump(data, 0, puffin.Annotate(data))
	return nil
}
