package catalog_test

import (
	"context"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// withDeletes makes table db.t of format version 2 with two data files and two position delete files.
func (l *lab) withDeletes(t testing.TB, c catalog.Closer) *testlake.Lake {
	l.create(t, nil, "db", "t")
	writeDeletes(t, c)
	return &testlake.Lake{Dir: l.dir, Prefix: "s3://lake/", Catalog: c}
}

func writeDeletes(t testing.TB, c catalog.Catalog) {
	ctx := t.Context()
	tbl, err := lakewriter.Load(ctx, c, testlake.Ident("t"))
	require.NoError(t, err)
	for i := range int64(2) {
		tbl, err = lakewriter.Append(ctx, tbl, 1, i*100, 100)
		require.NoError(t, err)
	}
	files, err := lakewriter.DataFiles(ctx, tbl, "main")
	require.NoError(t, err)
	for i := range int64(2) {
		positions := map[string][]int64{files[0].FilePath(): {i, 50 + i}, files[1].FilePath(): {90 + 2*i}}
		d, err := lakewriter.PositionDeletes(ctx, tbl, files[0], positions)
		require.NoError(t, err)
		tbl, err = lakewriter.Delta(ctx, tbl, "main", []iceberg.DataFile{d}, nil)
		require.NoError(t, err)
	}
}

func migrate() maintenance.Options {
	return maintenance.Options{Action: maintenance.Migrate, UpgradeFormat: true, Retry: maintenance.Retry{BaseDelay: time.Microsecond}}
}

// replaced counts the snapshots of db.t that a run committed.
func replaced(t testing.TB, c catalog.Catalog) int {
	n := 0
	for _, s := range load(t, c, "db", "t").Metadata.Snapshots() {
		if s.Summary.Operation == table.OpReplace && s.Summary.Properties["dvcompactor.plan-id"] != "" {
			n++
		}
	}
	return n
}

func TestARunRecognisesItsCommitWhenTheReplyToItIsLostOrWrong(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]restcatalog.Fault{
		"409": restcatalog.Status(409), "500": restcatalog.Status(500), "502": restcatalog.Status(502), "503": restcatalog.Status(503), "504": restcatalog.Status(504),
		"502 of a proxy": restcatalog.Body(502, "<html>bad gateway</html>"), "no reply": restcatalog.HangUp, "no reply in time": restcatalog.Stall,
		"garbage": restcatalog.Body(200, "<html>welcome</html>"), "half a reply": restcatalog.Body(200, `{"metadata-location": "file:`), "nothing": restcatalog.Body(200, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := faultyREST(t, catalog.Options{Timeout: patience})
			c := l.open(t)
			lake := l.withDeletes(t, c)
			want := lake.Read(t, "t", "main").Positions
			s.Break("commit", restcatalog.Done(then))
			r, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), migrate())
			require.NoError(t, err)
			assert.True(t, r.Committed)
			assert.Equal(t, 1, r.Attempts)
			assert.Equal(t, 1, replaced(t, c))
			got := lake.Read(t, "t", "main")
			assert.Equal(t, want, got.Positions)
			assert.Zero(t, got.PositionDeleteFiles)
			requireNothingToDo(t, c)
		})
	}
}

func requireNothingToDo(t *testing.T, c catalog.Catalog) {
	again, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), migrate())
	require.NoError(t, err)
	assert.False(t, again.Committed)
}

func TestARunTriesAgainWhenACommitIsCertainNotToHaveHappened(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]restcatalog.Fault{"409": restcatalog.Status(409), "429": restcatalog.Status(429)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := faultyREST(t, catalog.Options{})
			c := l.open(t)
			lake := l.withDeletes(t, c)
			want := lake.Read(t, "t", "main").Positions
			s.Break("commit", fault, fault)
			r, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), migrate())
			require.NoError(t, err)
			assert.True(t, r.Committed)
			assert.Equal(t, 3, r.Attempts)
			assert.Equal(t, 1, replaced(t, c))
			assert.Equal(t, want, lake.Read(t, "t", "main").Positions)
		})
	}
}

// Without regard to what the catalog asks for, the run would have committed before the context ends.
func TestARunWaitsBeforeItsNextAttemptForAsLongAsTheCatalogAsks(t *testing.T) {
	t.Parallel()
	l, s := faultyREST(t, catalog.Options{})
	c := l.open(t)
	l.withDeletes(t, c)
	before := s.Seen("commit")
	ctx, cancel := context.WithCancel(t.Context())
	s.Break("commit", restcatalog.Later(429, "60"))
	time.AfterFunc(3*time.Second, cancel)
	_, err := maintenance.Run(ctx, c, testlake.Ident("t"), migrate())
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, before+1, s.Seen("commit"))
}

