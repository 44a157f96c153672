package catalog_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLoadsAndListsAreRepeatedWhenTheyFailInAWayThatMayPass(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]restcatalog.Fault{
		"429": restcatalog.Status(429), "500": restcatalog.Status(500), "502 of a proxy": restcatalog.Body(502, "<html>"), "503": restcatalog.Later(503, "0"),
		"504": restcatalog.Status(504), "no reply": restcatalog.HangUp, "half a reply": restcatalog.Cut,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := faultyREST(t, catalog.Options{})
			l.create(t, nil, "db", "t")
			for range attempts - 1 {
				s.Break("config", fault)
				s.Break("load", fault)
				s.Break("list", fault)
			}
			c := l.open(t)
			assert.Equal(t, "lake.db.t", load(t, c, "db", "t").Name())
			found, err := c.List(t.Context(), []string{"db"})
			require.NoError(t, err)
			assert.Equal(t, [][]string{{"db", "t"}}, found)
			assert.Equal(t, attempts, s.Seen("load"))
		})
	}
}

func TestALoadIsNotRepeatedWhenThatWouldNotHelp(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]restcatalog.Fault{
		"400": restcatalog.Status(400), "403": restcatalog.Status(403), "404": restcatalog.Status(404), "501": restcatalog.Status(501),
		"garbage": restcatalog.Body(200, "<html>"), "no reply in time": restcatalog.Stall,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := faultyREST(t, catalog.Options{Timeout: patience})
			c := l.open(t)
			s.Break("load", slices.Repeat([]restcatalog.Fault{fault}, 10)...)
			_, err := c.Load(t.Context(), []string{"db", "t"})
			require.Error(t, err)
			assert.Equal(t, 1, s.Seen("load"))
		})
	}
}

// Without regard to what the catalog asks for, all attempts would be over before the context ends.
func TestACatalogThatAsksForAPauseGetsIt(t *testing.T) {
	t.Parallel()
	for _, wish := range []string{"3600", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)} {
		l, s := faultyREST(t, catalog.Options{})
		l.options.Retry.MaxAsked = time.Hour
		c := l.open(t)
		s.Break("load", slices.Repeat([]restcatalog.Fault{restcatalog.Later(503, wish)}, 10)...)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := c.Load(ctx, []string{"db", "t"})
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 1, s.Seen("load"))
	}
}

func TestACatalogThatAsksForADayDoesNotGetIt(t *testing.T) {
	t.Parallel()
	l, s := faultyREST(t, catalog.Options{})
	l.options.Retry.MaxAsked = time.Millisecond
	l.create(t, nil, "db", "t")
	c := l.open(t)
	s.Break("load", restcatalog.Later(429, "86400"), restcatalog.Later(503, time.Now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat)))
	assert.Equal(t, "lake.db.t", load(t, c, "db", "t").Name())
}

func TestAFailedCommitSaysForHowLongTheCatalogAskedToWait(t *testing.T) {
	t.Parallel()
	inAnHour := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for name, test := range map[string]struct {
		fault restcatalog.Fault
		want  error
		wait  time.Duration
	}{
		"429":              {restcatalog.Later(429, "7"), catalog.ErrConflict, 7 * time.Second},
		"429 with a date":  {restcatalog.Later(429, inAnHour), catalog.ErrConflict, time.Minute},
		"429 without":      {restcatalog.Status(429), catalog.ErrConflict, 0},
		"503":              {restcatalog.Later(503, "86400"), catalog.ErrUnknown, time.Minute},
		"409, where it is": {restcatalog.Later(409, "7"), catalog.ErrConflict, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := faultyREST(t, catalog.Options{})
			l.create(t, nil, "db", "t")
			c := l.open(t)
			s.Break("commit", test.fault)
			err := commit(t, c, load(t, c, "db", "t"), "main", 1)
			var outcome *catalog.CommitError
			require.ErrorAs(t, err, &outcome)
			assert.Equal(t, test.want, outcome.Outcome)
			assert.Equal(t, test.wait, outcome.RetryAfter)
			assert.Equal(t, 1, s.Seen("commit"))
		})
	}
}

