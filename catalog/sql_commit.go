package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/iceberg-go/table"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Commit writes the new metadata file and swings the pointer to it.
func (c *sqlCatalog) Commit(ctx context.Context, t *Table, requirements []table.Requirement, updates []table.Update) error {
	fail := func(outcome, err error) error { return &CommitError{Outcome: outcome, Table: t.Name(), Err: err} }
	current, raw, err := c.load(ctx, t.Identifier)
	if err != nil {
		return fail(ErrRefused, err)
	}
	if err := c.check(t, current, requirements); err != nil {
		return fail(ErrConflict, err)
	}
	location, err := writeMetadata(ctx, current, raw, updates)
	if err != nil {
		return fail(ErrRefused, err)
	}
	n, err := c.swing(ctx, t.Identifier, current.MetadataLocation, location)
	outcome := ErrConflict
	switch {
	case err == nil && n == 1:
		return nil
	case err == nil:
		err = errors.New("another writer moved metadata_location")
	default:
		outcome = sqlOutcome(err)
	}
	if outcome != ErrUnknown {
		err = errors.Join(err, c.store.Remove(context.WithoutCancel(ctx), location))
	}
	return fail(outcome, err)
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
func (c *sqlCatalog) swing(ctx context.Context, identifier []string, from, to string) (int64, error) {
	namespace, name := split(identifier)
	res, err := c.db.ExecContext(ctx, c.bind("UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ? WHERE catalog_name = ? AND table_namespace = ? AND table_name = ? AND metadata_location = ?"),
		to, from, c.name, namespace, name, from)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// sqlOutcome classifies the failure of the one statement that changes the pointer. It is a transaction of its own, so
// that a database which reports an error of the statement has not done it; whatever else went wrong leaves that open.
func sqlOutcome(err error) error {
	var pg *pgconn.PgError
	var lite *sqlite.Error
	switch {
	case pgconn.SafeToRetry(err):
		return ErrConflict // nothing was sent
	case errors.As(err, &pg):
		return postgresOutcome(pg)
	case errors.As(err, &lite):
		return sqliteOutcome(lite.Code() & 0xff)
	}
	return ErrUnknown
}

// postgresOutcome knows that ERROR aborts the statement; FATAL and PANIC end the connection, maybe after it.
func postgresOutcome(err *pgconn.PgError) error {
	switch err.Code {
	case "40001", "40P01", "55P03": // serialization failure, deadlock, lock not available
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
