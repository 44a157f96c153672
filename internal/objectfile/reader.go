package objectfile

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// ErrFormat tells that a file is not what it should be, is damaged or encrypted, or needs a codec that nobody here has.
var ErrFormat = errors.New("file format cannot be read")

// tailBytes are fetched first, unless the whole object is. They hold the footer of nearly all files.
const tailBytes = 64 << 10

// Source is an object in a store.
type Source interface {
	// ReadRange returns exactly length bytes at offset.
	ReadRange(ctx context.Context, offset, length int64) ([]byte, error)
	// Size returns the number of bytes of the object.
	Size(ctx context.Context) (int64, error)
}

// Options say what is known of an object and how to fetch it.
type Options struct {
	// Size is what the manifest says about the size in bytes; 0 when it is not known. It is a hint, which is used only
	// when Ends agrees: some writers record a wrong one.
	Size int64
	// Whole is the size in bytes up to which an object is fetched with one request.
	Whole int64
	// Ends tells whether bytes end like a file of the format. Formats that are read from their start leave it nil: the
	// store is asked for the size then, and nothing is fetched of an object larger than Whole before it is read.
	Ends func(tail []byte) bool
}

// Reader gives a decoder random access to an object and remembers when the store failed, so that an unreachable object
// is not taken for a damaged one. It is for one use at a time.
type Reader struct {
	ctx    context.Context
	source Source
	opts   Options

	size     int64
	tail     []byte // last bytes of the object, or all of it
	pos      int64
	storeErr error
}

// NewReader returns a reader of an object for as long as ctx lasts. No request is sent.
func NewReader(ctx context.Context, source Source, opts Options) *Reader {
	return &Reader{ctx: ctx, source: source, opts: opts}
}

// Size returns the number of bytes of the object. It is known when the file is being decoded.
func (r *Reader) Size() int64 { return r.size }

// Tail returns the last bytes of the object that were fetched first: all of an object of up to [Options].Whole bytes.
func (r *Reader) Tail() []byte { return r.tail }

// Failed tells whether the store failed or the context ended, so that an error says nothing about the file.
func (r *Reader) Failed() bool { return r.storeErr != nil || r.ctx.Err() != nil }

// Decode opens the object and calls use to decode it. An error of the store or of the context is returned as it is, see
// [Reader.Failed]; everything else is about the file: what use returns, or [ErrFormat] when it panics.
func (r *Reader) Decode(use func() error) (err error) {
	defer func() {
		// Libraries panic at some damaged files. They are as unreadable as others.
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrFormat, p)
		}
		switch {
		case err != nil && r.storeErr != nil:
			err = r.storeErr
		case err != nil && r.ctx.Err() != nil:
			err = r.ctx.Err()
		}
	}()
	if err := r.open(); err != nil {
		return err
	}
	return use()
}

// open learns the size and reads the tail. The size of the manifest is believed only if the bytes there end like a file
// of the format.
func (r *Reader) open() error {
	r.size = r.opts.Size
	if r.size > 0 && r.opts.Ends != nil {
		if tail, err := r.fetchTail(); err == nil && r.opts.Ends(tail) {
			r.tail = tail
			return nil
		} else if err != nil && r.ctx.Err() != nil {
			return r.failed(err)
		}
	}
	size, err := r.source.Size(r.ctx)
	if err != nil {
		return r.failed(err)
	}
	r.size = size
	tail, err := r.fetchTail()
	if err != nil {
		return r.failed(err)
	}
	r.tail = tail
	return nil
}

func (r *Reader) fetchTail() ([]byte, error) {
	n := r.size
	if n > r.opts.Whole {
		if r.opts.Ends == nil {
			return nil, nil
		}
		n = min(n, tailBytes)
	}
	if n == 0 {
		return nil, nil
	}
	return r.source.ReadRange(r.ctx, r.size-n, n)
}

func (r *Reader) failed(err error) error {
	r.storeErr = err
	return err
}

// ReadAt implements io.ReaderAt.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > r.size {
		return 0, errors.New("offset outside the file")
	}
	n := int64(len(p))
	var eof error
	if off+n > r.size {
		n, eof = r.size-off, io.EOF
	}
	if n == 0 {
		return 0, eof
	}
	if start := r.size - int64(len(r.tail)); off >= start {
		return copy(p, r.tail[off-start:off-start+n]), eof
	}
	data, err := r.source.ReadRange(r.ctx, off, n)
	if err != nil {
		return 0, r.failed(err)
	}
	return copy(p, data), eof
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.ReadAt(p, r.pos)
	r.pos += int64(n)
	return n, err
}

// Seek implements io.Seeker.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.pos
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the start of the file")
	}
	r.pos = offset
	return offset, nil
}
