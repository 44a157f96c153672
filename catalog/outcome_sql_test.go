package catalog_test

import (
	"context"
	"database/sql"
	"net/url"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake/dbproxy"
	"github.com/stretchr/testify/require"
)

func nothing(*testing.T, *lab, catalog.Catalog, *catalog.Table) {}

// somebodyElse commits to a branch of the table.
func somebodyElse(ref string) arrangement {
	return func(t *testing.T, l *lab, _ catalog.Catalog, tbl *catalog.Table) {
		other := l.open(t)
		require.NoError(t, commit(t, other, load(t, other, tbl.Identifier...), ref, 2))
	}
}

func dropped(t *testing.T, l *lab, _ catalog.Catalog, tbl *catalog.Table) { l.drop(t, tbl.Identifier) }

func madeAnew(t *testing.T, l *lab, _ catalog.Catalog, tbl *catalog.Table) {
	l.drop(t, tbl.Identifier)
	l.create(t, nil, tbl.Identifier...)
}

func withParameter(uri, name, value string) string {
	return uri + "&" + name + "=" + url.PathEscape(value)
}

// sqliteHeld lets another connection hold the locks of a transaction that began like this.
func sqliteHeld(statements ...string) arrangement {
	return func(t *testing.T, l *lab, _ catalog.Catalog, _ *catalog.Table) {
		ctx := context.WithoutCancel(t.Context())
		conn, err := l.db.Conn(ctx)
		require.NoError(t, err)
		for _, s := range statements {
			_, err := conn.ExecContext(ctx, s)
			require.NoError(t, err)
		}
		t.Cleanup(func() {
			_, err := conn.ExecContext(ctx, "ROLLBACK")
			require.NoError(t, err)
			require.NoError(t, conn.Close())
		})
	}
}

func sqliteTrigger(t *testing.T, l *lab, _ catalog.Catalog, _ *catalog.Table) {
	execute(t, l.db, "CREATE TRIGGER no BEFORE UPDATE ON iceberg_tables BEGIN SELECT RAISE(ABORT, 'not today'); END")
}

func postgresTrigger(trigger string) arrangement {
	return func(t *testing.T, l *lab, _ catalog.Catalog, _ *catalog.Table) {
		execute(t, l.db, `CREATE FUNCTION no() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'not today'; END $$ LANGUAGE plpgsql`,
			"CREATE "+trigger+" FOR EACH ROW EXECUTE FUNCTION no()")
	}
}

// rowLocked lets another transaction hold the row of the table. Statements that still wait for it in the end are given up.
func rowLocked(t *testing.T, l *lab, _ catalog.Catalog, _ *catalog.Table) {
	tx := begin(t, l.db, "SELECT * FROM iceberg_tables FOR UPDATE")
	t.Cleanup(func() {
		_, err := l.db.ExecContext(context.Background(), "SELECT pg_terminate_backend(pid) FROM "+postgresWaiting)
		require.NoError(t, err)
		require.NoError(t, tx.Rollback())
	})
}

// rowChanged lets another transaction change the row of the table while the statement waits for it.
func rowChanged(t *testing.T, l *lab, _ catalog.Catalog, _ *catalog.Table) {
	tx := begin(t, l.db, "UPDATE iceberg_tables SET previous_metadata_location = 'elsewhere'")
	whenSomebodyWaits(t, l.db, postgresWaiting, func(context.Context) error { return tx.Commit() })
}

// backendTerminated ends the session whose statement waits for the row of the table.
func backendTerminated(t *testing.T, l *lab, _ catalog.Catalog, _ *catalog.Table) {
	tx := begin(t, l.db, "SELECT * FROM iceberg_tables FOR UPDATE")
	t.Cleanup(func() { require.NoError(t, tx.Rollback()) })
	whenSomebodyWaits(t, l.db, postgresWaiting, func(ctx context.Context) error {
		_, err := l.db.ExecContext(ctx, "SELECT pg_terminate_backend(pid) FROM "+postgresWaiting)
		return err
	})
}

const postgresWaiting = "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

func begin(t *testing.T, db *sql.DB, statement string) *sql.Tx {
	ctx := context.WithoutCancel(t.Context())
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(ctx, statement)
	require.NoError(t, err)
	return tx
}

// whenSomebodyWaits does something as soon as there are sessions that wait for a lock, which a query counts.
func whenSomebodyWaits(t *testing.T, db *sql.DB, waiting string, do func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() {
		for n := 0; n == 0; time.Sleep(time.Millisecond) {
			if err := db.QueryRowContext(ctx, "SELECT count(*) FROM "+waiting).Scan(&n); err != nil {
				done <- err
				return
			}
		}
		done <- do(ctx)
	}()
	t.Cleanup(func() {
		defer cancel()
		select {
		case err := <-done:
			require.NoError(t, err)
		case <-time.After(watchdog):
			t.Error("nobody waited for a lock")
		}
	})
}

func cutting(where dbproxy.Cut) arrangement {
	return func(_ *testing.T, l *lab, _ catalog.Catalog, _ *catalog.Table) { l.proxy.CutNext(where, dbproxy.Break) }
}

func proxyStopped(t *testing.T, l *lab, _ catalog.Catalog, _ *catalog.Table) {
	l.proxy.Stop(t)
	t.Cleanup(func() { l.proxy.Resume(t) })
}
