package catalog_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryCatalog(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := kind(t)
			for name, test := range conformance {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, lab(t))
				})
			}
		})
	}
}

var conformance = map[string]func(*testing.T, *lab){
	"loads the current metadata of a table":                           loadsCurrentMetadata,
	"does not find what is not there":                                 findsNothing,
	"applies a commit that others then see":                           appliesCommits,
	"lets exactly one of two committers win each time":                twoCommitters,
	"applies every commit of two processes exactly once":              twoProcesses,
	"lists tables of nested namespaces, and no views":                 lists,
	"lists tables whose names have odd characters, and loads them":    oddNames,
	"ends at once when the context is cancelled, and commits nothing": cancelled,
}

func loadsCurrentMetadata(t *testing.T, l *lab) {
	l.create(t, map[string]string{"format-version": "3", "owner": "somebody"}, "db", "t")
	tbl := load(t, l.open(t), "db", "t")
	assert.Equal(t, "lake.db.t", tbl.Name())
	assert.Equal(t, 3, tbl.Metadata.Version())
	assert.Equal(t, "somebody", tbl.Metadata.Properties()["owner"])
	data, err := tbl.Store.ReadFile(t.Context(), tbl.MetadataLocation)
	require.NoError(t, err)
	assert.Contains(t, string(data), tbl.Metadata.TableUUID().String())
}

func findsNothing(t *testing.T, l *lab) {
	l.create(t, nil, "db", "t")
	c := l.open(t)
	for _, identifier := range [][]string{{"db", "u"}, {"other", "t"}, {"db", "deep", "t"}, {"t"}, {}} {
		_, err := c.Load(t.Context(), identifier)
		assert.ErrorIs(t, err, catalog.ErrNotFound, "%v", identifier)
	}
}

func appliesCommits(t *testing.T, l *lab) {
	l.create(t, nil, "db", "t")
	mine, theirs := l.open(t), l.open(t)
	before := load(t, mine, "db", "t")
	require.NoError(t, commit(t, mine, before, "main", 1))
	require.NoError(t, commit(t, theirs, load(t, theirs, "db", "t"), "main", 2))
	after := load(t, mine, "db", "t")
	assert.EqualValues(t, 2, after.Metadata.SnapshotByName("main").SnapshotID)
	assert.Len(t, after.Metadata.Snapshots(), 2)
	assert.Equal(t, before.Metadata.TableUUID(), after.Metadata.TableUUID())
	var log []string
	for e := range after.Metadata.PreviousFiles() {
		log = append(log, e.MetadataFile)
	}
	require.Len(t, log, 2)
	assert.Equal(t, before.MetadataLocation, log[0])
	assert.Contains(t, after.MetadataLocation, "/metadata/00002-")
}

func twoCommitters(t *testing.T, l *lab) {
	const rounds = 50
	l.create(t, map[string]string{"write.metadata.previous-versions-max": "1000"}, "db", "t")
	committers := []catalog.Catalog{l.open(t), l.open(t)}
	var winners []int64
	for round := range int64(rounds) {
		errs := make([]error, len(committers))
		start := make(chan struct{})
		var done sync.WaitGroup
		for i, c := range committers {
			tbl := load(t, c, "db", "t")
			done.Go(func() {
				<-start
				errs[i] = commit(t, c, tbl, "main", 2*round+int64(i)+1)
			})
		}
		close(start)
		done.Wait()
		winner := slices.Index(errs, nil)
		require.GreaterOrEqual(t, winner, 0, "round %d: nobody won: %v", round, errs)
		require.ErrorIs(t, errs[1-winner], catalog.ErrConflict)
		winners = append(winners, 2*round+int64(winner)+1)
	}
	var history []int64
	for _, s := range load(t, committers[0], "db", "t").Metadata.Snapshots() {
		history = append(history, s.SnapshotID)
	}
	assert.Equal(t, winners, history)
	assert.Equal(t, rounds+1, l.metadataFiles(t), "losers leave nothing behind")
}

