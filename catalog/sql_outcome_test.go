package catalog_test

import (
	"context"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/dbproxy"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestARunRecognisesItsCommitWhenTheConnectionToPostgresBreaksAfterIt(t *testing.T) {
	t.Parallel()
	recognisesItsCommit(t, postgresLabs(t)(t))
}

// recognisesItsCommit is a run whose connection breaks after its commit.
func recognisesItsCommit(t *testing.T, l *lab) {
	c := l.open(t)
	lake := l.withDeletes(t, c)
	want := lake.Read(t, "t", "main").Positions
	l.proxy.CutNext(dbproxy.AfterApply, dbproxy.Break)
	r, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), migrate())
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.Equal(t, 1, r.Attempts)
	assert.Equal(t, 1, replaced(t, c))
	assert.Equal(t, want, lake.Read(t, "t", "main").Positions)
}

func TestARunSurvivesARestartOfPostgres(t *testing.T) {
	t.Parallel()
	survivesARestart(t, postgresLabs(t)(t))
}

// survivesARestart is a run whose pooled connections are those of a server that is dead.
func survivesARestart(t *testing.T, l *lab) {
	c := l.open(t)
	lake := l.withDeletes(t, c)
	want := lake.Read(t, "t", "main").Positions
	tbl := load(t, c, "db", "t")
	l.server.Stop(t)
	err := commit(t, c, tbl, "main", ourSnapshot)
	l.server.Resume(t)
	require.ErrorIs(t, err, catalog.ErrConflict)
	r, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), migrate())
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.Equal(t, want, lake.Read(t, "t", "main").Positions)
}

func TestTheEndOfTheContextEndsTheWaitForALockedSQLiteDatabase(t *testing.T) {
	t.Parallel()
	l := sqliteLab(t)
	l.create(t, nil, "db", "t")
	c := l.open(t)
	tbl := load(t, c, "db", "t")
	sqliteHeld("BEGIN EXCLUSIVE")(t, l, c, tbl)
	requirements, updates := addSnapshot(tbl, "main", ourSnapshot)
	for name, do := range map[string]func(context.Context) error{
		"load":   func(ctx context.Context) error { _, err := c.Load(ctx, tbl.Identifier); return err },
		"list":   func(ctx context.Context) error { _, err := c.List(ctx, nil); return err },
		"commit": func(ctx context.Context) error { return c.Commit(ctx, tbl, requirements, updates) },
	} {
		endsWithItsContext(t, name, do)
	}
}

// endsWithItsContext lets something begin that does not end by itself, and cancels it.
func endsWithItsContext(t *testing.T, name string, do func(context.Context) error) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	select {
	case err := <-done:
		assert.ErrorIs(t, err, context.Canceled, name)
	case <-time.After(lockWaitInTests):
		t.Errorf("%s goes on after its context has ended", name)
	}
}

// lockWaitInTests is less than what anything waits for by itself, and far more than what ends with its context takes.
const lockWaitInTests = 8 * time.Second
