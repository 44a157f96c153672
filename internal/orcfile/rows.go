package orcfile

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Row is a row of two columns. Text is valid until the next one.
type Row struct {
	Text   []byte
	Number int64
	Null   bool // of Text or of Number, which are then not what they are
}

// Each calls use with the rows of a column of text and one of whole numbers. An error of use is returned as it is, as one
// of the reader of the file is; any other is [ErrFormat].
func (f *File) Each(text, number Column, use func(Row) error) error {
	for i, s := range f.stripes {
		r, err := f.openStripe(s, text, number)
		if err != nil {
			return format(fmt.Errorf("stripe %d: %w", i, err))
		}
		for n := range s.rows {
			row, err := r.next()
			if err != nil {
				return format(fmt.Errorf("stripe %d, row %d of %d: %w", i, n, s.rows, err))
			}
			if err := use(row); err != nil {
				return err
			}
		}
		if err := r.end(); err != nil {
			return format(fmt.Errorf("stripe %d, after %d rows: %w", i, s.rows, err))
		}
	}
	return nil
}

// rows are the rows of a stripe.
type rows struct {
	text    *texts
	numbers *longs
}

func (r rows) next() (row Row, err error) {
	var noText, noNumber bool
	if row.Text, noText, err = r.text.next(); err != nil {
		return row, fmt.Errorf("text: %w", err)
	}
	if row.Number, noNumber, err = r.numbers.next(); err != nil {
		return row, fmt.Errorf("number: %w", err)
	}
	row.Null = noText || noNumber
	return row, nil
}

// end checks that there are no more values than rows: what a stripe says of its rows would hide them.
func (r rows) end() error {
	for _, values := range []*ints{r.text.values, r.numbers.values} {
		if done, err := values.ended(); err != nil {
			return err
		} else if !done {
			return errors.New("there are more values")
		}
	}
	return nil
}

// Kinds of streams and of encodings (ORC specification, "Stripes").
const (
	streamPresent    = 0
	streamData       = 1
	streamLength     = 2
	streamDictionary = 3

	encodingDirect       = 0
	encodingDictionary   = 1
	encodingDirectV2     = 2
	encodingDictionaryV2 = 3
)

// encoding is how the values of a column are stored in a stripe.
type encoding struct {
	kind    uint64
	entries int64 // of the dictionary
}

// streamID says which stream is meant.
type streamID struct{ column, kind uint64 }

// layout is what the footer of a stripe says.
type layout struct {
	at        map[streamID][2]int64 // offset and length in bytes
	encodings []encoding            // by column
}

func (f *File) openStripe(s stripe, text, number Column) (r rows, err error) {
	l, err := f.readLayout(s)
	if err != nil {
		return r, err
	}
	// No writer leaves rows out as a whole, and what a file that does means by the positions behind them is not known.
	if _, some := l.at[streamID{0, streamPresent}]; some {
		return r, errors.New("rows that are null")
	}
	if r.text, err = f.openTexts(l, text.id); err != nil {
		return r, fmt.Errorf("column %q: %w", text.Name, err)
	}
	if r.numbers, err = f.openLongs(l, number.id); err != nil {
		return r, fmt.Errorf("column %q: %w", number.Name, err)
	}
	return r, nil
}

// readLayout reads the footer of a stripe. Streams follow each other from its start.
func (f *File) readLayout(s stripe) (layout, error) {
	l := layout{at: map[streamID][2]int64{}}
	b, err := f.whole(s.offset+s.index+s.data, s.footer)
	if err != nil {
		return l, fmt.Errorf("footer: %w", err)
	}
	used := int64(0)
	err = message(b, func(id protowire.Number, v field) error {
		switch id {
		case 1:
			stream, length, err := parseStream(v.bytes, s.index+s.data-used)
			if _, twice := l.at[stream]; twice {
				return fmt.Errorf("stream %v is listed twice", stream)
			}
			l.at[stream] = [2]int64{s.offset + used, length}
			used += length
			return err
		case 2:
			e, err := parseEncoding(v.bytes)
			l.encodings = append(l.encodings, e)
			return err
		}
		return nil
	})
	return l, err
}

func parseStream(b []byte, room int64) (id streamID, length int64, err error) {
	err = message(b, func(n protowire.Number, f field) (err error) {
		switch n {
		case 1:
			id.kind = f.number
		case 2:
			id.column = f.number
		case 3:
			length, err = f.within(room, "a stream")
		}
		return err
	})
	return id, length, err
}

func parseEncoding(b []byte) (e encoding, err error) {
	err = message(b, func(n protowire.Number, f field) (err error) {
		switch n {
		case 1:
			e.kind = f.number
		case 2:
			e.entries, err = f.within(maxDictionary, "a dictionary")
		}
		return err
	})
	return e, err
}

// open opens a stream of a column. One that is not there is empty.
func (f *File) open(l layout, column, kind uint64) *stream {
	at := l.at[streamID{column, kind}]
	return f.stream(at[0], at[1])
}