func TestARunReportsAnUnknownOutcomeAndKeepsWhatItWrote(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]restcatalog.Fault{
		"500": restcatalog.Status(500), "502": restcatalog.Status(502), "503": restcatalog.Status(503), "504": restcatalog.Status(504),
		"no reply": restcatalog.HangUp, "no reply in time": restcatalog.Stall, "garbage": restcatalog.Body(200, "<html>welcome</html>"), "redirect": restcatalog.Redirect,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := faultyREST(t, catalog.Options{Timeout: patience})
			c := l.open(t)
			lake := l.withDeletes(t, c)
			want, before := lake.Read(t, "t", "main").Positions, lake.Files(t)
			s.Break("commit", fault)
			_, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), migrate())
			require.ErrorIs(t, err, catalog.ErrUnknown)
			assert.Subset(t, lake.Files(t), before)
			assert.Greater(t, len(lake.Files(t)), len(before), "what was written stays")
			assert.Zero(t, replaced(t, c))
			r, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), migrate())
			require.NoError(t, err)
			assert.True(t, r.Committed, "the next run does the work")
			assert.Equal(t, want, lake.Read(t, "t", "main").Positions)
		})
	}
}

func TestARefusedRunRemovesWhatItWrote(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]restcatalog.Fault{"400": restcatalog.Status(400), "403": restcatalog.Status(403), "404": restcatalog.Status(404)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := faultyREST(t, catalog.Options{})
			c := l.open(t)
			lake := l.withDeletes(t, c)
			before := lake.Files(t)
			s.Break("commit", fault)
			_, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), migrate())
			require.ErrorIs(t, err, catalog.ErrRefused)
			assert.Equal(t, before, lake.Files(t))
		})
	}
}

func TestACommitThatIsAcknowledgedButNotStoredIsMadeAgain(t *testing.T) {
	t.Parallel()
	l, s := faultyREST(t, catalog.Options{})
	c := l.open(t)
	lake := l.withDeletes(t, c)
	want := lake.Read(t, "t", "main").Positions
	s.Break("commit", restcatalog.Pretend)
	r, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), migrate())
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.Equal(t, 2, r.Attempts)
	assert.Equal(t, 1, replaced(t, c))
	assert.Equal(t, want, lake.Read(t, "t", "main").Positions)
}

func TestACommitThatIsNeverStoredAlthoughAcknowledgedEndsUnknownAndKeepsThePuffins(t *testing.T) {
	t.Parallel()
	l, s := faultyREST(t, catalog.Options{})
	c := l.open(t)
	lake := l.withDeletes(t, c)
	before := lake.Files(t)
	o := migrate()
	o.Retry.Attempts = 2
	s.Break("commit", restcatalog.Pretend, restcatalog.Pretend)
	r, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), o)
	require.ErrorIs(t, err, maintenance.ErrAbsent)
	require.ErrorIs(t, err, catalog.ErrUnknown)
	require.NotErrorIs(t, err, maintenance.ErrConflicts)
	assert.False(t, r.Committed)
	assert.Subset(t, lake.Files(t), before)
	assert.Greater(t, len(lake.Files(t)), len(before), "what was written stays")
	assert.Zero(t, replaced(t, c))
}

// The branch is where it was, so the requirements hold; the catalog answers 400 because of the sequence number.
func TestARunThatACommitToAnotherBranchOvertakesTriesAgain(t *testing.T) {
	t.Parallel()
	l, s := faultyREST(t, catalog.Options{})
	c := l.open(t)
	lake := l.withDeletes(t, c)
	want := lake.Read(t, "t", "main").Positions
	other := l.open(t)
	s.Break("commit", restcatalog.First(func() {
		assert.NoError(t, commit(t, other, load(t, other, "db", "t"), "audit", 4711))
	}))
	r, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), migrate())
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.Equal(t, 2, r.Attempts)
	assert.Equal(t, want, lake.Read(t, "t", "main").Positions)
	assert.NotNil(t, load(t, c, "db", "t").Metadata.SnapshotByName("audit"))
}

func TestALostReplyIsRecognisedAlthoughAnotherWriterCommittedOnTop(t *testing.T) {
	t.Parallel()
	l, s := faultyREST(t, catalog.Options{Properties: map[string]string{"snapshot-loading-mode": "refs"}})
	c := l.open(t)
	lake := l.withDeletes(t, c)
	want := lake.Read(t, "t", "main").Positions
	other := l.open(t)
	s.Break("commit", restcatalog.Done(restcatalog.HangUp))
	s.Break("load", nil, restcatalog.First(func() {
		tbl, err := lakewriter.Load(t.Context(), other, testlake.Ident("t"))
		assert.NoError(t, err)
		_, err = lakewriter.Append(t.Context(), tbl, 2, 9000, 10)
		assert.NoError(t, err)
	}))
	r, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), migrate())
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.Equal(t, 1, replaced(t, c))
	got := lake.Read(t, "t", "main").Positions
	assert.Subset(t, got, want)
	assert.Len(t, got, 3)
}
