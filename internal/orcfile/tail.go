package orcfile

import (
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// magic is how a file begins, and how its postscript ends.
const magic = "ORC"

// maxFooter bounds a footer when it is not compressed, in bytes.
const maxFooter = 64 << 20

// Kinds of types (ORC specification, "Type Information").
const (
	kindLong   = 4
	kindString = 7
	kindStruct = 12
)

// Ends tells whether bytes end like an ORC file: with a postscript that ends with the magic, and its length.
func Ends(tail []byte) bool {
	n := len(tail)
	return n > len(magic) && string(tail[n-1-len(magic):n-1]) == magic
}

// typeInfo is a type of the footer. The first is that of the rows, and the others are below it.
type typeInfo struct {
	kind       uint64
	subtypes   []uint64
	names      []string
	attributes map[string]string
}

// stripe is where a stripe is: its streams for indexes, its other streams, its footer.
type stripe struct {
	offset, index, data, footer int64
	rows                        int64
}

// postscript is what the last bytes say.
type postscript struct {
	footer, metadata, block int64
	codec                   decompress
}

// readPostscript reads the postscript of a file of size bytes and returns where it begins.
func readPostscript(r io.ReaderAt, size int64) (postscript, int64, error) {
	var p postscript
	tail := make([]byte, min(size, 256))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return p, 0, err
	}
	if !Ends(tail) {
		return p, 0, errors.New("it does not end like an ORC file")
	}
	length := int(tail[len(tail)-1])
	if length >= len(tail) {
		return p, 0, fmt.Errorf("a postscript of %d bytes in a file of %d", length, size)
	}
	start := size - 1 - int64(length)
	p.block = maxBlock
	err := message(tail[len(tail)-1-length:len(tail)-1], func(id protowire.Number, f field) (err error) {
		switch id {
		case 1:
			p.footer, err = f.within(start, "a footer")
		case 2:
			p.codec, err = codecOf(f.number)
		case 3:
			p.block, err = f.within(maxBlock, "chunks")
		case 5:
			p.metadata, err = f.within(start, "statistics")
		}
		return err
	})
	if err == nil && p.footer > start {
		err = fmt.Errorf("a footer of %d bytes", p.footer)
	}
	return p, start, err
}

// readFooter reads the footer, which ends where the postscript begins.
func (f *File) readFooter(p postscript, end int64) error {
	in, err := f.whole(end-p.footer, p.footer)
	if err != nil {
		return err
	}
	start := end - p.footer - p.metadata // of the statistics; stripes come before
	if start < 0 {
		return fmt.Errorf("statistics of %d bytes before a footer at %d", p.metadata, end-p.footer)
	}
	err = message(in, func(id protowire.Number, v field) error {
		switch id {
		case 3:
			s, err := parseStripe(v.bytes, start)
			f.stripes = append(f.stripes, s)
			return err
		case 4:
			t, err := parseType(v.bytes)
			f.types = append(f.types, t)
			return err
		case 6:
			rows, err := v.within(math.MaxInt64, "rows")
			f.Rows = rows
			return err
		case 10:
			return errors.New("it is encrypted")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return f.checkRows()
}

// checkRows compares the rows of the stripes with those of the file.
func (f *File) checkRows() error {
	left := f.Rows
	for i, s := range f.stripes {
		if s.rows > left {
			return fmt.Errorf("stripe %d has %d rows, the file %d", i, s.rows, f.Rows)
		}
		left -= s.rows
	}
	if left > 0 {
		return fmt.Errorf("the stripes have %d rows, the file %d", f.Rows-left, f.Rows)
	}
	return nil
}

func parseStripe(b []byte, end int64) (s stripe, err error) {
	numbers := map[protowire.Number]*int64{1: &s.offset, 2: &s.index, 3: &s.data, 4: &s.footer, 5: &s.rows}
	err = message(b, func(id protowire.Number, f field) (err error) {
		limit := end
		if id == 5 {
			limit = math.MaxInt64
		}
		if n := numbers[id]; n != nil {
			*n, err = f.within(limit, "a stripe")
		}
		return err
	})
	// Each is at most the size of the file, so that the sum does not overflow in files of less than two exabytes.
	if err == nil && s.offset+s.index+s.data+s.footer > end {
		err = fmt.Errorf("a stripe of %d bytes at %d, and the stripes end at %d", s.index+s.data+s.footer, s.offset, end)
	}
	return s, err
}

func parseType(b []byte) (typeInfo, error) {
	t := typeInfo{attributes: map[string]string{}}
	err := message(b, func(id protowire.Number, f field) (err error) {
		switch id {
		case 1:
			t.kind = f.number
		case 2:
			t.subtypes, err = f.numbers(t.subtypes)
		case 3:
			t.names = append(t.names, string(f.bytes))
		case 7:
			var key, value string
			err = message(f.bytes, func(id protowire.Number, f field) error {
				switch id {
				case 1:
					key = string(f.bytes)
				case 2:
					value = string(f.bytes)
				}
				return nil
			})
			t.attributes[key] = value
		}
		return err
	})
	return t, err
}
