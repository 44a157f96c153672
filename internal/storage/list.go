package storage

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"
)

// Listed is an object found by [Store.List].
type Listed struct {
	// Location is the location of the object, spelled like the prefix it was found with.
	Location string
	// Size is the size of the object in bytes.
	Size int64
	// ModTime is when the object was written.
	ModTime time.Time
}

// List yields the objects whose location starts with prefix, sorted by location, with one request for each page of up
// to a thousand. An error ends it. The prefix may end anywhere, also within a name; it must reach at least to the slash
// that ends a mount prefix or a bucket.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		b, key, err := s.find(ctx, prefix)
		if err == nil && escapes(key) {
			err = ErrInvalidLocation
		}
		if err != nil {
			yield(Listed{}, &Error{Op: OpList, Location: prefix, Err: err})
			return
		}
		base := prefix[:len(prefix)-len(key)]
		l := newLister(s, b, key)
		for {
			object, err := l.next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Listed{}, &Error{Op: OpList, Location: prefix, Err: err})
				return
			}
			object.Location = base + object.Location
			if !yield(object, nil) {
				return
			}
		}
	}
}

// lister counts and repeats the requests behind a gocloud iterator.
type lister struct {
	store     *Store
	bucket    bucket
	it        *blob.ListIterator
	requested bool // the call of it.Next that is under way sent a request
}

func newLister(s *Store, b bucket, key string) *lister {
	l := &lister{store: s, bucket: b, requested: true}
	full := b.prefix + key
	l.it = b.blob.List(&blob.ListOptions{Prefix: full, BeforeList: func(as func(any) bool) error {
		l.requested = true
		var in *s3.ListObjectsV2Input
		if as(&in) && full != "" {
			in.Prefix = &full // as it is, not escaped
		}
		var options *[]func(*s3.Options)
		if as(&options) {
			*options = append(*options, once)
		}
		return nil
	}})
	return l
}

// next returns the next object with its key below the bucket's prefix in place of the location.
func (l *lister) next(ctx context.Context) (Listed, error) {
	var object *blob.ListObject
	err := l.store.retry(ctx, func(int) (err error) {
		start := time.Now()
		object, err = l.it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && !l.requested {
			return nil
		}
		l.requested = false
		l.store.counters.of(OpList).Add(1)
		return l.store.observe(OpList, time.Since(start), err)
	})
	if err != nil {
		return Listed{}, err
	}
	if object == nil {
		return Listed{}, io.EOF
	}
	return Listed{Location: strings.TrimPrefix(exactKey(object), l.bucket.prefix), Size: object.Size, ModTime: object.ModTime}, nil
}

// exactKey undoes the unescaping of the portable layer.
func exactKey(object *blob.ListObject) string {
	var raw types.Object
	if object.As(&raw) && raw.Key != nil {
		return *raw.Key
	}
	return object.Key
}
