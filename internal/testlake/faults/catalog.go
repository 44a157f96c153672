package faults

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/storage/localblob"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
)

// Catalog returns a catalog in front of c. A table that it loads keeps its store, whose requests the script does not see.
// Listing tables is not a call of the language.
func (s *Script) Catalog(c catalog.Catalog) catalog.Catalog {
	return &faulty{Catalog: c, script: s, loaded: map[string]*catalog.Table{}}
}

// faulty implements catalog.Catalog.
type faulty struct {
	catalog.Catalog
	script *Script
	store  *storage.Store // of every table, unless it is nil

	mu     sync.Mutex
	loaded map[string]*catalog.Table // what was loaded last, by name
}

// Load implements catalog.Catalog.
func (c *faulty) Load(ctx context.Context, identifier []string) (out *catalog.Table, err error) {
	name := strings.Join(identifier, ".")
	err = c.script.run(ctx, call{op: opLoad, name: name, say: func(a answer) error { return loadError(name, a) }, do: func(d damage) (err error) {
		out, err = c.load(ctx, identifier, name, d)
		return err
	}})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *faulty) load(ctx context.Context, identifier []string, name string, d damage) (*catalog.Table, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.loaded[name]; d == stale && old != nil {
		again := *old
		return &again, nil
	}
	t, err := c.Catalog.Load(ctx, identifier)
	if err != nil {
		return nil, err
	}
	if c.store != nil {
		t.Store = c.store
	}
	kept := *t
	c.loaded[name] = &kept
	return t, nil
}

// Commit implements catalog.Catalog.
func (c *faulty) Commit(ctx context.Context, t *catalog.Table, requirements []table.Requirement, updates []table.Update) error {
	name := strings.Join(t.Identifier, ".")
	err := c.script.run(ctx, call{op: opCommit, name: name, say: func(a answer) error { return commitError(t.Name(), a) }, do: func(d damage) error {
		if d == torn {
			return nil // there is no half of it
		}
		return c.Catalog.Commit(ctx, t, requirements, updates)
	}})
	if errors.Is(err, ErrCrashed) {
		return &catalog.CommitError{Outcome: catalog.ErrUnknown, Table: t.Name(), Err: err}
	}
	return err
}

// List implements catalog.Catalog.
func (c *faulty) List(ctx context.Context, namespace []string) ([][]string, error) {
	if c.script.Crashed() {
		return nil, ErrCrashed
	}
	return c.Catalog.List(ctx, namespace)
}

// Lake returns a catalog in front of that of a lake whose tables have a store that the script breaks too. What the
// catalog itself writes, the metadata file of a commit, is part of the commit.
func (s *Script) Lake(t testing.TB, l *testlake.Lake, retry storage.RetryOptions) catalog.Catalog {
	open := func(context.Context, *url.URL, map[string]string) (*blob.Bucket, error) {
		return localblob.OpenBucket(localblob.Options{Dir: l.Dir})
	}
	options := storage.Options{Retry: retry, Openers: map[string]storage.OpenBucketFunc{"faulty": s.Opener(open)}}
	for _, prefix := range slices.Compact([]string{strings.TrimSuffix(l.Prefix, "/"), "file://" + l.Dir}) {
		options.Mounts = append(options.Mounts, storage.Mount{Prefix: prefix, URL: "faulty://lake"})
	}
	store, err := storage.Open(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	c := s.Catalog(l.Catalog).(*faulty)
	c.store = store
	return c
}
