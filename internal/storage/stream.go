package storage

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	tmtypes "github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager/types"
	"gocloud.dev/blob"
)

// stream is an object that is being sent while it is written.
type stream interface {
	io.Writer
	// Close publishes the object.
	Close() error
	// Abort gives it up and leaves nothing behind.
	Abort() error
}

// openStream starts a streamed write under ctx.
func (t target) openStream(ctx context.Context) (stream, error) {
	if t.s3 != nil {
		return t.s3.openStream(ctx, t.key), nil
	}
	ctx, cancel := context.WithCancel(ctx)
	w, err := t.writer(ctx, false)
	if err != nil {
		cancel()
		return nil, err
	}
	return &blobStream{Writer: w, cancel: cancel}, nil
}

// blobStream writes through the portable layer, which aborts when its context is cancelled.
type blobStream struct {
	*blob.Writer
	cancel context.CancelFunc
}

// Close publishes the object.
func (b *blobStream) Close() error {
	defer b.cancel()
	return b.Writer.Close()
}

// Abort gives the object up.
func (b *blobStream) Abort() error {
	b.cancel()
	err := b.Writer.Close()
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

var errAborted = errors.New("the write was aborted")

// s3Stream uploads in parts. The portable layer is not used because it can abort only by cancelling the context, which
// cancels the request that removes the parts too, and parts without an object cost money until somebody finds them.
type s3Stream struct {
	pipe *io.PipeWriter
	done chan error
}

func (d *s3Direct) openStream(ctx context.Context, key string) *s3Stream {
	const cleanUp = 30 * time.Second
	manager := transfermanager.New(d.client, func(o *transfermanager.Options) {
		o.FailTimeout = cleanUp
		o.RequestChecksumCalculation = d.client.Options().RequestChecksumCalculation
	})
	r, w := io.Pipe()
	in := &transfermanager.UploadObjectInput{
		Bucket:               &d.bucket,
		Key:                  &key,
		Body:                 r,
		ContentType:          aws.String(contentType),
		ServerSideEncryption: tmtypes.ServerSideEncryption(d.opts.EncryptionType),
	}
	if d.opts.KMSEncryptionID != "" {
		in.SSEKMSKeyID = &d.opts.KMSEncryptionID
	}
	s := &s3Stream{pipe: w, done: make(chan error, 1)}
	go func() {
		_, err := manager.UploadObject(ctx, in)
		_ = r.CloseWithError(cmp.Or(err, io.ErrClosedPipe)) // ends a Write that nobody reads any more
		s.done <- err
	}()
	return s
}

// Write implements io.Writer.
func (s *s3Stream) Write(p []byte) (int, error) { return s.pipe.Write(p) }

// Close publishes the object.
func (s *s3Stream) Close() error {
	_ = s.pipe.Close() // never fails
	return <-s.done
}

// Abort makes the upload fail, upon which it removes its parts. Nothing is visible whatever comes of that.
func (s *s3Stream) Abort() error {
	_ = s.pipe.CloseWithError(errAborted)
	<-s.done
	return nil
}
