package catalog

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// cleanUp bounds the removal of a metadata file that nothing refers to. It is not bounded by the context of the commit.
const cleanUp = 30 * time.Second

// Commit writes the new metadata file and swings the pointer to it.
func (c *sqlCatalog) Commit(ctx context.Context, t *Table, requirements []table.Requirement, updates []table.Update) error {
	location, outcome, err := c.commit(ctx, t, requirements, updates)
	if err == nil {
		return nil
	}
	if location != "" && outcome != ErrUnknown {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
		defer cancel()
		err = errors.Join(err, c.store.Remove(ctx, location))
	}
	return &CommitError{Outcome: outcome, Table: t.Name(), Err: err}
}

// commit returns, when it fails, the outcome and the metadata file that it may have written, "" for none.
func (c *sqlCatalog) commit(ctx context.Context, t *Table, requirements []table.Requirement, updates []table.Update) (location string, outcome, err error) {
	current, raw, err := c.load(ctx, t.Identifier)
	if err != nil {
		return "", untouched(err), err
	}
	if err := c.check(t, current, requirements); err != nil {
		return "", ErrConflict, err
	}
	if location, err = writeMetadata(ctx, current, raw, updates); err != nil {
		return location, untouched(err), err
	}
	n, err := c.swing(ctx, t.Identifier, current.MetadataLocation, location)
	switch {
	case err != nil:
		return location, sqlOutcome(err), err
	case n != 1:
		return location, ErrConflict, errors.New("another writer moved metadata_location")
	}
	return location, nil, nil
}

// untouched classifies a failure before the statement that changes the pointer. A database or a store that does not
// answer may do so later.
func untouched(err error) error {
	var object *storage.Error
	var pg *pgconn.PgError
	var my *mysql.MySQLError
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrFormatVersion), errors.Is(err, context.Canceled):
		return ErrRefused
	case errors.As(err, &object):
		if storage.Transient(err) {
			return ErrConflict
		}
		return ErrRefused
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

// check compares the table with the one the updates were made for. Metadata that changed makes them stale even when
// every requirement holds: a commit to another branch, for instance, takes the sequence number of a new snapshot.
func (c *sqlCatalog) check(t, current *Table, requirements []table.Requirement) error {
	for _, r := range requirements {
		if err := r.Validate(current.Metadata); err != nil {
			return err
		}
	}
	if t.MetadataLocation != current.MetadataLocation {
		return fmt.Errorf("the table changed: its metadata is %s, was %s", current.MetadataLocation, t.MetadataLocation)
	}
	return nil
}

// swing makes the pointer name another file unless somebody else did, and returns the number of rows that changed.
func (c *sqlCatalog) swing(ctx context.Context, identifier []string, from, to string) (n int64, err error) {
	namespace, name := split(identifier)
	query := c.bind("UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ? WHERE catalog_name = ? AND table_namespace = ? AND table_name = ? AND metadata_location = ?")
	err = c.patiently(ctx, func(ctx context.Context) error {
		res, err := c.db.ExecContext(ctx, query, to, from, c.name, namespace, name, from)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	return n, err
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
