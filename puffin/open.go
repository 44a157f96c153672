package puffin

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// OpenOptions tell [Open] what is known of a file.
type OpenOptions struct {
	// Location names the file in the result and in errors.
	Location string
	// Size is the length of the file in bytes, as file_size_in_bytes of a manifest entry. 0 means unknown: then
	// the reader must be a [Sizer] and is asked once.
	Size int64
	// ReadAhead is how many bytes of the end of the file to ask for at once; 0 means [DefaultReadAhead]. A footer that
	// fits costs one request, and a file that fits costs no more than that altogether. 12 and less reads piece by
	// piece: tail, payload with its magic, head magic.
	ReadAhead int64
}

// Open reads and checks the footer of a Puffin file (Puffin spec, "File structure" and "Footer"): the tail, the payload,
// the magics around it and the head magic. No blob is read. With the default read-ahead that is one request for a file
// of up to 32 KiB, two for most others, never more than three.
//
// Errors are [*CorruptionError], [*UnsupportedError] for footer flags that are not known, or r's own, wrapped.
func Open(ctx context.Context, r RangeReader, opts OpenOptions) (*File, error) {
	size, err := openSize(ctx, r, opts)
	if err != nil {
		return nil, err
	}
	o := opener{r: r, location: opts.Location, size: size}
	if size < minFileSize {
		return nil, o.corrupt(0, "file", fmt.Sprintf("at least %d bytes", minFileSize), fmt.Sprintf("%d bytes", size))
	}
	ahead := min(max(cmp.Or(opts.ReadAhead, DefaultReadAhead), TailSize), size)
	if o.tail, err = o.read(ctx, size-ahead, ahead); err != nil {
		return nil, err
	}
	return o.file(ctx)
}

func openSize(ctx context.Context, r RangeReader, opts OpenOptions) (int64, error) {
	if opts.Size > 0 {
		return opts.Size, nil
	}
	sizer, ok := r.(Sizer)
	if !ok {
		return 0, fmt.Errorf("%s: size is not known and the reader cannot tell", cmp.Or(opts.Location, "puffin file"))
	}
	size, err := sizer.Size(ctx)
	if err != nil {
		return 0, fmt.Errorf("%s: size: %w", cmp.Or(opts.Location, "puffin file"), err)
	}
	return size, nil
}

// opener holds the end of a file while its footer is taken apart.
type opener struct {
	r        RangeReader
	location string
	size     int64
	tail     []byte // the last bytes of the file
}

func (o *opener) corrupt(at int64, what, expected, found string) *CorruptionError {
	return &CorruptionError{Kind: KindContainer, Location: o.location, Offset: at, What: what, Expected: expected, Found: found}
}

// read reads a range that size says is there.
func (o *opener) read(ctx context.Context, offset, length int64) ([]byte, error) {
	data, err := readRange(ctx, o.r, offset, length)
	var short *shortObjectError
	if errors.As(err, &short) {
		c := o.corrupt(short.size, "file", fmt.Sprintf("%d bytes", o.size), fmt.Sprintf("%d bytes", short.size))
		c.Err = err
		return nil, c
	}
	if err != nil {
		return nil, fmt.Errorf("%s: footer: %w", cmp.Or(o.location, "puffin file"), err)
	}
	return data, nil
}

// tailStart is the offset of the first byte of o.tail.
func (o *opener) tailStart() int64 { return o.size - int64(len(o.tail)) }

// file checks the tail, gets the rest of the footer and parses it.
func (o *opener) file(ctx context.Context) (*File, error) {
	payloadSize, err := o.checkTail()
	if err != nil {
		return nil, err
	}
	start := o.size - TailSize - payloadSize - MagicSize
	footer := o.tail
	if start < o.tailStart() {
		more, err := o.read(ctx, start, o.tailStart()-start)
		if err != nil {
			return nil, err
		}
		footer = append(more, o.tail...)
		o.tail = footer
	}
	footer = footer[start-o.tailStart():]
	if err := o.checkMagic(footer, start, "magic at the start of the footer"); err != nil {
		return nil, err
	}
	// Only behind a footer that begins and ends as one do flags mean anything: a file that was cut short must not
	// pass for one of a later version of the format.
	compressed, err := o.checkFlags()
	if err != nil {
		return nil, err
	}
	if err := o.checkHead(ctx); err != nil {
		return nil, err
	}
	f, err := ParseFooterPayload(footer[MagicSize:len(footer)-TailSize], compressed,
		PayloadOptions{Location: o.location, Offset: start + MagicSize, BlobsEnd: start})
	if err != nil {
		return nil, err
	}
	f.Size, f.FooterOffset = o.size, start
	return f, nil
}

// checkTail checks magic and payload size (little-endian, signed) in the last 12 bytes and gives the size.
func (o *opener) checkTail() (int64, error) {
	tail := o.tail[len(o.tail)-TailSize:]
	at := o.size - TailSize
	if err := o.checkMagic(tail[8:], at+8, "magic at the end of the file"); err != nil {
		return 0, err
	}
	n := int64(int32(binary.LittleEndian.Uint32(tail)))
	if room := o.size - minFileSize; n < 0 || n > room {
		return 0, o.corrupt(at, "footer payload size", fmt.Sprintf("0 to %d", room), fmt.Sprint(n))
	}
	return n, nil
}

// checkFlags refuses flags whose meaning is not known and tells whether the payload is compressed.
func (o *opener) checkFlags() (bool, error) {
	flags := o.tail[len(o.tail)-TailSize+4:][:4]
	bits := binary.LittleEndian.Uint32(flags)
	if bits&^flagFooterCompressed != 0 {
		return false, &UnsupportedError{Location: o.location, Offset: o.size - TailSize + 4, What: "footer flags",
			Found: fmt.Sprintf("% x", flags)}
	}
	return bits != 0, nil
}

func (o *opener) checkMagic(data []byte, at int64, what string) error {
	if got := string(data[:MagicSize]); got != Magic {
		return o.corrupt(at, what, fmt.Sprintf("%q", Magic), fmt.Sprintf("%q", got))
	}
	return nil
}

// checkHead checks the first magic, with a request only when the tail does not reach it.
func (o *opener) checkHead(ctx context.Context) error {
	head := o.tail
	if o.tailStart() > 0 {
		var err error
		if head, err = o.read(ctx, 0, MagicSize); err != nil {
			return err
		}
	}
	return o.checkMagic(head, 0, "magic at the start of the file")
}
