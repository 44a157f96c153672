package storage

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
)

// Object is a reader of one object. It is safe for concurrent use and holds nothing open.
type Object struct {
	store *Store
	address
	size atomic.Int64
}

// Object returns a reader of the object at location. size is its size in bytes as table metadata tells it, or 0 when it
// is not known. No request is sent.
func (s *Store) Object(location string, size int64) *Object {
	o := &Object{store: s, address: address{location: location}}
	o.size.Store(size)
	return o
}

// Location returns the location as it was given.
func (o *Object) Location() string { return o.location }

// ReadRange reads exactly length bytes at offset; see [Store.ReadRange].
func (o *Object) ReadRange(ctx context.Context, offset, length int64) ([]byte, error) {
	return o.store.readExactly(ctx, o.address, offset, length)
}

// Size returns the size in bytes: the one given to [Store.Object] or [Store.ObjectVersion], else that of the store, which
// is asked once.
func (o *Object) Size(ctx context.Context) (int64, error) {
	if size := o.size.Load(); size > 0 {
		return size, nil
	}
	size, err := o.store.size(ctx, o.address)
	if err != nil {
		return 0, err
	}
	o.size.Store(size)
	return size, nil
}

// ReaderAt returns the object as an io.ReaderAt whose every ReadAt is one ranged GET under ctx.
func (o *Object) ReaderAt(ctx context.Context) io.ReaderAt {
	return &readerAt{ctx: ctx, store: o.store, address: o.address}
}

// SectionReader returns the object as an io.ReadSeeker and io.ReaderAt. It needs the size, see [Object.Size].
func (o *Object) SectionReader(ctx context.Context) (*io.SectionReader, error) {
	size, err := o.Size(ctx)
	if err != nil {
		return nil, err
	}
	return io.NewSectionReader(o.ReaderAt(ctx), 0, size), nil
}

// readerAt keeps the context that io.ReaderAt has no place for.
type readerAt struct {
	ctx   context.Context
	store *Store
	address
}

// ReadAt implements io.ReaderAt: fewer bytes than asked for come with io.EOF and only at the end of the object.
func (r *readerAt) ReadAt(p []byte, offset int64) (int, error) {
	n, err := r.store.readRange(r.ctx, r.address, offset, int64(len(p)), func(n int64) ([]byte, error) {
		return p[:n], nil
	})
	switch {
	case errors.Is(err, ErrBeyondEnd) && offset >= 0:
		return 0, io.EOF
	case err != nil:
		return 0, r.fail(OpGetRange, offset, int64(len(p)), err)
	case n < len(p):
		return n, io.EOF
	default:
		return n, nil
	}
}
