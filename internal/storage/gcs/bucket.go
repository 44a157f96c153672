package gcs

import (
	"context"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob/driver"
	"google.golang.org/api/iterator"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
)

// bucket implements driver.Bucket.
type bucket struct {
	cloud.Driver
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

// ListPaged implements driver.Bucket.
func (b *bucket) ListPaged(ctx context.Context, opts *driver.ListOptions) (*driver.ListPage, error) {
	const pageSize = 1000 // the most there is
	if err := cloud.BeforeList(opts); err != nil {
		return nil, err
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
