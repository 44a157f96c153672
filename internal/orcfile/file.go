package orcfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/dvcompactor/dvcompactor/internal/objectfile"
)

// ErrFormat tells that a file is not ORC, is damaged or encrypted, or needs a codec that nobody here has.
var ErrFormat = objectfile.ErrFormat

// File is an ORC file whose footer was read.
type File struct {
	Rows    int64
	Columns []Column // of the rows, in their order

	r       io.ReaderAt
	codec   decompress
	block   int
	stripes []stripe
	types   []typeInfo
}

// Column is a column of the rows.
type Column struct {
	Name       string
	Attributes map[string]string // "iceberg.id" among them
	id, kind   uint64
}

// Text tells whether the column holds text.
func (c Column) Text() bool { return c.kind == kindString }

// Long tells whether the column holds whole numbers of 64 bits.
func (c Column) Long() bool { return c.kind == kindLong }

// Open reads the footer of a file of size bytes. Errors that are not those of r are [ErrFormat].
func Open(r io.ReaderAt, size int64) (*File, error) {
	f := &File{r: r}
	p, end, err := readPostscript(r, size)
	if err != nil {
		return nil, format(err)
	}
	f.codec, f.block = p.codec, int(p.block)
	if err := f.readFooter(p, end); err != nil {
		return nil, format(fmt.Errorf("footer: %w", err))
	}
	if err := f.findColumns(); err != nil {
		return nil, format(err)
	}
	return f, nil
}

// format makes an error one about the file.
func format(err error) error { return fmt.Errorf("%w: %w", ErrFormat, err) }

func (f *File) findColumns() error {
	if len(f.types) == 0 || f.types[0].kind != kindStruct {
		return errors.New("rows that are no structure")
	}
	root := f.types[0]
	if len(root.subtypes) != len(root.names) {
		return fmt.Errorf("%d names of %d columns", len(root.names), len(root.subtypes))
	}
	for i, id := range root.subtypes {
		if id == 0 || id >= uint64(len(f.types)) {
			return fmt.Errorf("column %d of type %d of %d", i, id, len(f.types))
		}
		f.Columns = append(f.Columns, Column{Name: root.names[i], Attributes: f.types[id].attributes, id: id, kind: f.types[id].kind})
	}
	return nil
}

// stream opens bytes of the file, which are compressed as all of them.
func (f *File) stream(offset, length int64) *stream {
	section := bufio.NewReaderSize(io.NewSectionReader(f.r, offset, length), int(min(fetch, max(length, 16))))
	return &stream{in: &io.LimitedReader{R: section, N: length}, decode: f.codec, block: f.block}
}

// whole reads a footer.
func (f *File) whole(offset, length int64) ([]byte, error) {
	s := f.stream(offset, length)
	var out []byte
	for {
		if done, err := s.ended(); done || err != nil {
			return out, err
		}
		if len(out)+len(s.rest) > maxFooter {
			return nil, fmt.Errorf("more than %d bytes", maxFooter)
		}
		out, s.rest = append(out, s.rest...), nil
	}
}
