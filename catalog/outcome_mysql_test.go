package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
)

// mysqlWaiting are the sessions with the database of a lab that are at the statement. What InnoDB tells of its locks is
// some time old when it is asked often.
const mysqlWaiting = "information_schema.processlist p WHERE p.db = DATABASE() AND p.command = 'Execute' AND p.info LIKE 'UPDATE iceberg_tables%'"

// mysqlRowLocked lets another transaction hold the row of the table. The server goes on with a statement whose client is
// gone, so those that still wait in the end are given up before the lock is.
func mysqlRowLocked(t *testing.T, l *lab, _ catalog.Catalog, _ *catalog.Table) {
	tx := begin(t, l.db, "SELECT * FROM iceberg_tables FOR UPDATE")
	t.Cleanup(func() {
		for n := 1; n > 0; {
			require.NoError(t, killMySQL(context.Background(), l))
			require.NoError(t, l.db.QueryRow("SELECT count(*) FROM "+mysqlWaiting).Scan(&n))
		}
		require.NoError(t, tx.Rollback())
	})
}

// mysqlKilled ends the session whose statement waits for the row of the table.
func mysqlKilled(t *testing.T, l *lab, _ catalog.Catalog, _ *catalog.Table) {
	tx := begin(t, l.db, "SELECT * FROM iceberg_tables FOR UPDATE")
	t.Cleanup(func() { require.NoError(t, tx.Rollback()) })
	whenSomebodyWaits(t, l.db, mysqlWaiting, func(ctx context.Context) error { return killMySQL(ctx, l) })
}

const noSuchThread = 1094

// killMySQL ends the sessions that wait.
func killMySQL(ctx context.Context, l *lab) error {
	rows, err := l.db.QueryContext(ctx, "SELECT p.id FROM "+mysqlWaiting)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		var gone *mysql.MySQLError
		if _, err := l.db.ExecContext(ctx, fmt.Sprint("KILL CONNECTION ", id)); err != nil && !(errors.As(err, &gone) && gone.Number == noSuchThread) {
			return err
		}
	}
	return rows.Err()
}

// mysqlTrigger lets the server answer the statement with an error of this number.
func mysqlTrigger(number int) arrangement {
	return func(t *testing.T, l *lab, _ catalog.Catalog, _ *catalog.Table) {
		execute(t, l.db, fmt.Sprintf("CREATE TRIGGER no BEFORE UPDATE ON iceberg_tables FOR EACH ROW SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = 'not today'", number))
	}
}
