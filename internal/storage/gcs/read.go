package gcs

import (
	"context"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob/driver"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
)

// reader implements driver.Reader.
type reader struct {
	*storage.Reader
	attributes driver.ReaderAttributes
}

// NewRangeReader implements driver.Bucket.
func (b *bucket) NewRangeReader(ctx context.Context, key string, offset, length int64, opts *driver.ReaderOptions) (driver.Reader, error) {
	if opts.BeforeRead != nil {
		if err := opts.BeforeRead(cloud.NoParameters); err != nil {
			return nil, err
		}
	}
	r, err := b.object(key).NewRangeReader(once(ctx), offset, length)
	if err != nil {
		return nil, judge(err)
	}
	if err := cloud.CheckRange(offset, length, r.Attrs.Size, r.Attrs.StartOffset, r.Remain()); err != nil {
		_ = r.Close() // nobody has read from it
		return nil, err
	}
	return &reader{Reader: r, attributes: driver.ReaderAttributes{
		ContentType: r.Attrs.ContentType, ModTime: r.Attrs.LastModified, Size: r.Attrs.Size,
	}}, nil
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	return n, judge(err)
}

// Attributes implements driver.Reader.
func (r *reader) Attributes() *driver.ReaderAttributes { return &r.attributes }

// As implements driver.Reader.
func (r *reader) As(any) bool { return false }
