package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"gocloud.dev/blob"
)

// ReadRange reads exactly length bytes at offset with one ranged GET. An object that ends earlier gives [ErrBeyondEnd],
// a broken transfer is repeated and then gives an error; fewer or other bytes are never returned. A length of 0 needs no
// request.
func (s *Store) ReadRange(ctx context.Context, location string, offset, length int64) ([]byte, error) {
	return s.readExactly(ctx, address{location: location}, offset, length)
}

func (s *Store) readExactly(ctx context.Context, a address, offset, length int64) ([]byte, error) {
	var data []byte
	_, err := s.readRange(ctx, a, offset, length, func(n int64) ([]byte, error) {
		if n < length {
			return nil, ErrBeyondEnd
		}
		if data == nil {
			data = make([]byte, n)
		}
		return data, nil
	})
	if err != nil {
		return nil, a.fail(OpGetRange, offset, length, err)
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}

// readRange reads a range into the memory that dst returns for the number of bytes which the store really sends. So a
// length out of a damaged file costs no memory.
func (s *Store) readRange(ctx context.Context, a address, offset, length int64, dst func(n int64) ([]byte, error)) (int, error) {
	if offset < 0 || length < 0 || offset > math.MaxInt64-length {
		return 0, fmt.Errorf("%w: offset and length are not a range", ErrBeyondEnd)
	}
	t, err := a.find(ctx, s)
	if err != nil {
		return 0, err
	}
	if length == 0 {
		return 0, ctx.Err()
	}
	n := 0
	err = s.retry(ctx, func(int) error {
		return s.request(OpGetRange, func() (err error) {
			n, err = s.readRangeOnce(ctx, t, offset, length, dst)
			return err
		})
	})
	return n, err
}

func (s *Store) readRangeOnce(ctx context.Context, t target, offset, length int64, dst func(n int64) ([]byte, error)) (int, error) {
	r, err := t.open(ctx, offset, length)
	if err != nil {
		return 0, err
	}
	defer closeBody(r)
	reply, err := checkReply(r, offset, length)
	if err != nil {
		return 0, err
	}
	buf, err := dst(reply.length)
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(r, buf)
	s.counters.bytesRead.Add(int64(n))
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = cut(int64(n), reply.length)
	}
	return n, err
}

// open sends one GET for length bytes at offset, or all from offset on when length is negative.
func (t target) open(ctx context.Context, offset, length int64) (*blob.Reader, error) {
	r, err := t.blob.NewRangeReader(ctx, t.key, offset, length, &blob.ReaderOptions{BeforeRead: readHook(t.key, t.version)})
	if err != nil {
		return nil, err
	}
	if out, ok := s3Reply(r); ok {
		if err := checkVersion(t.version, out.VersionId); err != nil {
			closeBody(r)
			return nil, err
		}
	}
	return r, nil
}

// closeBody closes a body whose bytes were taken or are not wanted; its error says nothing about them.
func closeBody(r io.Closer) { _ = r.Close() }

// ReadFile reads a whole object with one GET.
func (s *Store) ReadFile(ctx context.Context, location string) ([]byte, error) {
	t, err := s.resolve(ctx, location)
	if err != nil {
		return nil, &Error{Op: OpGet, Location: location, Err: err}
	}
	data, err := s.readAll(ctx, t)
	if err != nil {
		return nil, &Error{Op: OpGet, Location: location, Err: err}
	}
	return data, nil
}

func (s *Store) readAll(ctx context.Context, t target) (data []byte, err error) {
	err = s.retry(ctx, func(int) error {
		return s.request(OpGet, func() (err error) {
			data, err = s.readAllOnce(ctx, t)
			return err
		})
	})
	return data, err
}

func (s *Store) readAllOnce(ctx context.Context, t target) ([]byte, error) {
	r, err := t.open(ctx, 0, -1)
	if err != nil {
		return nil, err
	}
	defer closeBody(r)
	reply, err := checkReply(r, 0, -1)
	if err != nil {
		return nil, err
	}
	const trusted = 64 << 20 // an announced size beyond this is believed as the bytes come
	var buf bytes.Buffer
	buf.Grow(int(min(max(reply.size, 0), trusted)) + bytes.MinRead)
	n, err := buf.ReadFrom(r)
	s.counters.bytesRead.Add(n)
	if err == nil && reply.size != unknownSize && n != reply.size {
		err = cut(n, reply.size)
	}
	return buf.Bytes(), err
}

// Size returns the size of an object in bytes with one HEAD.
func (s *Store) Size(ctx context.Context, location string) (int64, error) {
	return s.size(ctx, address{location: location})
}

func (s *Store) size(ctx context.Context, a address) (int64, error) {
	t, err := a.find(ctx, s)
	if err != nil {
		return 0, a.fail(OpHead, 0, 0, err)
	}
	var size int64
	err = s.retry(ctx, func(int) error {
		return s.request(OpHead, func() (err error) {
			size, err = t.size(ctx)
			return err
		})
	})
	if err != nil {
		return 0, a.fail(OpHead, 0, 0, err)
	}
	return size, nil
}

func (t target) size(ctx context.Context) (int64, error) {
	if t.s3 != nil {
		return t.s3.size(ctx, t.key, t.version)
	}
	attrs, err := t.blob.Attributes(ctx, t.key)
	if err != nil {
		return 0, err
	}
	return attrs.Size, nil
}
