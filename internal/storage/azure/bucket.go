package azure

import (
	"context"
	"errors"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob/driver"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
)

// bucket implements driver.Bucket.
type bucket struct {
	cloud.Driver
	client    *container.Client
	closeIdle func()
}

// once keeps the client from repeating a request.
func once(ctx context.Context) context.Context {
	return policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1})
}

// Close implements driver.Bucket.
func (b *bucket) Close() error {
	b.closeIdle()
	return nil
}

// As implements driver.Bucket.
func (b *bucket) As(target any) bool {
	switch p := target.(type) {
	case *cloud.Whole:
		*p = true
	case **container.Client:
		*p = b.client
	default:
		return false
	}
	return true
}

// Attributes implements driver.Bucket.
func (b *bucket) Attributes(ctx context.Context, key string) (*driver.Attributes, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	p, err := b.client.NewBlobClient(key).GetProperties(once(ctx), nil)
	if err != nil {
		return nil, judge(err)
	}
	return &driver.Attributes{ContentType: value(p.ContentType), ModTime: value(p.LastModified), Size: value(p.ContentLength)}, nil
}

// Delete implements driver.Bucket.
func (b *bucket) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	_, err := b.client.NewBlobClient(key).Delete(once(ctx), nil)
	return judge(err)
}

// checkKey refuses a key that Azure takes for another one: it reads a backslash as a slash.
func checkKey(key string) error {
	if strings.Contains(key, `\`) {
		return &cloud.Error{Kind: cloud.Invalid, Err: errors.New("a key on Azure cannot have a backslash")}
	}
	return nil
}

// ListPaged implements driver.Bucket.
func (b *bucket) ListPaged(ctx context.Context, opts *driver.ListOptions) (*driver.ListPage, error) {
	pageSize := int32(1000)
	if err := cloud.BeforeList(opts); err != nil {
		return nil, err
	}
	list := &container.ListBlobsFlatOptions{MaxResults: &pageSize, Prefix: &opts.Prefix}
	if marker := string(opts.PageToken); marker != "" {
		list.Marker = &marker
	}
	reply, err := b.client.NewListBlobsFlatPager(list).NextPage(once(ctx))
	if err != nil {
		return nil, judge(err)
	}
	page := &driver.ListPage{NextPageToken: []byte(value(reply.NextMarker))}
	if reply.Segment == nil {
		return page, nil
	}
	for _, item := range reply.Segment.BlobItems {
		page.Objects = append(page.Objects, listed(item))
	}
	return page, nil
}

func listed(item *container.BlobItem) *driver.ListObject {
	o := &driver.ListObject{Key: value(item.Name)}
	if p := item.Properties; p != nil {
		o.ModTime, o.Size = value(p.LastModified), value(p.ContentLength)
	}
	return o
}

// value is what p points to, or nothing.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
