package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go/io/gocloud/blobfs"
	"github.com/apache/iceberg-go/table"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/google/uuid"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"
)

const (
	// bucketLifetime is how long a bucket that is not on S3 is used before the table is asked for it again: often enough
	// that vended credentials are renewed in time, seldom enough that connections are reused.
	bucketLifetime = time.Minute
	// sameAgain is how long credentials are used at least when the catalog hands out the same ones again.
	sameAgain = 10 * time.Second
	// keptStores bounds how many tables' stores are kept for the next time the table is loaded.
	keptStores = 256
)

// tableFiles opens the buckets of one table that no mount covers. It outlives the loading of the table, so that
// connections and request counters do, and keeps the newest credentials.
type tableFiles struct {
	name       string
	uuid       uuid.UUID
	properties map[string]string // what the operator configured
	load       func(context.Context) (*table.Table, vended, error)
	store      *storage.Store
	turn       chan struct{} // holds one element while the table is loaded for its credentials

	mu          sync.Mutex
	table       *table.Table // as last loaded
	vended      vended
	renewAt     time.Time // when the credentials are due for renewal, zero for never
	loads       int
	opened      map[string]openedBucket
	connections []func() // what closes the idle ones of each client
}

type openedBucket struct {
	bucket *blob.Bucket
	until  time.Time // zero for as long as the settings stay
}

// store returns the store for the objects of a table. A store that falls out of the cache stays usable.
func (c *restCatalog) store(ctx context.Context, identifier []string, t *table.Table, v vended) (*storage.Store, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := strings.Join(identifier, "\x1f")
	if f := c.files[name]; f != nil && f.uuid == t.Metadata().TableUUID() {
		f.loaded(t, v)
		return f.store, nil
	}
	f := &tableFiles{
		name: strings.Join(identifier, "."), uuid: t.Metadata().TableUUID(), properties: c.options.Properties, turn: make(chan struct{}, 1), opened: map[string]openedBucket{},
		load: func(ctx context.Context) (*table.Table, vended, error) { return c.load(ctx, identifier) },
	}
	store, err := storage.Open(ctx, storage.Options{
		Mounts: c.options.Mounts, Properties: c.options.Properties, Retry: c.options.Retry, Fallback: f.bucket, Renewal: f.renewal, Observe: c.options.Observe,
	})
	if err != nil {
		return nil, err
	}
	f.store = store
	f.loaded(t, v)
	for other := range c.files {
		if len(c.files) < keptStores {
			break
		}
		delete(c.files, other)
	}
	c.files[name] = f
	return store, nil
}

// loaded takes note of a newer state of the table. Buckets are opened anew when the settings of their access changed.
func (f *tableFiles) loaded(t *table.Table, v vended) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	next := v.renewAt(now)
	if maps.Equal(v.secrets(), f.vended.secrets()) && !next.IsZero() && next.Before(now.Add(sameAgain)) {
		next = now.Add(sameAgain)
	}
	if !maps.Equal(v.settings, f.vended.settings) || v.keys.HasKeys() != f.vended.keys.HasKeys() {
		clear(f.opened)
	}
	f.table, f.vended, f.renewAt, f.loads = t, v, next, f.loads+1
}

// close closes what was opened for the table.
func (f *tableFiles) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, closeIdle := range f.connections {
		closeIdle()
	}
	return f.store.Close()
}

// bucket returns the bucket of a location, or nil when the table's file IO has nothing to say about it. The bucket of
// the table's metadata is that of its own file IO; others are reached with the same client.
func (f *tableFiles) bucket(ctx context.Context, location string) (*blob.Bucket, error) {
	if storage.OnOtherCloud(location) {
		return f.cloudBucket(ctx, location)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	metadata := cmp.Or(f.table.MetadataLocation(), f.table.Location())
	name, home := authority(location), authority(metadata)
	if home == "" || storage.OnOtherCloud(metadata) {
		return nil, nil
	}
	b, err := f.open(home, func() (openedBucket, error) { return f.home(ctx, home) })
	if err != nil || name == home {
		return b, err
	}
	return f.open(name, func() (openedBucket, error) { return beside(ctx, b, name) })
}

func (f *tableFiles) open(name string, open func() (openedBucket, error)) (*blob.Bucket, error) {
	if o, ok := f.opened[name]; ok && (o.until.IsZero() || time.Now().Before(o.until)) {
		return o.bucket, nil
	}
	o, err := open()
	if err != nil {
		return nil, fmt.Errorf("file io of %s for %s: %w", f.name, name, err)
	}
	f.opened[name] = o
	return o.bucket, nil
}

// home opens the table's own file IO. iceberg-go keeps the context for later reads and for the renewal of vended
// credentials, so it must not end with the current operation. On S3 the credentials come from here, so that they can be
// renewed while the bucket is in use.
func (f *tableFiles) home(ctx context.Context, name string) (openedBucket, error) {
	if err := f.checkProperties(); err != nil {
		return openedBucket{}, err
	}
	fs, err := f.table.FS(context.WithoutCancel(ctx))
	if err != nil {
		return openedBucket{}, err
	}
	b, ok := fs.(*blobfs.FileIO)
	if !ok {
		return openedBucket{}, fmt.Errorf("it is a %T: map the location under storage: in the configuration", fs)
	}
	var client *s3.Client
	if !b.As(&client) || client == nil {
		return openedBucket{bucket: b.Bucket, until: time.Now().Add(bucketLifetime)}, nil
	}
	own, closeIdle := storage.OwnConnections(client, func(o *s3.Options) {
		if !f.vended.keys.HasKeys() {
			return
		}
		o.Credentials = f
		if r, ok := o.Retryer.(aws.RetryerV2); ok {
			o.Retryer = renewingRetryer{RetryerV2: r, files: f}
		}
	})
	f.connections = append(f.connections, closeIdle)
	bucket, err := s3blob.OpenBucket(ctx, own, name, nil)
	return openedBucket{bucket: bucket}, errors.Join(err, b.Close())
}

// beside opens another bucket with the client of one. It has none when that is not on S3.
func beside(ctx context.Context, b *blob.Bucket, name string) (openedBucket, error) {
	var client *s3.Client
	if !b.As(&client) {
		return openedBucket{}, nil
	}
	bucket, err := s3blob.OpenBucket(ctx, client, name, nil)
	return openedBucket{bucket: bucket}, err
}

// authority returns the bucket of a location with a scheme, "" for a local one.
func authority(location string) string {
	_, rest, _ := strings.Cut(location, "://")
	name, _, _ := strings.Cut(rest, "/")
	return name
}
