package positiondelete

import (
	"context"
	"errors"
	"io"
	"slices"
)

const (
	// wholeFile is the size up to which a file is fetched with one request: cheaper than a footer and two columns.
	wholeFile = 4 << 20
	// tailBytes are fetched first of a larger file. They hold the footer of nearly all files.
	tailBytes = 64 << 10
)

// rangeReader gives the Parquet decoder random access to an object and remembers when the store failed, so that an
// unreachable object is not taken for a damaged one.
type rangeReader struct {
	ctx  context.Context
	file File

	size     int64
	tail     []byte // last bytes of the object, or all of it
	pos      int64
	storeErr error
}

func newRangeReader(ctx context.Context, f File) *rangeReader { return &rangeReader{ctx: ctx, file: f} }

// open learns the size and reads the tail. The size of the manifest is believed only if the bytes there end like a
// Parquet file: some writers record a wrong one.
func (r *rangeReader) open() error {
	r.size = r.file.Size
	if r.size > 0 {
		if tail, err := r.fetchTail(); err == nil && endsLikeParquet(tail) {
			r.tail = tail
			return nil
		} else if err != nil && r.ctx.Err() != nil {
			return r.failed(err)
		}
	}
	size, err := r.file.Source.Size(r.ctx)
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

func (r *rangeReader) fetchTail() ([]byte, error) {
	n := r.size
	if n > wholeFile {
		n = tailBytes
	}
	if n == 0 {
		return nil, nil
	}
	return r.file.Source.ReadRange(r.ctx, r.size-n, n)
}

func endsLikeParquet(tail []byte) bool {
	n := len(tail)
	return n >= 4 && (slices.Equal(tail[n-4:], []byte("PAR1")) || slices.Equal(tail[n-4:], []byte("PARE")))
}

func (r *rangeReader) failed(err error) error {
	r.storeErr = err
	return err
}

// explain makes the error to return: the store's own if it failed, else one of the file.
func (r *rangeReader) explain(err error) error {
	if r.storeErr != nil {
		return r.storeErr
	}
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	return &Error{Location: r.file.Location, Err: err}
}

// ReadAt implements io.ReaderAt.
func (r *rangeReader) ReadAt(p []byte, off int64) (int, error) {
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
	data, err := r.file.Source.ReadRange(r.ctx, off, n)
	if err != nil {
		return 0, r.failed(err)
	}
	return copy(p, data), eof
}

// Read implements io.Reader.
func (r *rangeReader) Read(p []byte) (int, error) {
	n, err := r.ReadAt(p, r.pos)
	r.pos += int64(n)
	return n, err
}

// Seek implements io.Seeker.
func (r *rangeReader) Seek(offset int64, whence int) (int64, error) {
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
