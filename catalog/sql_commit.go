package catalog

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// untouched classifies a failure of a statement that changes nothing. A database that does not answer may do so later.
func (c *sqlPointers) untouched(err error) error {
	var pg *pgconn.PgError
	var my *mysql.MySQLError
	switch {
	case errors.As(err, &pg):
		return notUnknown(postgresOutcome(pg))
	case errors.As(err, &my):
		return notUnknown(mysqlOutcome(my))
	case sqliteLocked(err), broken(err):
		return ErrConflict
	}
	return ErrRefused
}

// notUnknown is the outcome when a statement failed that changes nothing.
func notUnknown(outcome error) error {
	if outcome == ErrUnknown {
		return ErrConflict
	}
	return outcome
}

// broken says that there is no connection to the database, or none any more.
func broken(err error) bool {
	var network net.Error
	return errors.As(err, &network) || unconnected(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn)
}

// unconnected says that nothing was sent: there is no connection, or it was found broken before.
func unconnected(err error) bool {
	var postgres *pgconn.ConnectError
	var network *net.OpError
	return pgconn.SafeToRetry(err) || errors.As(err, &postgres) || errors.As(err, &network) && network.Op == "dial" || errors.Is(err, driver.ErrBadConn)
}

// swing makes the pointer name another file unless somebody else did.
func (c *sqlPointers) swing(ctx context.Context, from pointer, to written) (outcome, err error) {
	namespace, name := split(from.identifier)
	query := c.bind("UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ? WHERE catalog_name = ? AND table_namespace = ? AND table_name = ? AND metadata_location = ?")
	var n int64
	err = c.patiently(ctx, func(ctx context.Context) error {
		res, err := c.db.ExecContext(ctx, query, to.location, from.location, c.name, namespace, name, from.location)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	switch {
	case err != nil:
		return sqlOutcome(err), err
	case n != 1:
		return ErrConflict, errMoved
	}
	return nil, nil
}

// sqlOutcome classifies the failure of the one statement that changes the pointer. It is a transaction of its own, so
// that a database which reports an error of the statement has not done it; whatever else went wrong leaves that open.
func sqlOutcome(err error) error {
	var pg *pgconn.PgError
	var my *mysql.MySQLError
	var lite *sqlite.Error
	switch {
	case unconnected(err):
		return ErrConflict // nothing was sent
	case errors.As(err, &pg):
		return postgresOutcome(pg)
	case errors.As(err, &my):
		return mysqlOutcome(my)
	case errors.As(err, &lite):
		return sqliteOutcome(lite.Code() & 0xff)
	}
	return ErrUnknown
}

// postgresOutcome knows that ERROR aborts the statement; FATAL and PANIC end the connection, maybe after it.
func postgresOutcome(err *pgconn.PgError) error {
	switch err.Code {
	case "40001", "40P01", "55P03", "57014": // serialization failure, deadlock, lock not available, statement timeout
		return ErrConflict
	case "40003": // statement completion unknown
		return ErrUnknown
	}
	if err.SeverityUnlocalized == "ERROR" {
		return ErrRefused
	}
	return ErrUnknown
}

func sqliteOutcome(primary int) error {
	switch primary {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return ErrConflict
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return ErrRefused
	}
	return ErrUnknown
}
