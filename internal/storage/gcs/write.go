package gcs

import (
	"context"
	"errors"
	"io"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob/driver"
)

// writer implements driver.Writer and driver.Uploader: Upload sends one request, Write as many as there are chunks.
type writer struct {
	ctx         context.Context // of the whole write, as the client wants it
	cancel      context.CancelFunc
	object      *storage.ObjectHandle
	contentType string
	sending     *storage.Writer // nil before the first byte
}

// NewTypedWriter implements driver.Bucket. A write ends without an object when ctx ends before it is closed.
func (b *bucket) NewTypedWriter(ctx context.Context, key, contentType string, opts *driver.WriterOptions) (driver.Writer, error) {
	o := b.object(key)
	if opts.IfNotExist {
		o = o.If(storage.Conditions{DoesNotExist: true})
	}
	ctx, cancel := context.WithCancel(ctx)
	return &writer{ctx: ctx, cancel: cancel, object: o, contentType: contentType}, nil
}

// start begins to send in chunks of a size in bytes; 0 means in one request.
func (w *writer) start(object *storage.ObjectHandle, chunk int) {
	w.sending = object.NewWriter(w.ctx)
	w.sending.ContentType, w.sending.ChunkSize = w.contentType, chunk
}

// Upload implements driver.Uploader.
func (w *writer) Upload(r io.Reader) error {
	w.start(w.object, 0)
	if _, err := io.Copy(w.sending, r); err != nil {
		w.cancel()
		return judge(errors.Join(err, w.sending.Close()))
	}
	return nil
}

// Write implements io.Writer. A chunk that failed is sent again by the client, for only the last one makes an object.
func (w *writer) Write(p []byte) (int, error) {
	const chunk = 16 << 20
	if w.sending == nil {
		w.start(w.object.Retryer(storage.WithPolicy(storage.RetryAlways)), chunk)
	}
	n, err := w.sending.Write(p)
	return n, judge(err)
}

// Close implements io.Closer: it makes the object.
func (w *writer) Close() error {
	defer w.cancel()
	if w.sending == nil {
		w.start(w.object, 0)
	}
	return judge(w.sending.Close())
}
