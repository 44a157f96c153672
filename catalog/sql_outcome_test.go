package catalog_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/postgres"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestACommitThatSQLiteRefusesLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	l := sqliteLab(t)
	l.create(t, nil, "db", "t")
	execute(t, database(t, "sqlite", "file:"+filepath.Join(l.dir, "catalog.db")),
		"CREATE TRIGGER no BEFORE UPDATE ON iceberg_tables BEGIN SELECT RAISE(ABORT, 'not today'); END")
	c := l.open(t)
	err := commit(t, c, load(t, c, "db", "t"), "main", 1)
	assert.ErrorContains(t, err, "not today")
	assert.ErrorIs(t, err, catalog.ErrRefused)
	assert.Equal(t, 1, l.metadataFiles(t))
}

func TestPostgresOutcomes(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	t.Run("a run recognises its commit when the connection breaks after it", func(t *testing.T) {
		t.Parallel()
		recognisesCommit(t, server)
	})
	for i, test := range []struct {
		name          string
		arrange       func(t *testing.T, db *sql.DB, p *postgres.Proxy)
		want          error
		applied       bool
		metadataFiles int
	}{
		{"a statement that is refused", refusing, catalog.ErrRefused, false, 1},
		{"a row that is locked", locking, catalog.ErrConflict, false, 1},
		{"a connection that breaks before the statement", breaking(postgres.BeforeApply), catalog.ErrUnknown, false, 2},
		{"a connection that breaks after the statement", breaking(postgres.AfterApply), catalog.ErrUnknown, true, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			name := fmt.Sprintf("outcome%d", i)
			proxy := server.NewProxy(t)
			l := postgresLab(t, server, name, postgres.URI(proxy.Socket, name)+"&lock_timeout=1")
			l.create(t, nil, "db", "t")
			c := l.open(t)
			tbl := load(t, c, "db", "t")
			test.arrange(t, database(t, "pgx", postgres.URI(server.Socket, name)), proxy)
			err := commit(t, c, tbl, "main", 1)
			var outcome *catalog.CommitError
			require.ErrorAs(t, err, &outcome)
			assert.Equal(t, test.want, outcome.Outcome, "%v", err)
			assert.Equal(t, test.metadataFiles, l.metadataFiles(t), "after an unknown outcome nothing is removed")
			assert.Equal(t, test.applied, len(load(t, c, "db", "t").Metadata.Snapshots()) == 1)
		})
	}
}

func refusing(t *testing.T, db *sql.DB, _ *postgres.Proxy) {
	execute(t, db, `CREATE FUNCTION no() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'not today'; END $$ LANGUAGE plpgsql`,
		`CREATE TRIGGER no BEFORE UPDATE ON iceberg_tables FOR EACH ROW EXECUTE FUNCTION no()`)
}

func locking(t *testing.T, db *sql.DB, _ *postgres.Proxy) {
	tx, err := db.BeginTx(context.WithoutCancel(t.Context()), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tx.Rollback()) })
	_, err = tx.ExecContext(t.Context(), "SELECT * FROM iceberg_tables FOR UPDATE")
	require.NoError(t, err)
}

func breaking(where postgres.Cut) func(*testing.T, *sql.DB, *postgres.Proxy) {
	return func(_ *testing.T, _ *sql.DB, p *postgres.Proxy) { p.CutNext(where) }
}

func recognisesCommit(t *testing.T, server *postgres.Server) {
	proxy := server.NewProxy(t)
	l := postgresLab(t, server, "run", postgres.URI(proxy.Socket, "run"))
	c := l.open(t)
	lake := l.withDeletes(t, c)
	want := lake.Read(t, "t", "main").Positions
	proxy.CutNext(postgres.AfterApply)
	r, err := maintenance.Run(t.Context(), c, testlake.Ident("t"), migrate())
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.Equal(t, 1, r.Attempts)
	assert.Equal(t, 1, replaced(t, c))
	assert.Equal(t, want, lake.Read(t, "t", "main").Positions)
}
