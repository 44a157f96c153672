package faults

import (
	"bytes"
	"context"
	"io"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
)

// NewRangeReader implements driver.Bucket. A read without an end is a get, one of a range a get-range.
func (b *bucket) NewRangeReader(ctx context.Context, key string, offset, length int64, opts *driver.ReaderOptions) (out driver.Reader, err error) {
	op := opGetRange
	if length < 0 {
		op = opGet
	}
	err = b.run(ctx, op, key, func(d damage) error {
		if err := b.hidden(d, op, key); err != nil {
			return err
		}
		r, err := b.base.NewRangeReader(ctx, key, offset, length, &blob.ReaderOptions{BeforeRead: opts.BeforeRead})
		if err == nil {
			out = newReader(r, d, offset, length)
		}
		return err
	})
	if err != nil && out != nil {
		_ = out.Close() // its reply is lost
		return nil, err
	}
	return out, err
}

// reader implements driver.Reader.
type reader struct {
	*blob.Reader
	body io.Reader
}

// newReader reads what r has, with damage.
func newReader(r *blob.Reader, d damage, offset, length int64) *reader {
	out := &reader{Reader: r, body: r}
	switch d {
	case short:
		rest := max(r.Size()-offset, 0)
		if length >= 0 {
			rest = min(rest, length)
		}
		out.body = io.MultiReader(io.LimitReader(r, rest/2), cutOff{})
	case garbage:
		out.body = inverted{r}
	}
	return out
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) { return r.body.Read(p) }

// Attributes implements driver.Reader.
func (r *reader) Attributes() *driver.ReaderAttributes {
	return &driver.ReaderAttributes{ContentType: r.ContentType(), ModTime: r.ModTime(), Size: r.Size()}
}

// As implements driver.Reader.
func (r *reader) As(any) bool { return false }

// cutOff is what net/http reads where a body ends before its announced length.
type cutOff struct{}

// Read implements io.Reader.
func (cutOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// inverted reads other bytes than there are.
type inverted struct{ r io.Reader }

// Read implements io.Reader.
func (i inverted) Read(p []byte) (int, error) {
	n, err := i.r.Read(p)
	invert(p[:n])
	return n, err
}

func invert(p []byte) {
	for i := range p {
		p[i] ^= 0xff
	}
}

// NewTypedWriter implements driver.Bucket. The object is kept in memory; the put is the Close.
func (b *bucket) NewTypedWriter(ctx context.Context, key, contentType string, opts *driver.WriterOptions) (driver.Writer, error) {
	if b.script.Crashed() {
		return nil, ErrCrashed
	}
	return &writer{ctx: ctx, bucket: b, key: key, opts: &blob.WriterOptions{ContentType: contentType, BeforeWrite: opts.BeforeWrite, IfNotExist: opts.IfNotExist}}, nil
}

// writer implements driver.Writer.
type writer struct {
	bytes.Buffer
	ctx    context.Context
	bucket *bucket
	key    string
	opts   *blob.WriterOptions
}

// Close puts the object, unless the context was cancelled.
func (w *writer) Close() error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	return w.bucket.run(w.ctx, opPut, w.key, func(d damage) error {
		data := w.bucket.script.kept(w.key, w.Bytes())
		switch d {
		case garbage:
			invert(data)
		case torn:
			data = data[:len(data)/2]
		}
		err := w.bucket.base.WriteAll(w.ctx, w.key, data, w.opts)
		if err == nil {
			w.bucket.script.noteWritten(w.key)
		}
		return err
	})
}