func TestTheEndOfTheContextEndsWhateverARESTCatalogIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, hang := range map[string]func(*restcatalog.Server){
		"the request hangs": func(s *restcatalog.Server) {
			s.Break("load", restcatalog.Stall)
			s.Break("list", restcatalog.Stall)
			s.Break("commit", restcatalog.Stall)
		},
		"the token hangs": func(s *restcatalog.Server) {
			s.RevokeTokens()
			s.Break("token", restcatalog.Stall, restcatalog.Stall, restcatalog.Stall)
		},
		"there is a long pause": func(s *restcatalog.Server) {
			s.Break("load", restcatalog.Later(503, "60"))
			s.Break("list", restcatalog.Later(503, "60"))
			s.Break("commit", restcatalog.Stall)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := faultyREST(t, catalog.Options{})
			l.create(t, nil, "db", "t")
			c := l.open(t)
			tbl := load(t, c, "db", "t")
			requirements, updates := addSnapshot(tbl, "main", ourSnapshot)
			hang(s)
			endsWithItsContext(t, "load", func(ctx context.Context) error { _, err := c.Load(ctx, tbl.Identifier); return err })
			endsWithItsContext(t, "list", func(ctx context.Context) error { _, err := c.List(ctx, nil); return err })
			endsWithItsContext(t, "commit", func(ctx context.Context) error { return c.Commit(ctx, tbl, requirements, updates) })
		})
	}
}

// One request waits for the token endpoint, the others wait for that one.
func TestARequestThatWaitsForTheTokenOfAnotherEndsWithItsContext(t *testing.T) {
	t.Parallel()
	l, s := faultyREST(t, catalog.Options{})
	l.create(t, nil, "db", "t")
	c := l.open(t)
	s.RevokeTokens()
	asked := make(chan struct{})
	s.Break("token", func(w http.ResponseWriter, r *http.Request, healthy http.Handler) {
		close(asked)
		restcatalog.Stall(w, r, healthy)
	})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { _, err := c.Load(ctx, []string{"db", "t"}); first <- err }()
	<-asked
	endsWithItsContext(t, "the second load", func(ctx context.Context) error { _, err := c.Load(ctx, []string{"db", "t"}); return err })
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
	load(t, c, "db", "t")
}

func TestATokenEndpointThatHangsEndsWithTheTimeLimitOfARequest(t *testing.T) {
	t.Parallel()
	l, s := faultyREST(t, catalog.Options{Timeout: patience})
	s.Break("token", restcatalog.Stall)
	start := time.Now()
	_, err := catalog.Open(t.Context(), l.options)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Less(t, time.Since(start), 30*time.Second, "iceberg-go alone waits for a minute")
}

func TestARunSurvivesACatalogThatVanishesAndComesBack(t *testing.T) {
	t.Parallel()
	l, s := faultyREST(t, catalog.Options{})
	l.options.Retry = storage.RetryOptions{Attempts: 10, BaseDelay: 100 * time.Millisecond}
	c := l.open(t)
	lake := l.withDeletes(t, c)
	want := lake.Read(t, "t", "main").Positions
	vanished := make(chan struct{})
	s.Break("commit", func(http.ResponseWriter, *http.Request, http.Handler) {
		close(vanished)
		panic(http.ErrAbortHandler)
	})
	back := make(chan struct{})
	go func() {
		defer close(back)
		<-vanished
		s.Stop()
		time.Sleep(300 * time.Millisecond) // some requests are refused meanwhile
		s.Resume(t)
	}()
	_, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), migrate())
	<-back
	require.ErrorIs(t, err, catalog.ErrUnknown, "a commit on a connection that broke is never sent again blindly")
	r, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), migrate())
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.Equal(t, 1, replaced(t, c))
	assert.Equal(t, want, lake.Read(t, "t", "main").Positions)
}
