package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob"

	"github.com/dvcompactor/dvcompactor/internal/storage/localblob"
)

// Mount says where the locations with a prefix really are.
type Mount struct {
	// Prefix is the start of the locations, for instance "s3://lake/". A missing last slash is added, so that
	// "s3://lake" does not match "s3://lake2/x".
	Prefix string
	// URL is a gocloud URL: "file:///dir", "mem://", "s3://bucket?endpoint=...&s3ForcePathStyle=true&region=...",
	// "gs://bucket", "azblob://container?storage_account=...", or any scheme of Options.Openers. A path or a "prefix" parameter of a cloud URL is put before every key.
	URL string
}

// OpenBucketFunc opens the bucket of a URL. For a mount it is the URL of the mount without path and prefix; for other
// locations it is scheme://authority. properties are those of the table's FileIO, for instance s3.endpoint.
type OpenBucketFunc func(ctx context.Context, u *url.URL, properties map[string]string) (*blob.Bucket, error)

// Options configures [Open]. The zero value reads and writes local files, and cloud stores with the default
// credentials of the environment.
type Options struct {
	// Mounts map location prefixes to stores. The longest matching prefix wins.
	Mounts []Mount
	// Properties are FileIO properties (s3.endpoint, s3.region, s3.access-key-id, s3.secret-access-key,
	// s3.session-token, gcs.oauth2.token, adls.sas-token.ACCOUNT, ...) for cloud locations without a mount, and for the
	// credentials of mounts on Google Cloud Storage and Azure.
	Properties map[string]string
	// Fallback is asked for the bucket of a cloud location when no mount matches, for instance for the bucket with the
	// credentials that a REST catalog vends. It may return nil to leave the location to Openers. It is called for every
	// operation and keeps owning the bucket.
	Fallback func(ctx context.Context, location string) (*blob.Bucket, error)
	// Renewal, if set, is called before every operation and returns what replaces the credentials that are in use at
	// that moment. When the store no longer takes them, that is called, and if it succeeds the request is repeated once.
	Renewal func() func(context.Context) error
	// Openers adds URL schemes, or replaces the built-in ones.
	Openers map[string]OpenBucketFunc
	// Retry bounds the repetition of failed requests.
	Retry RetryOptions
	// SinglePutSize is the largest object in bytes that a Writer to a cloud store keeps in memory and sends in one
	// PUT; larger ones are sent in parts. 0 means 16 MiB.
	SinglePutSize int64
	// Observe, if set, is called after every request with its duration (until the first byte for reads of whole
	// objects through FileIO) and error. It must be quick and safe for concurrent use.
	Observe func(op Op, took time.Duration, err error)
}

const defaultSinglePutSize = 16 << 20

// Store is a set of object stores, addressed by location. It is safe for concurrent use.
type Store struct {
	*core
	guard    guard
	counters *counters
}

// core is what a store shares with those that [Store.ForTable] makes of it.
type core struct {
	opts   Options
	mounts []mounted // longest prefix first
	local  *blob.Bucket

	mu     sync.Mutex
	opened map[cloudRoot]*opening
	tables map[string]*counters // of each table
	closed bool
}

// mounted is an opened Mount.
type mounted struct {
	prefix string
	bucket bucket
}

// cloudRoot identifies a bucket that was opened for a location without a mount.
type cloudRoot struct {
	scheme, authority string
}

// opening lets concurrent users of one bucket open it once.
type opening struct {
	once   sync.Once
	bucket bucket
	err    error
}

// Open opens the mounts. Other stores are opened when they are first used; no request is sent here.
func Open(ctx context.Context, opts Options) (*Store, error) {
	opts.Retry = opts.Retry.withDefaults()
	opts.Properties = maps.Clone(opts.Properties)
	opts.SinglePutSize = cmp.Or(opts.SinglePutSize, defaultSinglePutSize)
	local, err := localblob.OpenBucket(localblob.Options{Dir: "/"})
	if err != nil {
		return nil, err
	}
	s := &Store{core: &core{opts: opts, local: local, opened: map[cloudRoot]*opening{}, tables: map[string]*counters{}}, counters: &counters{}}
	for _, m := range opts.Mounts {
		if err := s.mount(ctx, m); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	slices.SortFunc(s.mounts, func(x, y mounted) int { return cmp.Compare(len(y.prefix), len(x.prefix)) })
	return s, nil
}

func (s *Store) mount(ctx context.Context, m Mount) error {
	if m.Prefix == "" {
		return fmt.Errorf("storage mapping to %s: the prefix is empty", RedactURL(m.URL))
	}
	prefix := strings.TrimSuffix(m.Prefix, "/") + "/"
	for _, other := range s.mounts {
		if other.prefix == prefix {
			return fmt.Errorf("storage mapping of %q: the prefix is mapped twice; keep one of them", m.Prefix)
		}
	}
	b, err := s.openMount(ctx, m.URL)
	if err != nil {
		return fmt.Errorf("storage mapping of %q to %s: %w", m.Prefix, RedactURL(m.URL), err)
	}
	s.mounts = append(s.mounts, mounted{prefix: prefix, bucket: b})
	return nil
}

// Close closes the stores that were opened here. Operations after it fail with fs.ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	opened := s.opened
	s.mu.Unlock()

	errs := []error{s.local.Close()}
	for _, m := range s.mounts {
		errs = append(errs, m.bucket.close())
	}
	for _, o := range opened {
		o.once.Do(func() {}) // waits for one that is being opened
		errs = append(errs, o.bucket.close())
	}
	return errors.Join(errs...)
}
