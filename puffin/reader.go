package puffin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// RangeReader reads byte ranges of one object. Implementations must allow concurrent calls.
type RangeReader interface {
	// ReadRange returns exactly length bytes from offset on, or an error. When the object ends before, the error
	// wraps [io.ErrUnexpectedEOF]. The caller owns the slice. Both arguments are in bytes and not negative.
	// An implementation should allocate by what the store really sends, because length may come from a damaged file.
	ReadRange(ctx context.Context, offset, length int64) ([]byte, error)
}

// Sizer is a [RangeReader] that can find the size of its object. It is asked only when the caller of this package
// did not give the size, or to tell a short object from a failed transport.
type Sizer interface {
	// Size returns the size of the object in bytes.
	Size(ctx context.Context) (int64, error)
}

// NewReaderAt makes a [RangeReader] and [Sizer] of size bytes of r.
func NewReaderAt(r io.ReaderAt, size int64) *ReaderAt {
	return &ReaderAt{r: r, size: size}
}

// NewBytesReader makes a [RangeReader] and [Sizer] of data, which it does not copy.
func NewBytesReader(data []byte) *ReaderAt {
	return NewReaderAt(bytes.NewReader(data), int64(len(data)))
}

// ReaderAt is a [RangeReader] over an [io.ReaderAt] of known size. Use [NewReaderAt] to make one.
type ReaderAt struct {
	r    io.ReaderAt
	size int64
}

// ReadRange implements [RangeReader]. Nothing is allocated for a range that is not there.
func (r *ReaderAt) ReadRange(ctx context.Context, offset, length int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if offset < 0 || length < 0 {
		return nil, fmt.Errorf("range %d+%d is negative", offset, length)
	}
	if !inside(offset, length, r.size) {
		return nil, fmt.Errorf("range %d+%d of %d bytes: %w", offset, length, r.size, io.ErrUnexpectedEOF)
	}
	buf := make([]byte, length)
	n, err := r.r.ReadAt(buf, offset)
	if int64(n) == length {
		return buf, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return nil, fmt.Errorf("range %d+%d: %w", offset, length, err)
}

// Size implements [Sizer].
func (r *ReaderAt) Size(context.Context) (int64, error) { return r.size, nil }

// inside reports whether offset+length is a range of size bytes, without overflow.
func inside(offset, length, size int64) bool {
	return offset >= 0 && length >= 0 && length <= size && offset <= size-length
}

// shortObjectError is a range that the object is too short for: a damaged length, not a failed transport.
type shortObjectError struct {
	size int64
	err  error
}

// Error says what the store said.
func (e *shortObjectError) Error() string { return e.err.Error() }

// Unwrap gives the error of the store.
func (e *shortObjectError) Unwrap() error { return e.err }

// readRange reads, and tells a range that a damaged file claims from a transport that failed: after a short read, and
// only then, the size of the object is asked for, and the error is a shortObjectError when the range does not fit.
func readRange(ctx context.Context, r RangeReader, offset, length int64) ([]byte, error) {
	data, err := r.ReadRange(ctx, offset, length)
	if err == nil && int64(len(data)) == length {
		return data, nil
	}
	if err == nil {
		err = fmt.Errorf("reader gave %d bytes of range %d+%d: %w", len(data), offset, length, io.ErrUnexpectedEOF)
	}
	sizer, ok := r.(Sizer)
	if !ok || !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	size, sizeErr := sizer.Size(ctx)
	if sizeErr != nil || inside(offset, length, size) {
		return nil, err
	}
	return nil, &shortObjectError{size: size, err: err}
}
