package faults

import (
	"context"
	"errors"
	"net/url"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"

	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// Bucket returns a bucket in front of b. It hides the client below, so that nothing goes around it, and closes b when it
// is closed.
func (s *Script) Bucket(b *blob.Bucket) *blob.Bucket {
	return blob.NewBucket(&bucket{script: s, base: b})
}

// Opener returns an opener whose buckets are in front of those that open returns.
func (s *Script) Opener(open storage.OpenBucketFunc) storage.OpenBucketFunc {
	return func(ctx context.Context, u *url.URL, properties map[string]string) (*blob.Bucket, error) {
		b, err := open(ctx, u, properties)
		if err != nil {
			return nil, err
		}
		return s.Bucket(b), nil
	}
}

// bucket implements driver.Bucket.
type bucket struct {
	script *Script
	base   *blob.Bucket
}

var errUnimplemented = errors.New("faults: not supported")

// run lets a call happen. do is told whether the store is to be stale about the object.
func (b *bucket) run(ctx context.Context, op, key string, do func(d damage) error) error {
	return b.script.run(ctx, call{op: op, name: key, do: do, say: func(a answer) error { return storeError(op, a) }})
}

// hidden returns the error for an object that a stale store does not show yet, else nil.
func (b *bucket) hidden(d damage, op, key string) error {
	if d == stale && b.script.fresh(key) {
		return storeError(op, missing)
	}
	return nil
}

// ErrorCode implements driver.Bucket as the driver for S3 does: what is not named is not known.
func (b *bucket) ErrorCode(err error) gcerrors.ErrorCode {
	switch {
	case errors.Is(err, ErrCrashed):
		return gcerrors.Canceled // nobody is to try again
	case errors.Is(err, errUnimplemented):
		return gcerrors.Unimplemented
	}
	return gcerrors.Code(err)
}

// As implements driver.Bucket.
func (b *bucket) As(any) bool { return false }

// ErrorAs implements driver.Bucket.
func (b *bucket) ErrorAs(err error, target any) bool { return errors.As(err, target) }

// Close implements driver.Bucket.
func (b *bucket) Close() error { return b.base.Close() }

// Copy implements driver.Bucket; it is not supported.
func (b *bucket) Copy(context.Context, string, string, *driver.CopyOptions) error {
	return errUnimplemented
}

// SignedURL implements driver.Bucket; it is not supported.
func (b *bucket) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errUnimplemented
}

// Attributes implements driver.Bucket.
func (b *bucket) Attributes(ctx context.Context, key string) (out *driver.Attributes, err error) {
	err = b.run(ctx, opHead, key, func(d damage) error {
		if err := b.hidden(d, opHead, key); err != nil {
			return err
		}
		a, err := b.base.Attributes(ctx, key)
		if err == nil {
			out = &driver.Attributes{ContentType: a.ContentType, ModTime: a.ModTime, Size: a.Size, ETag: a.ETag}
		}
		return err
	})
	return out, err
}

// Delete implements driver.Bucket.
func (b *bucket) Delete(ctx context.Context, key string) error {
	return b.run(ctx, opDelete, key, func(d damage) error {
		if d == torn {
			return nil // there is no half of it
		}
		return b.base.Delete(ctx, key)
	})
}

// ListPaged implements driver.Bucket. The name of the call is the prefix.
func (b *bucket) ListPaged(ctx context.Context, opts *driver.ListOptions) (out *driver.ListPage, err error) {
	err = b.run(ctx, opList, opts.Prefix, func(d damage) error {
		out, err = b.list(ctx, opts, d)
		return err
	})
	return out, err
}

func (b *bucket) list(ctx context.Context, opts *driver.ListOptions, d damage) (*driver.ListPage, error) {
	token, size := opts.PageToken, opts.PageSize
	if len(token) == 0 {
		token = blob.FirstPageToken
	}
	if size == 0 {
		size = 1000
	}
	found, next, err := b.base.ListPage(ctx, token, size, &blob.ListOptions{Prefix: opts.Prefix, Delimiter: opts.Delimiter, BeforeList: opts.BeforeList})
	if err != nil {
		return nil, err
	}
	page := &driver.ListPage{NextPageToken: next}
	for _, o := range found {
		if b.hidden(d, opList, o.Key) == nil {
			page.Objects = append(page.Objects, &driver.ListObject{Key: o.Key, ModTime: o.ModTime, Size: o.Size, IsDir: o.IsDir})
		}
	}
	return page, nil
}
