package faults_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"
	"golang.org/x/sync/errgroup"

	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake/faults"
	"github.com/dvcompactor/dvcompactor/internal/testlake/s3server"
)

const (
	attempts = 4
	prefix   = "s3://lake/"
	oldData  = "0123456789"
)

// front is a store with a script in front of it. The object "old" is there already.
type front struct {
	*storage.Store
	script  *faults.Script
	content func(key string) ([]byte, error) // what is really stored
}

func openStore(t *testing.T, mount string, openers map[string]storage.OpenBucketFunc) *storage.Store {
	s, err := storage.Open(t.Context(), storage.Options{
		Mounts: []storage.Mount{{Prefix: prefix, URL: mount}}, Openers: openers,
		Retry: storage.RetryOptions{Attempts: attempts, BaseDelay: time.Microsecond},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func inProcess(t *testing.T, script string) *front {
	base := memblob.OpenBucket(nil)
	require.NoError(t, base.WriteAll(t.Context(), "old", []byte(oldData), nil))
	s := faults.New(t, script)
	open := s.Opener(func(context.Context, *url.URL, map[string]string) (*blob.Bucket, error) { return base, nil })
	return &front{openStore(t, "faulty://lake", map[string]storage.OpenBucketFunc{"faulty": open}), s, func(key string) ([]byte, error) {
		return base.ReadAll(t.Context(), key)
	}}
}

func overHTTP(t *testing.T, script string) *front {
	server := s3server.New(t, "lake")
	store := openStore(t, server.MountURL("lake"), nil)
	require.NoError(t, store.WriteFile(t.Context(), prefix+"old", []byte(oldData)))
	s := faults.New(t, script)
	server.Use(func(healthy http.Handler) http.Handler { return s.Handler(healthy, faults.S3) })
	return &front{store, s, func(key string) ([]byte, error) {
		server.Use(nil)
		return store.ReadFile(t.Context(), prefix+key)
	}}
}

func put(ctx context.Context, s *storage.Store) error {
	return s.WriteFile(ctx, prefix+"new", []byte("new"))
}

func putIfAbsent(ctx context.Context, s *storage.Store) error {
	return s.WriteFileIfAbsent(ctx, prefix+"new", []byte("new"))
}

func get(ctx context.Context, s *storage.Store) error {
	return want(oldData)(s.ReadFile(ctx, prefix+"old"))
}

func getRange(ctx context.Context, s *storage.Store) error {
	return want(oldData[2:6])(s.ReadRange(ctx, prefix+"old", 2, 4))
}

func head(ctx context.Context, s *storage.Store) error {
	_, err := s.Size(ctx, prefix+"old")
	return err
}

func remove(ctx context.Context, s *storage.Store) error { return s.Remove(ctx, prefix+"old") }

func list(ctx context.Context, s *storage.Store) error {
	for _, err := range s.List(ctx, prefix) {
		if err != nil {
			return err
		}
	}
	return nil
}

var errWrongBytes = errors.New("other bytes than were stored")

func want(text string) func([]byte, error) error {
	return func(data []byte, err error) error {
		if err == nil && string(data) != text {
			return errWrongBytes
		}
		return err
	}
}

// What an error has to be, beside those of the storage package.
var (
	errTransient = errors.New("a fault of the transport")
	errDead      = errors.New("the end of the client")
)

// storeCases say what a store makes of each fault.
var storeCases = map[string]struct {
	script string
	do     func(context.Context, *storage.Store) error
	err    error  // nil when all is well in the end
	calls  int    // of the operation in the script
	stored string // the objects that are there then, unless it is empty
}{
	"a busy store is asked again until it takes the object":           {"put #1-3: 503", put, nil, 4, "old new"},
	"a store that says slow down is asked again":                      {"put #1: 429", put, nil, 2, "old new"},
	"a connection that is reset is opened again":                      {"put #1: reset", put, nil, 2, "old new"},
	"a store that stays busy is given up, and nothing is there":       {"put: 503", put, errTransient, attempts, "old"},
	"a put whose reply is lost is repeated":                           {"put #1: lost-reply", put, nil, 2, "old new"},
	"a put whose replies are all lost fails, but the object is there": {"put: lost-reply", put, errTransient, attempts, "old new"},
	"no permission is final":                                          {"put: fail", put, storage.ErrPermission, 1, "old"},
	"a failed precondition means that there is an object":             {"put: 412", putIfAbsent, storage.ErrExists, 1, "old"},
	"a put if absent recognises its own object":                       {"put #1: lost-reply", putIfAbsent, nil, 2, "old new"},
	"an acknowledged put may not have happened":                       {"put: pretend", put, nil, 1, "old"},
	"a slow put happens":                                              {"put: slow 1ms", put, nil, 1, "old new"},
	"the client may die before a put":                                 {"put: crash", put, errDead, 1, "old"},
	"the client may die after a put":                                  {"put: crash-after", put, errDead, 1, "old new"},
	"a whole read that ends early goes on":                            {"get #1: short", get, nil, 2, ""},
	"a range that ends early is read again":                           {"get-range #1: short", getRange, nil, 2, ""},
	"a range that always ends early is an error of the transport":     {"get-range: short", getRange, errTransient, attempts, ""},
	"wrong bytes come without an error":                               {"get-range: garbage", getRange, errWrongBytes, 1, ""},
	"a busy store is asked for the size again":                        {"head #1-2: 503", head, nil, 3, ""},
	"a busy store is asked for a listing again":                       {"list #1: 503", list, nil, 2, ""},
	"a listing that is refused fails":                                 {"list: fail", list, storage.ErrPermission, 1, ""},
	"a removal whose reply is lost is repeated":                       {"delete #1: lost-reply", remove, nil, 2, "nothing"},
	"an acknowledged removal may not have happened":                   {"delete: pretend", remove, nil, 1, "old"},
	"a rule about other keys does nothing":                            {"put old: fail", put, nil, 1, "old new"},
	"of two rules that are due the first happens":                     {"put #1: 503\nput: pretend", put, nil, 2, "old"},
	"a rule counts its own calls":                                     {"put ne? #2: pretend\nput *w every 1: 503\nput: fail", put, nil, 2, "old"},
}

func TestWhatAStoreMakesOfEachFault(t *testing.T) {
	t.Parallel()
	for place, open := range map[string]func(*testing.T, string) *front{"in the process": inProcess, "over HTTP": overHTTP} {
		for name, c := range storeCases {
			t.Run(place+": "+name, func(t *testing.T) {
				t.Parallel()
				f := open(t, c.script)
				err := c.do(t.Context(), f.Store)
				switch c.err {
				case errTransient:
					assert.True(t, storage.Transient(err), "%v", err)
				case errDead:
					require.Error(t, err)
					assert.True(t, f.script.Crashed())
					assert.Equal(t, place == "in the process", errors.Is(err, faults.ErrCrashed), "%v", err)
				default:
					assert.ErrorIs(t, err, c.err)
				}
				op, _, _ := strings.Cut(strings.NewReplacer(":", " ").Replace(c.script), " ")
				assert.Equal(t, c.calls, f.script.Count(op), "calls")
				assert.Equal(t, c.stored, f.stored(t, c.stored))
			})
		}
	}
}

// stored returns the objects that are there, whole; the empty text when nobody wants to know.
func (f *front) stored(t *testing.T, wanted string) string {
	if wanted == "" {
		return ""
	}
	var there []string
	for key, text := range map[string]string{"old": oldData, "new": "new"} {
		data, err := f.content(key)
		if err == nil {
			there = append(there, key)
			assert.Equal(t, text, string(data))
		}
	}
	slices.Sort(there)
	slices.Reverse(there)
	return cmp.Or(strings.Join(there, " "), "nothing")
}

func TestAStaleStoreDoesNotShowNewObjects(t *testing.T) {
	t.Parallel()
	f := inProcess(t, "list: stale\nhead: stale\nget: stale\nget-range: stale")
	ctx := t.Context()
	require.NoError(t, put(ctx, f.Store))
	_, err := f.Size(ctx, prefix+"new")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = f.ReadFile(ctx, prefix+"new")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = f.ReadRange(ctx, prefix+"new", 0, 1)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.Equal(t, []string{prefix + "old"}, listed(t, f))
	require.NoError(t, errors.Join(head(ctx, f.Store), get(ctx, f.Store)), "what was there before is shown")
	assert.Equal(t, 5, f.script.Count("any")-f.script.Count("put")-f.script.Count("list"))
}

func TestAStaleStoreOverHTTPAnswersListingsAsBefore(t *testing.T) {
	t.Parallel()
	f := overHTTP(t, "list #2: stale\nget: stale")
	ctx := t.Context()
	assert.Equal(t, []string{prefix + "old"}, listed(t, f))
	require.NoError(t, put(ctx, f.Store))
	_, err := f.ReadFile(ctx, prefix+"new")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.Equal(t, []string{prefix + "old"}, listed(t, f))
	assert.Equal(t, []string{prefix + "new", prefix + "old"}, listed(t, f))
}

func listed(t *testing.T, f *front) []string {
	var out []string
	for o, err := range f.List(t.Context(), prefix) {
		require.NoError(t, err)
		out = append(out, o.Location)
	}
	return out
}

func TestASlowStoreIsGivenUpWithTheContext(t *testing.T) {
	t.Parallel()
	f := inProcess(t, "put: slow 1h")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, put(ctx, f.Store), context.DeadlineExceeded)
	_, err := f.content("new")
	assert.Error(t, err, "nothing was done")
}

func TestWrongBytesOfAWholeObjectAreSeenWhereTheStoreSendsAChecksum(t *testing.T) {
	t.Parallel()
	assert.ErrorIs(t, get(t.Context(), inProcess(t, "get: garbage").Store), errWrongBytes)
	err := get(t.Context(), overHTTP(t, "get: garbage").Store)
	assert.NotErrorIs(t, err, errWrongBytes)
	assert.True(t, storage.Transient(err), "%v", err)
}

func TestGarbageThatIsPutHasTheSameLength(t *testing.T) {
	t.Parallel()
	f := inProcess(t, "put: garbage")
	require.NoError(t, put(t.Context(), f.Store))
	got, err := f.content("new")
	require.NoError(t, err)
	assert.Len(t, got, len("new"))
	assert.NotEqual(t, "new", string(got))
}

func TestManyClientsShareOneScript(t *testing.T) {
	t.Parallel()
	f := inProcess(t, "put every 3: 503\nget every 2: short")
	var g errgroup.Group
	for i := range 50 {
		g.Go(func() error {
			key := fmt.Sprint(prefix, i)
			if err := f.WriteFile(t.Context(), key, []byte(oldData)); err != nil {
				return err
			}
			return want(oldData)(f.ReadFile(t.Context(), key))
		})
	}
	err := g.Wait() // an unlucky one may meet every third call four times
	assert.True(t, err == nil || storage.Transient(err), "%v", err)
	assert.GreaterOrEqual(t, f.script.Count("put"), 50)
}