func lists(t *testing.T, l *lab) {
	if l.flat {
		listsFlat(t, l)
		return
	}
	for _, identifier := range [][]string{{"a", "t"}, {"a", "u"}, {"a", "v"}, {"a", "b", "t"}, {"a", "b", "c", "t"}, {"ab", "t"}, {"z", "y", "t"}} {
		l.create(t, nil, identifier...)
	}
	if l.view != nil {
		l.view(t, []string{"a", "looks"})
	}
	c := l.open(t)
	list := func(namespace ...string) [][]string {
		out, err := c.List(t.Context(), namespace)
		require.NoError(t, err)
		slices.SortFunc(out, slices.Compare)
		return out
	}
	below := [][]string{{"a", "b", "c", "t"}, {"a", "b", "t"}, {"a", "t"}, {"a", "u"}, {"a", "v"}}
	assert.Equal(t, slices.Concat(below, [][]string{{"ab", "t"}, {"z", "y", "t"}}), list())
	assert.Equal(t, below, list("a"))
	assert.Equal(t, below[:2], list("a", "b"))
	assert.Empty(t, list("b"))
	_, err := c.Load(t.Context(), []string{"a", "looks"})
	assert.ErrorIs(t, err, catalog.ErrNotFound)
	assert.Equal(t, "lake.a.b.c.t", load(t, c, "a", "b", "c", "t").Name())
}

// listsFlat is lists for a catalog whose namespaces have one level.
func listsFlat(t *testing.T, l *lab) {
	for _, identifier := range [][]string{{"a", "t"}, {"a", "u"}, {"ab", "t"}} {
		l.create(t, nil, identifier...)
	}
	l.view(t, []string{"a", "looks"})
	c := l.open(t)
	for want, namespace := range map[string][]string{"[[a t] [a u] [ab t]]": nil, "[[a t] [a u]]": {"a"}, "[[ab t]]": {"ab"}, "[]": {"b"}} {
		out, err := c.List(t.Context(), namespace)
		require.NoError(t, err)
		slices.SortFunc(out, slices.Compare)
		assert.Equal(t, want, fmt.Sprint(out))
	}
	_, err := c.Load(t.Context(), []string{"a", "looks"})
	assert.ErrorIs(t, err, catalog.ErrNotFound)
}

func oddNames(t *testing.T, l *lab) {
	c := l.open(t)
	names := [][]string{
		{"d b", "t'1"}, {"ünï%41", "t?#&"}, {"db", "a/b"}, {"db", "a/../b"}, {"db", "50%"}, {"db", "%2F"}, {"db", "x.y"}, {"db", "表 1"}, {"n 1", "n/2", "t+u"},
	}
	if l.names != nil {
		names = l.names
	}
	for _, identifier := range names {
		if l.flat && len(identifier) > 2 {
			continue
		}
		l.create(t, nil, identifier...)
		found, err := c.List(t.Context(), identifier[:1])
		require.NoError(t, err)
		assert.Contains(t, found, identifier)
		require.NoError(t, commit(t, c, load(t, c, identifier...), "main", 1), "%q", identifier)
		assert.Len(t, load(t, c, identifier...).Metadata.Snapshots(), 1)
	}
}

func cancelled(t *testing.T, l *lab) {
	l.create(t, nil, "db", "t")
	c := l.open(t)
	tbl := load(t, c, "db", "t")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	_, err := c.Load(ctx, tbl.Identifier)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = c.List(ctx, nil)
	assert.ErrorIs(t, err, context.Canceled)
	requirements, updates := addSnapshot(tbl, "main", 1)
	err = c.Commit(ctx, tbl, requirements, updates)
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, err, catalog.ErrRefused, "nothing was sent")
	assert.Less(t, time.Since(start), 10*time.Second)
	assert.Empty(t, load(t, c, "db", "t").Metadata.Snapshots())
	assert.Equal(t, 1, l.metadataFiles(t))
}
