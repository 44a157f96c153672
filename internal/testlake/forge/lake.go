package forge

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"
)

// root is what all locations begin with; keys of the bucket are what follows.
const root = "s3://lake/"

// Location is that of the table.
const Location = root + "t"

// Ident names the table.
func Ident() []string { return []string{"db", "t"} }

// Lake is a table in memory, db.t at s3://lake/t, and the bucket that it is in.
type Lake struct {
	Bucket  *blob.Bucket
	Catalog catalog.Catalog
	At      string // location of the table

	t      require.TestingT
	memory *memory
	count  int64 // of names and snapshot ids given so far
}

// Options of a new table. The zero value is an unpartitioned table of format version 2 with [Schema].
type Options struct {
	Version    int
	Location   string          // below s3://lake/; default [Location]
	Schema     *iceberg.Schema // its field ids have to be 1, 2, 3 and so on, as a new table gets them
	Spec       *iceberg.PartitionSpec
	Properties iceberg.Properties
}

// Schema is that of a table unless told otherwise.
func Schema() *iceberg.Schema {
	return iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64, Required: true},
		iceberg.NestedField{ID: 2, Name: "region", Type: iceberg.PrimitiveTypes.Int32},
		iceberg.NestedField{ID: 3, Name: "day", Type: iceberg.PrimitiveTypes.Date},
		iceberg.NestedField{ID: 4, Name: "note", Type: iceberg.PrimitiveTypes.String},
	)
}

// New makes an empty table.
func New(t require.TestingT, o Options) *Lake {
	if o.Version == 0 {
		o.Version = 2
	}
	if o.Schema == nil {
		o.Schema = Schema()
	}
	if o.Spec == nil {
		o.Spec = iceberg.UnpartitionedSpec
	}
	if o.Location == "" {
		o.Location = Location
	}
	properties := iceberg.Properties{"format-version": string(rune('0' + o.Version))}
	for k, v := range o.Properties {
		properties[k] = v
	}
	meta, err := table.NewMetadata(o.Schema, o.Spec, table.UnsortedSortOrder, o.Location, properties)
	require.NoError(t, err)
	l := &Lake{t: t, At: o.Location, Bucket: memblob.OpenBucket(nil), memory: &memory{at: o.Location}}
	l.memory.raw, err = json.Marshal(meta)
	require.NoError(t, err)
	l.memory.store = l.open(l.Bucket)
	l.Catalog = l.memory
	return l
}

// open opens a store whose locations are in a bucket.
func (l *Lake) open(b *blob.Bucket) *storage.Store {
	s, err := storage.Open(context.Background(), storage.Options{
		Mounts: []storage.Mount{{Prefix: root, URL: "forge://lake"}},
		Openers: map[string]storage.OpenBucketFunc{"forge": func(context.Context, *url.URL, map[string]string) (*blob.Bucket, error) {
			return b, nil
		}},
		Retry: storage.RetryOptions{Attempts: 4, BaseDelay: time.Microsecond, MaxDelay: time.Microsecond},
	})
	require.NoError(l.t, err)
	return s
}

// Through returns a catalog of the same table whose store reads and writes through another bucket, for instance one
// that fails now and then.
func (l *Lake) Through(b *blob.Bucket) catalog.Catalog {
	return &through{memory: l.memory, store: l.open(b)}
}

// through is a memory whose tables have another store.
type through struct {
	*memory
	store *storage.Store
}

// Load implements catalog.Catalog.
func (m *through) Load(ctx context.Context, identifier []string) (*catalog.Table, error) {
	t, err := m.memory.Load(ctx, identifier)
	if err == nil {
		t.Store = m.store
	}
	return t, err
}

// OnCommit sets what is called with the metadata before and after every commit, while no other can happen.
func (l *Lake) OnCommit(f func(before, after table.Metadata)) { l.memory.onCommit = f }

// Load loads the table.
func (l *Lake) Load() *catalog.Table {
	t, err := l.Catalog.Load(context.Background(), Ident())
	require.NoError(l.t, err)
	return t
}

// Update commits bare metadata updates.
func (l *Lake) Update(updates ...table.Update) {
	require.NoError(l.t, l.Catalog.Commit(context.Background(), l.Load(), nil, updates))
}

// EditMetadata changes the table's metadata as JSON, past every check.
func (l *Lake) EditMetadata(edit func(map[string]any)) {
	l.memory.mu.Lock()
	defer l.memory.mu.Unlock()
	var fields map[string]any
	d := json.NewDecoder(strings.NewReader(string(l.memory.raw)))
	d.UseNumber()
	require.NoError(l.t, d.Decode(&fields))
	edit(fields)
	l.memory.parsed = nil
	var err error
	l.memory.raw, err = json.Marshal(fields)
	require.NoError(l.t, err)
}

// Keys lists the objects of the bucket.
func (l *Lake) Keys() []string {
	var out []string
	for it := l.Bucket.List(nil); ; {
		o, err := it.Next(context.Background())
		if err != nil {
			return out
		}
		out = append(out, o.Key)
	}
}

// Put writes an object.
func (l *Lake) Put(location string, data []byte) {
	require.NoError(l.t, l.Bucket.WriteAll(context.Background(), strings.TrimPrefix(location, root), data, nil))
}

// Get reads an object.
func (l *Lake) Get(location string) []byte {
	data, err := l.Bucket.ReadAll(context.Background(), strings.TrimPrefix(location, root))
	require.NoError(l.t, err)
	return data
}

// Remove removes an object.
func (l *Lake) Remove(location string) error {
	return l.Bucket.Delete(context.Background(), strings.TrimPrefix(location, root))
}

// IO opens the lake's objects without the program's own storage.
func (l *Lake) IO() iceio.IO { return bucketIO{l.Bucket} }

// bucketIO reads whole objects.
type bucketIO struct{ bucket *blob.Bucket }

// Open implements iceio.IO.
func (b bucketIO) Open(name string) (iceio.File, error) {
	data, err := b.bucket.ReadAll(context.Background(), strings.TrimPrefix(name, root))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return storage.MemoryFile(name, data), nil
}

// Remove implements iceio.IO; a reader removes nothing.
func (b bucketIO) Remove(string) error { return fs.ErrPermission }
