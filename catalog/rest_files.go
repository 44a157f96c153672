package catalog

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go/io/gocloud/blobfs"
	"github.com/apache/iceberg-go/table"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"
)

const (
	// bucketLifetime is how long a bucket is used before the table is asked for it again: often enough that vended
	// credentials are renewed in time, seldom enough that connections are reused.
	bucketLifetime = time.Minute
	// keptStores bounds how many tables' stores are kept for the next time the table is loaded.
	keptStores = 256
)

// tableFiles opens the buckets of one table that no mount covers. It outlives the loading of the table, so that
// connections and request counters do.
type tableFiles struct {
	store *storage.Store

	mu     sync.Mutex
	table  *table.Table // as last loaded, with the newest credentials
	opened map[string]openedBucket
}

type openedBucket struct {
	bucket *blob.Bucket
	until  time.Time
}

// store returns the store for the objects of a table. A store that falls out of the cache stays usable.
func (c *restCatalog) store(ctx context.Context, t *table.Table) (*storage.Store, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := strings.Join(t.Identifier(), "\x1f")
	if f := c.files[name]; f != nil {
		f.reloaded(t)
		return f.store, nil
	}
	f := &tableFiles{table: t, opened: map[string]openedBucket{}}
	store, err := storage.Open(ctx, storage.Options{Mounts: c.options.Mounts, Properties: c.options.Properties, Retry: c.options.Retry, Fallback: f.bucket})
	if err != nil {
		return nil, err
	}
	f.store = store
	for other := range c.files {
		if len(c.files) < keptStores {
			break
		}
		delete(c.files, other)
	}
	c.files[name] = f
	return store, nil
}

func (f *tableFiles) reloaded(t *table.Table) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.table = t
}

// bucket returns the bucket of a location, or nil when the table's file IO has nothing to say about it. The bucket of
// the table's metadata is that of its own file IO; others are reached with the same client.
func (f *tableFiles) bucket(ctx context.Context, location string) (*blob.Bucket, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name, home := authority(location), authority(cmp.Or(f.table.MetadataLocation(), f.table.Location()))
	if home == "" {
		return nil, nil
	}
	b, err := f.open(home, func() (*blob.Bucket, error) { return f.home(ctx) })
	if err != nil || name == home {
		return b, err
	}
	return f.open(name, func() (*blob.Bucket, error) { return beside(ctx, b, name) })
}

func (f *tableFiles) open(name string, open func() (*blob.Bucket, error)) (*blob.Bucket, error) {
	if o, ok := f.opened[name]; ok && time.Now().Before(o.until) {
		return o.bucket, nil
	}
	b, err := open()
	if err != nil {
		return nil, fmt.Errorf("file io of %s for %s: %w", strings.Join(f.table.Identifier(), "."), name, err)
	}
	f.opened[name] = openedBucket{bucket: b, until: time.Now().Add(bucketLifetime)}
	return b, nil
}

// home opens the table's own file IO. iceberg-go keeps the context for later reads and for the renewal of vended
// credentials, so it must not end with the current operation.
func (f *tableFiles) home(ctx context.Context) (*blob.Bucket, error) {
	fs, err := f.table.FS(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	b, ok := fs.(*blobfs.FileIO)
	if !ok {
		return nil, fmt.Errorf("it is a %T: map the location under storage: in the configuration", fs)
	}
	return b.Bucket, nil
}

// beside opens another bucket with the client of one. It returns nil when that is not on S3.
func beside(ctx context.Context, b *blob.Bucket, name string) (*blob.Bucket, error) {
	var client *s3.Client
	if !b.As(&client) {
		return nil, nil
	}
	return s3blob.OpenBucket(ctx, client, name, nil)
}

// authority returns the bucket of a location with a scheme, "" for a local one.
func authority(location string) string {
	_, rest, _ := strings.Cut(location, "://")
	name, _, _ := strings.Cut(rest, "/")
	return name
}
