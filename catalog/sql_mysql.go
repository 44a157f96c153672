package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// openMySQL makes the connections to a MySQL or MariaDB database: mysql://USER:PASSWORD@HOST:PORT/DATABASE?PARAMETERS,
// with the parameters of github.com/go-sql-driver/mysql, the variables of the server, and socket for a Unix socket in
// place of the host.
func openMySQL(uri string, timeout time.Duration) (*sql.DB, error) {
	c, err := mysqlConfig(uri, timeout)
	if err != nil {
		return nil, fmt.Errorf("uri: %w", err)
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("uri: %w", err)
	}
	return sql.OpenDB(connector), nil
}

func mysqlConfig(uri string, timeout time.Duration) (*mysql.Config, error) {
	u, err := url.Parse(uri)
	if err != nil { // its text has the password in it
		return nil, errors.New("want mysql://USER:PASSWORD@HOST:PORT/DATABASE with special characters escaped, as %40 for @")
	}
	query := u.Query()
	address := "tcp(" + u.Host + ")"
	if u.Port() == "" {
		address = "tcp(" + u.Host + ":3306)"
	}
	if socket := query.Get("socket"); socket != "" {
		address = "unix(" + socket + ")"
	}
	query.Del("socket")
	c, err := mysql.ParseDSN(address + "/?" + query.Encode())
	if err != nil {
		return nil, err
	}
	c.DBName, c.User = strings.TrimPrefix(u.Path, "/"), u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.Logger = &mysql.NopLogger{}
	c.Params = mysqlVariables(c.Params, timeout)
	return c, nil
}

// mysqlVariables are what a session needs on top of what is configured. A server may be set up to leave the end of a
// transaction to the client, and to cut a text that is longer than its column; and it goes on with a statement that
// waits for a lock after its client is gone, so the wait has to end first.
func mysqlVariables(configured map[string]string, timeout time.Duration) map[string]string {
	wait := max(1, int(timeout/(2*time.Second)))
	out := map[string]string{"innodb_lock_wait_timeout": strconv.Itoa(wait)}
	maps.Copy(out, configured)
	out["autocommit"], out["sql_mode"] = "1", "'STRICT_ALL_TABLES'"
	return out
}

// probeMySQL refuses a storage engine that has no transactions: there a statement that fails may have been done.
func probeMySQL(ctx context.Context, db *sql.DB) error {
	const query = `SELECT t.engine, e.transactions FROM information_schema.tables t LEFT JOIN information_schema.engines e ON e.engine = t.engine
		WHERE t.table_schema = DATABASE() AND t.table_name = 'iceberg_tables'`
	var engine, transactions sql.NullString
	if err := db.QueryRowContext(ctx, query).Scan(&engine, &transactions); err != nil {
		return fmt.Errorf("the storage engine of iceberg_tables: %w", err)
	}
	if transactions.String != "YES" {
		return fmt.Errorf("iceberg_tables is a table of the engine %s, which has no transactions, so that a commit could be lost or done in part: "+
			"make it one of InnoDB", cmp.Or(engine.String, "unknown"))
	}
	return nil
}

// mysqlOutcome knows that an error which the server reports for a statement undoes it, but for those that end the
// session or come while it is made durable.
func mysqlOutcome(err *mysql.MySQLError) error {
	switch err.Number {
	case 1205, 1213, // lock wait timeout, deadlock
		1020,             // the row changed since it was read (snapshot isolation of MariaDB)
		1969, 3024, 1317, // the statement took longer than allowed, or was ended by KILL QUERY
		1040, 1203, 1226, 1047, // no connection for now; a node of a cluster that is not ready
		3101: // group replication lost the race
		return ErrConflict
	case 1053, 1079, 1927, // the server or the session ends
		1180, 1030, 1105, 3100: // an error in COMMIT, of the storage engine, of no kind, of a replication hook
		return ErrUnknown
	}
	return ErrRefused
}
