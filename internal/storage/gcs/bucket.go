package gcs

import (
	"context"
	"errors"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"
	"google.golang.org/api/iterator"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
)

var errUnimplemented = errors.New("this operation is not supported on Google Cloud Storage")

// bucket implements driver.Bucket.
type bucket struct {
	client    *storage.Client
	handle    *storage.BucketHandle
	closeIdle func()
}

// object is what requests of an object go by. Nothing is repeated by the client.
func (b *bucket) object(key string) *storage.ObjectHandle {
	return b.handle.Object(key).Retryer(storage.WithPolicy(storage.RetryNever))
}

// Close implements driver.Bucket.
func (b *bucket) Close() error {
	defer b.closeIdle()
	return b.client.Close()
}

// As implements driver.Bucket.
func (b *bucket) As(target any) bool {
	switch p := target.(type) {
	case *cloud.Whole:
		*p = true
	case **storage.Client:
		*p = b.client
	default:
		return false
	}
	return true
}

// ErrorAs implements driver.Bucket.
func (b *bucket) ErrorAs(err error, target any) bool { return errors.As(err, target) }

// ErrorCode implements driver.Bucket.
func (b *bucket) ErrorCode(err error) gcerrors.ErrorCode {
	if errors.Is(err, errUnimplemented) {
		return gcerrors.Unimplemented
	}
	return cloud.Code(err)
}

// Attributes implements driver.Bucket.
func (b *bucket) Attributes(ctx context.Context, key string) (*driver.Attributes, error) {
	a, err := b.object(key).Attrs(ctx)
	if err != nil {
		return nil, judge(err)
	}
	return &driver.Attributes{ContentType: a.ContentType, ModTime: a.Updated, CreateTime: a.Created, Size: a.Size, ETag: a.Etag}, nil
}

// Delete implements driver.Bucket.
func (b *bucket) Delete(ctx context.Context, key string) error {
	return judge(b.object(key).Delete(ctx))
}

// Copy implements driver.Bucket; it is not supported.
func (b *bucket) Copy(context.Context, string, string, *driver.CopyOptions) error {
	return errUnimplemented
}

// SignedURL implements driver.Bucket; it is not supported.
func (b *bucket) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errUnimplemented
}

// ListPaged implements driver.Bucket.
func (b *bucket) ListPaged(ctx context.Context, opts *driver.ListOptions) (*driver.ListPage, error) {
	const pageSize = 1000 // the most there is
	if opts.Delimiter != "" {
		return nil, errUnimplemented
	}
	if opts.BeforeList != nil {
		if err := opts.BeforeList(nothing); err != nil {
			return nil, err
		}
	}
	query := &storage.Query{Prefix: opts.Prefix}
	if err := query.SetAttrSelection([]string{"Name", "Size", "Updated"}); err != nil {
		return nil, err
	}
	it := b.handle.Retryer(storage.WithPolicy(storage.RetryNever)).Objects(ctx, query)
	var found []*storage.ObjectAttrs
	next, err := iterator.NewPager(it, pageSize, string(opts.PageToken)).NextPage(&found)
	if err != nil {
		return nil, judge(err)
	}
	page := &driver.ListPage{NextPageToken: []byte(next)}
	for _, o := range found {
		page.Objects = append(page.Objects, &driver.ListObject{Key: o.Name, ModTime: o.Updated, Size: o.Size})
	}
	return page, nil
}

// nothing answers a hook that asks for the parameters of a request.
func nothing(any) bool { return false }
