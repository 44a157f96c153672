package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/storage"

	_ "github.com/jackc/pgx/v5/stdlib" // database/sql driver "pgx"
	_ "modernc.org/sqlite"             // database/sql driver "sqlite"
)

// sqlCatalog speaks the iceberg_tables schema that Java's JdbcCatalog and PyIceberg's SqlCatalog share. The table's
// current metadata is whatever metadata_location names; a commit is one UPDATE conditional on the old location.
//
// It is our own instead of iceberg-go's because that one finds its file IO by scheme in a registry of the whole
// process, writes local files without fsync, and does not tell a failure before the UPDATE from one in it.
type sqlCatalog struct {
	pointed
	db      *sql.DB
	dialect dialect
	typed   bool          // the schema has the column iceberg_type (version V1)
	timeout time.Duration // of one statement
}

// dialect is what differs between databases.
type dialect struct {
	open   func(timeout time.Duration) (*sql.DB, error)
	remote bool                                        // there is a server, which may end a connection before we do
	number bool                                        // placeholders are $1, $2, ... instead of ?
	probe  func(ctx context.Context, db *sql.DB) error // refuses a database that cannot keep what a commit promises; may be nil
}

func openSQL(ctx context.Context, o Options) (Closer, error) {
	d, err := parseSQL(o.URI)
	if err != nil {
		return nil, fmt.Errorf("catalog %s: %w", o.Name, err)
	}
	timeout := cmp.Or(o.Timeout, defaultTimeout)
	db, err := d.open(timeout)
	if err != nil {
		return nil, fmt.Errorf("catalog %s: %w", o.Name, err)
	}
	store, err := storage.Open(ctx, storage.Options{Mounts: o.Mounts, Properties: o.Properties, Retry: o.Retry, Observe: o.Observe})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	c := &sqlCatalog{pointed: pointed{name: o.Name, store: store}, db: db, dialect: d, timeout: timeout}
	c.pointers = &sqlPointers{c}
	if err := c.patiently(ctx, c.probe); err != nil {
		return nil, errors.Join(fmt.Errorf("catalog %s: %w", o.Name, err), c.Close())
	}
	return c, nil
}

// parseSQL tells the database by the scheme of a catalog uri.
func parseSQL(uri string) (dialect, error) {
	scheme, _, _ := strings.Cut(uri, ":")
	switch scheme {
	case "sqlite":
		path := strings.TrimPrefix(strings.TrimPrefix(uri, "sqlite:"), "//")
		if !strings.HasPrefix(path, "/") {
			return dialect{}, errors.New("uri: want sqlite:///ABSOLUTE/PATH")
		}
		// EXTRA syncs the folder after the journal is removed: a journal that comes back after a power cut undoes the commit.
		dsn := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: "mode=rw&_pragma=busy_timeout(0)&_pragma=synchronous(EXTRA)"}
		return dialect{open: func(time.Duration) (*sql.DB, error) { return sql.Open("sqlite", dsn.String()) }}, nil
	case "postgres", "postgresql":
		return dialect{remote: true, number: true, open: func(time.Duration) (*sql.DB, error) { return sql.Open("pgx", uri) }}, nil
	case "mysql", "mariadb":
		return dialect{remote: true, probe: probeMySQL, open: func(timeout time.Duration) (*sql.DB, error) { return openMySQL(uri, timeout) }}, nil
	}
	return dialect{}, fmt.Errorf("uri: %q is not a database this program speaks: want sqlite:///ABSOLUTE/PATH, postgres:// or mysql://", scheme)
}

// probe finds out whether the catalog's table is there and which version of the schema it has.
func (c *sqlCatalog) probe(ctx context.Context) error {
	rows, err := c.db.QueryContext(ctx, "SELECT * FROM iceberg_tables WHERE 1 = 0")
	if err != nil {
		return fmt.Errorf("no catalog in this database (table iceberg_tables): %w", err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	c.typed = slices.ContainsFunc(columns, func(name string) bool { return strings.EqualFold(name, "iceberg_type") })
	if err := rows.Err(); err != nil || c.dialect.probe == nil {
		return err
	}
	return c.dialect.probe(ctx, c.db)
}

// Commits implements [Closer].
func (c *sqlCatalog) Commits() string { return "UPDATE ... WHERE metadata_location is as it was read" }

// Close ends the connections.
func (c *sqlCatalog) Close() error {
	err := c.db.Close()
	if c.dialect.remote {
		err = nil // that the server was not there to be told changes nothing
	}
	return errors.Join(err, c.store.Close())
}

// where is the condition that selects tables; views share the database table since V1.
func (c *sqlCatalog) where() string {
	if c.typed {
		return " FROM iceberg_tables WHERE catalog_name = ? AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)"
	}
	return " FROM iceberg_tables WHERE catalog_name = ?"
}

// bind writes the placeholders the way the database wants them.
func (c *sqlCatalog) bind(query string) string {
	if !c.dialect.number {
		return query
	}
	var b strings.Builder
	n := 0
	for _, r := range query {
		if r == '?' {
			n++
			fmt.Fprintf(&b, "$%d", n)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// sqlPointers are the rows of the table.
type sqlPointers struct{ *sqlCatalog }

// read reads the location of the current metadata.
func (c *sqlPointers) read(ctx context.Context, identifier []string) (pointer, error) {
	var location sql.NullString
	namespace, name := split(identifier)
	want, got := [3]string{c.name, namespace, name}, [3]string{}
	query := c.bind("SELECT catalog_name, table_namespace, table_name, metadata_location" + c.where() + " AND table_namespace = ? AND table_name = ?")
	err := c.patiently(ctx, func(ctx context.Context) error {
		return c.db.QueryRowContext(ctx, query, c.name, namespace, name).Scan(&got[0], &got[1], &got[2], &location)
	})
	if errors.Is(err, sql.ErrNoRows) || err == nil && got != want { // MySQL compares names without regard to case and accents
		err = ErrNotFound
	}
	return pointer{identifier: identifier, location: location.String}, err
}

func split(identifier []string) (namespace, name string) {
	n := len(identifier) - 1
	return strings.Join(identifier[:n], "."), identifier[n]
}

// List returns the tables of the catalog.
func (c *sqlCatalog) List(ctx context.Context, namespace []string) (out [][]string, err error) {
	err = c.patiently(ctx, func(ctx context.Context) error {
		out, err = c.list(ctx, strings.Join(namespace, "."))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing catalog %s: %w", c.name, err)
	}
	return out, nil
}

func (c *sqlCatalog) list(ctx context.Context, prefix string) ([][]string, error) {
	rows, err := c.db.QueryContext(ctx, c.bind("SELECT catalog_name, table_namespace, table_name"+c.where()+" ORDER BY table_namespace, table_name"), c.name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out [][]string
	for rows.Next() {
		var catalog, ns, name string
		if err := rows.Scan(&catalog, &ns, &name); err != nil {
			return nil, err
		}
		if catalog != c.name { // see pointer
			continue
		}
		if prefix == "" || ns == prefix || strings.HasPrefix(ns, prefix+".") {
			out = append(out, append(strings.Split(ns, "."), name))
		}
	}
	return out, rows.Err()
}
