package azure

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	azblob "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"gocloud.dev/blob/driver"
)

// writer implements driver.Writer and driver.Uploader: Upload sends one request, Write blocks that Close makes an object
// of. Blocks without an object cannot be seen, and Azure removes them after a week.
type writer struct {
	ctx        context.Context // of the whole write, as the client wants it
	client     *blockblob.Client
	headers    *azblob.HTTPHeaders
	conditions *azblob.AccessConditions
	uploaded   bool
	pipe       *io.PipeWriter // nil before the first byte
	done       chan error
}

// NewTypedWriter implements driver.Bucket. A write ends without an object when ctx ends before it is closed.
func (b *bucket) NewTypedWriter(ctx context.Context, key, contentType string, opts *driver.WriterOptions) (driver.Writer, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	w := &writer{ctx: ctx, client: b.client.NewBlockBlobClient(key), headers: &azblob.HTTPHeaders{BlobContentType: &contentType}}
	if opts.IfNotExist {
		absent := azcore.ETagAny
		w.conditions = &azblob.AccessConditions{ModifiedAccessConditions: &azblob.ModifiedAccessConditions{IfNoneMatch: &absent}}
	}
	return w, nil
}

// Upload implements driver.Uploader. What is not in memory yet is read into it.
func (w *writer) Upload(r io.Reader) error {
	w.uploaded = true
	body, ok := r.(io.ReadSeeker)
	if !ok {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	_, err := w.client.Upload(once(w.ctx), streaming.NopCloser(body), &blockblob.UploadOptions{HTTPHeaders: w.headers, AccessConditions: w.conditions})
	return judge(err)
}

// Write implements io.Writer. A block that failed is sent again by the client, for only the list of all makes an object.
func (w *writer) Write(p []byte) (int, error) {
	if w.pipe == nil {
		w.start()
	}
	n, err := w.pipe.Write(p)
	return n, judge(err)
}

func (w *writer) start() {
	const blockSize, atOnce = 8 << 20, 4
	r, pipe := io.Pipe()
	w.pipe, w.done = pipe, make(chan error, 1)
	go func() {
		_, err := w.client.UploadStream(w.ctx, r, &blockblob.UploadStreamOptions{
			BlockSize: blockSize, Concurrency: atOnce, HTTPHeaders: w.headers, AccessConditions: w.conditions,
		})
		_ = r.CloseWithError(cmp.Or(err, io.ErrClosedPipe)) // ends a Write that nobody reads any more
		w.done <- err
	}()
}

// Close implements io.Closer: it makes the object, unless the context has ended.
func (w *writer) Close() error {
	if w.pipe == nil {
		if w.uploaded {
			return nil
		}
		return w.Upload(bytes.NewReader(nil))
	}
	err := w.ctx.Err()
	_ = w.pipe.CloseWithError(err) // nil is the end of the object
	return judge(errors.Join(err, <-w.done))
}
