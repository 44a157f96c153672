package daemon

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake/s3server"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// odd is added to pauses, so that nothing else happens at the same moment.
const odd = 7*time.Second + 300*time.Millisecond

func hourly() config.Policy {
	return config.Policy{Name: "p", Tables: []string{"*"}, Action: config.ActionCompact, Schedule: "@hourly"}
}

// failed is how many runs have failed by the metrics.
func (e *era) failed() string {
	return scrape(e.t, e.metrics)[`dvcompactor_runs_total{action="compact",result="failed"}`]
}

// reading is a run that loads its table.
func (e *era) reading(ctx context.Context, j Job) Run {
	if _, err := e.cat.Load(ctx, strings.Split(j.Table, ".")[1:]); err != nil {
		return Run{Result: resultOf(ctx, err), Error: err.Error()}
	}
	return e.sleep(ctx, time.Second)
}

func TestACatalogThatIsAwayForAnHourCostsTheRunsOfThatHourAndNothingElse(t *testing.T) {
	t.Parallel()
	location, mounts := oneFile(t, testlake.NewMetadata(t, "s3://lake/t", nil))
	rest := restcatalog.New(t, restcatalog.Options{Mounts: mounts})
	for _, name := range []string{"a", "b", "d"} {
		rest.Put(t, []string{"db", name}, location)
	}
	inEra(t, "2026-06-01T12:10:00Z", rest, mounts, func(e *era) {
		e.metrics.Expect(config.ActionCompact)
		e.work = e.reading
		e.begin()
		time.Sleep(3*time.Hour + odd)
		assert.Len(t, e.slots("c.db.a"), 3)
		rest.Use(func(http.Handler) http.Handler { return http.HandlerFunc(away) })
		time.Sleep(time.Hour)
		s := e.daemon.Status()
		assert.NotEmpty(t, s.Missing["c"])
		assert.True(t, s.Ready, "what it knows it can work on")
		assert.True(t, s.Healthy)
		require.Len(t, s.Tables, 3, "they stay on the roster")
		assert.Equal(t, 1, s.Tables[0].Record.Failures)
		assert.Equal(t, "3", e.failed())

		e.restart()
		time.Sleep(20*time.Minute + odd)
		s = e.daemon.Status()
		assert.False(t, s.Ready, "it knows nothing")
		assert.True(t, s.Healthy)
		assert.Empty(t, s.Tables)
		rest.Use(closing)
		time.Sleep(longestPause + 30*time.Second + odd)
		s = e.daemon.Status()
		assert.True(t, s.Ready)
		assert.Empty(t, s.Missing)
		time.Sleep(time.Hour)
		for _, one := range e.daemon.Status().Tables {
			assert.Empty(t, one.Record.Blocked())
			assert.Zero(t, one.Record.Failures)
			assert.Equal(t, ResultDone, one.Record.last().Result)
		}
		assert.Equal(t, "3", e.failed())
		e.end()
	}, hourly())
}

// refusing answers every request with a status.
func refusing(status int) func(http.Handler) http.Handler {
	return func(http.Handler) http.Handler {
		return closing(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(status)
			_, _ = w.Write([]byte("<Error><Code>" + map[int]string{403: "AccessDenied", 503: "SlowDown"}[status] + "</Code></Error>"))
		}))
	}
}

// bucketed puts a lake that the reference wrote into a bucket.
func bucketed(t *testing.T) (*s3server.Server, *restcatalog.Server, []storage.Mount) {
	dir := filepath.Join(testlake.Root(t), "testdata", "fixtures", "v3-upgraded-mixed")
	s3 := s3server.New(t, "lake")
	mounts := []storage.Mount{{Prefix: "s3://lake/", URL: s3.MountURL("lake")}}
	store, err := storage.Open(t.Context(), storage.Options{Mounts: mounts})
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "t", "*", "*"))
	require.NoError(t, err)
	var versions []string
	for _, path := range files {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		location := "s3://lake/" + strings.TrimPrefix(path, dir+"/")
		require.NoError(t, store.WriteFile(t.Context(), location, data))
		if strings.HasSuffix(path, ".metadata.json") {
			versions = append(versions, location)
		}
	}
	require.NoError(t, store.Close())
	rest := restcatalog.New(t, restcatalog.Options{Mounts: mounts})
	rest.Put(t, testlake.Ident("t"), slices.Max(versions))
	return s3, rest, mounts
}

func TestABucketThatRefusesForAnHourFailsRunsAndIsCountedAndTheNextRunIsDone(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusForbidden, http.StatusServiceUnavailable} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			s3, rest, mounts := bucketed(t)
			s3.Use(closing)
			inEra(t, "2026-06-01T12:10:00Z", rest, mounts, func(e *era) {
				e.metrics.Expect(config.ActionCompact)
				e.work = NewTables(TableOptions{
					Catalog: func(context.Context, string) (catalog.Catalog, error) { return e.cat, nil }, Now: e.now, Lease: LeaseOptions{Owner: "me", Now: e.now},
					Base: maintenance.Options{Memory: 64 << 20, Now: e.now},
				}).Run
				e.begin()
				time.Sleep(odd)
				s3.Use(refusing(status))
				time.Sleep(time.Hour)
				s := e.daemon.Status()
				assert.True(t, s.Ready, "the catalog answers")
				require.Len(t, s.Tables, 1)
				require.NotNil(t, s.Tables[0].Record.last())
				assert.Equal(t, ResultFailed, s.Tables[0].Record.last().Result)
				assert.Equal(t, "1", e.failed())
				assert.NotEqual(t, "0", scrape(t, e.metrics)[`dvcompactor_bucket_operation_failures_total{op="list"}`])
				s3.Use(closing)
				time.Sleep(time.Hour)
				last := e.daemon.Status().Tables[0].Record.last()
				assert.Equal(t, ResultDone, last.Result, last.Error)
				assert.True(t, last.Committed)
				e.end()
			}, hourly())
		})
	}
}
