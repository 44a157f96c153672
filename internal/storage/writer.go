package storage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"
)

// Writer writes one object. Nothing is visible before Close succeeds; after it the object is complete and durable.
// Exactly one of Close and Abort decides; later calls change nothing. It is not safe for concurrent use, except that
// Abort may come at any time between two calls.
type Writer struct {
	store    *Store
	target   target
	location string
	ctx      context.Context
	cancel   context.CancelFunc

	mu     sync.Mutex
	buf    bytes.Buffer // the object so far, as long as stream is nil
	stream stream
	size   int64
	err    error // the first failure
	done   bool
}

// Create starts the writing of an object. ctx governs it until Close or Abort, one of which must be called.
func (s *Store) Create(ctx context.Context, location string) (*Writer, error) {
	t, err := s.resolve(ctx, location)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, &Error{Op: OpPut, Location: location, Err: err}
	}
	w := &Writer{store: s, target: t, location: location}
	w.ctx, w.cancel = context.WithCancel(ctx)
	if t.local {
		if err := w.openStream(); err != nil {
			w.cancel()
			return nil, w.wrap(err)
		}
	}
	return w, nil
}

// Location returns the location as it was given to Create.
func (w *Writer) Location() string { return w.location }

// Size returns the number of bytes written so far.
func (w *Writer) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return 0, w.wrap(fs.ErrClosed)
	}
	if w.err == nil {
		w.err = w.write(p)
	}
	if w.err != nil {
		return 0, w.wrap(w.err)
	}
	w.size += int64(len(p))
	return len(p), nil
}

func (w *Writer) write(p []byte) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if w.stream == nil && w.size+int64(len(p)) > w.store.opts.SinglePutSize {
		if err := w.spill(); err != nil {
			return err
		}
	}
	if w.stream == nil {
		w.buf.Write(p)
		return nil
	}
	_, err := w.stream.Write(p)
	return classify(err)
}

// spill turns an object that became too large for one PUT into a streamed one.
func (w *Writer) spill() error {
	if err := w.openStream(); err != nil {
		return err
	}
	_, err := w.stream.Write(w.buf.Bytes())
	w.buf = bytes.Buffer{}
	return classify(err)
}

func (w *Writer) openStream() error {
	stream, err := w.target.openStream(w.ctx)
	if err != nil {
		return classify(err)
	}
	w.stream = stream
	return nil
}

// ReadFrom implements io.ReaderFrom.
func (w *Writer) ReadFrom(r io.Reader) (int64, error) {
	const chunk = 256 << 10
	// The struct hides ReadFrom, which would make io.CopyBuffer call itself.
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, chunk))
}

// Close commits the object. When it returns an error the object is not there, except after a fault that left the
// outcome open; an earlier object of that location is then still whole.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return w.wrap(fs.ErrClosed)
	}
	if w.err != nil {
		return errors.Join(w.wrap(w.err), w.abort())
	}
	w.done = true
	defer w.cancel()
	if w.stream == nil {
		return w.wrap(w.store.put(w.ctx, w.target, w.buf.Bytes()))
	}
	err := w.store.request(OpPut, w.stream.Close)
	if err == nil {
		w.store.counters.bytesWritten.Add(w.size)
	}
	return w.wrap(err)
}

// Abort gives the object up: nothing becomes visible and temporary files are removed. After Close it does nothing, so
// it can be deferred.
func (w *Writer) Abort() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return nil
	}
	return w.abort()
}

func (w *Writer) abort() error {
	w.done = true
	defer w.cancel()
	w.buf = bytes.Buffer{}
	if w.stream == nil {
		return nil
	}
	return w.wrap(w.stream.Abort())
}

func (w *Writer) wrap(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: OpPut, Location: w.location, Err: err}
}
