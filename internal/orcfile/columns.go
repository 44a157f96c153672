package orcfile

import (
	"fmt"
	"io"
)

// maxDictionary bounds a dictionary, in entries and in bytes, and a single text.
const maxDictionary = 64 << 20

// present says which rows of a column are not null.
type present struct {
	in   *stream // nil when all are
	left int     // bytes of the current run that were not taken yet
	same bool    // they are all value
	bits byte
	have int // bits of the current byte that were not taken yet
	byte byte
}

// next tells whether the next row is there.
func (p *present) next() (bool, error) {
	if p.in == nil {
		return true, nil
	}
	if p.have == 0 {
		if err := p.nextByte(); err != nil {
			return false, err
		}
	}
	p.have--
	return p.bits>>p.have&1 == 1, nil
}

func (p *present) nextByte() (err error) {
	if p.left == 0 {
		if err := p.run(); err != nil {
			return err
		}
	}
	if !p.same {
		if p.byte, err = p.in.ReadByte(); err != nil {
			return err
		}
	}
	p.left, p.bits, p.have = p.left-1, p.byte, 8
	return nil
}

// run begins a run of one byte, or of bytes one by one.
func (p *present) run() error {
	control, err := p.in.ReadByte()
	if err != nil {
		return err
	}
	if p.same = control < 128; !p.same {
		p.left = 256 - int(control)
		return nil
	}
	p.left = int(control) + 3
	p.byte, err = p.in.ReadByte()
	return err
}

func (f *File) openPresent(l layout, column uint64) present {
	if _, some := l.at[streamID{column, streamPresent}]; !some {
		return present{}
	}
	return present{in: f.open(l, column, streamPresent)}
}

// longs are the values of a column of whole numbers.
type longs struct {
	present present
	values  *ints
}

func (f *File) openLongs(l layout, column uint64) (*longs, error) {
	e, err := l.encoding(column)
	if err != nil {
		return nil, err
	}
	if e.kind != encodingDirect && e.kind != encodingDirectV2 {
		return nil, fmt.Errorf("encoding %d of numbers", e.kind)
	}
	return &longs{f.openPresent(l, column), f.ints(l, column, streamData, e, true)}, nil
}

func (c *longs) next() (v int64, null bool, err error) {
	if there, err := c.present.next(); !there || err != nil {
		return 0, true, unexpected(err)
	}
	v, err = c.values.next()
	return v, false, unexpected(err)
}

// texts are the values of a column of text: numbers of entries of a dictionary, or lengths of bytes.
type texts struct {
	present present
	values  *ints
	bytes   *stream  // nil with a dictionary
	entries [][]byte // of the dictionary
	text    []byte
}

func (f *File) openTexts(l layout, column uint64) (*texts, error) {
	e, err := l.encoding(column)
	if err != nil {
		return nil, err
	}
	c := &texts{present: f.openPresent(l, column)}
	switch e.kind {
	case encodingDirect, encodingDirectV2:
		c.values, c.bytes = f.ints(l, column, streamLength, e, false), f.open(l, column, streamData)
	case encodingDictionary, encodingDictionaryV2:
		c.values = f.ints(l, column, streamData, e, false)
		c.entries, err = readDictionary(f.ints(l, column, streamLength, e, false), f.open(l, column, streamDictionary), e.entries)
	default:
		err = fmt.Errorf("encoding %d of text", e.kind)
	}
	return c, err
}

// readDictionary reads n entries. All but one hold something, so that there are no more than bytes and one.
func readDictionary(lengths *ints, in *stream, n int64) ([][]byte, error) {
	var out [][]byte
	total := int64(0)
	for i := range n {
		length, err := lengths.next()
		if err != nil {
			return nil, fmt.Errorf("entry %d of %d of the dictionary: %w", i, n, unexpected(err))
		}
		if length < 0 || length > maxDictionary-total {
			return nil, fmt.Errorf("entry %d of %d of the dictionary has %d bytes", i, n, length)
		}
		if total += length; total < i {
			return nil, fmt.Errorf("%d of the first %d entries of the dictionary are empty", i-total, i+1)
		}
		entry, err := in.appendTo(nil, length)
		if err != nil {
			return nil, fmt.Errorf("entry %d of %d of the dictionary: %w", i, n, err)
		}
		out = append(out, entry)
	}
	return out, nil
}

func (c *texts) next() (text []byte, null bool, err error) {
	if there, err := c.present.next(); !there || err != nil {
		return nil, true, unexpected(err)
	}
	v, err := c.values.next()
	if err != nil {
		return nil, false, unexpected(err)
	}
	if c.bytes == nil {
		if v < 0 || v >= int64(len(c.entries)) {
			return nil, false, fmt.Errorf("entry %d of a dictionary of %d", v, len(c.entries))
		}
		return c.entries[v], false, nil
	}
	if v < 0 || v > maxDictionary {
		return nil, false, fmt.Errorf("a text of %d bytes", v)
	}
	c.text, err = c.bytes.appendTo(c.text[:0], v)
	return c.text, false, err
}

func (l layout) encoding(column uint64) (encoding, error) {
	if column >= uint64(len(l.encodings)) {
		return encoding{}, fmt.Errorf("no encoding among %d", len(l.encodings))
	}
	return l.encodings[column], nil
}

// ints opens a stream of numbers. The encoding of the column says in which version they are.
func (f *File) ints(l layout, column, kind uint64, e encoding, signed bool) *ints {
	return &ints{in: f.open(l, column, kind), signed: signed, v1: e.kind == encodingDirect || e.kind == encodingDictionary}
}

// unexpected is for the end of a stream where there should be more.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
