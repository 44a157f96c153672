package storage

import (
	"bytes"
	"context"
	"errors"
	"io/fs"

	"gocloud.dev/blob"
)

const contentType = "application/octet-stream"

// WriteFile writes an object with one PUT, replacing one that is there. It is atomic and durable.
func (s *Store) WriteFile(ctx context.Context, location string, data []byte) error {
	t, err := s.resolve(ctx, location)
	if err == nil {
		err = s.put(ctx, t, data)
	}
	if err != nil {
		return &Error{Op: OpPut, Location: location, Err: err}
	}
	return nil
}

// put may be repeated after any failure: the result of one or many is the same.
func (s *Store) put(ctx context.Context, t target, data []byte) error {
	return s.retry(ctx, func(int) error { return s.putOnce(ctx, t, data, false) })
}

func (s *Store) putOnce(ctx context.Context, t target, data []byte, ifAbsent bool) error {
	return s.request(OpPut, func() error {
		err := t.put(ctx, data, ifAbsent)
		if err == nil {
			s.counters.bytesWritten.Add(int64(len(data)))
		}
		return err
	})
}

func (t target) put(ctx context.Context, data []byte, ifAbsent bool) error {
	if t.s3 != nil {
		return t.s3.put(ctx, t.key, data, ifAbsent)
	}
	if t.whole {
		return t.blob.Upload(ctx, t.key, bytes.NewReader(data), writeOptions(ifAbsent))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := t.writer(ctx, ifAbsent)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		cancel() // so that Close does not publish half an object
		return errors.Join(err, ignoreCanceled(w.Close()))
	}
	return w.Close()
}

// writer opens a write through the portable layer; cancelling ctx before Close aborts it.
func (t target) writer(ctx context.Context, ifAbsent bool) (*blob.Writer, error) {
	return t.blob.NewWriter(ctx, t.key, writeOptions(ifAbsent))
}

func writeOptions(ifAbsent bool) *blob.WriterOptions {
	return &blob.WriterOptions{ContentType: contentType, IfNotExist: ifAbsent}
}

func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// WriteFileIfAbsent writes an object with one PUT unless there is one, which gives [ErrExists]. Of many concurrent
// writers one succeeds.
//
// When an attempt fails in a way that leaves open whether it wrote the object, it is repeated. If there is an object
// then, it is read back: the same bytes are taken for our own write. So writers that must know which of them won write
// something that only they write.
func (s *Store) WriteFileIfAbsent(ctx context.Context, location string, data []byte) error {
	t, err := s.resolve(ctx, location)
	if err == nil {
		err = s.putIfAbsent(ctx, t, data)
	}
	if err != nil {
		return &Error{Op: OpPut, Location: location, Err: err}
	}
	return nil
}

func (s *Store) putIfAbsent(ctx context.Context, t target, data []byte) error {
	ambiguous := false
	return s.retry(ctx, func(int) error {
		err := s.putOnce(ctx, t, data, true)
		if ambiguous && errors.Is(err, ErrExists) {
			return s.judgeExisting(ctx, t, data, err)
		}
		ambiguous = ambiguous || err != nil && Transient(err)
		return err
	})
}

// judgeExisting returns nil when the existing object is the one that an earlier attempt wrote.
func (s *Store) judgeExisting(ctx context.Context, t target, data []byte, exists error) error {
	found, err := s.readAll(ctx, t)
	switch {
	case err != nil:
		return errors.Join(exists, err)
	case bytes.Equal(found, data):
		return nil
	default:
		return exists
	}
}

// Remove removes an object with one DELETE. A missing object is not an error.
func (s *Store) Remove(ctx context.Context, location string) error {
	t, err := s.resolve(ctx, location)
	if err == nil {
		err = s.retry(ctx, func(int) error {
			return s.request(OpDelete, func() error { return t.remove(ctx) })
		})
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &Error{Op: OpDelete, Location: location, Err: err}
	}
	return nil
}

func (t target) remove(ctx context.Context) error {
	if t.s3 != nil {
		return t.s3.remove(ctx, t.key)
	}
	return t.blob.Delete(ctx, t.key)
}
