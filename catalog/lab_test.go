package catalog_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/dbproxy"
	"github.com/dvcompactor/dvcompactor/internal/testlake/hive"
	"github.com/dvcompactor/dvcompactor/internal/testlake/mariadb"
	"github.com/dvcompactor/dvcompactor/internal/testlake/moto"
	"github.com/dvcompactor/dvcompactor/internal/testlake/postgres"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

const catalogName = "lake"

// lab is an empty catalog of one kind and a folder for the files of its tables.
type lab struct {
	dir     string
	options catalog.Options
	put     func(t testing.TB, identifier []string, metadataLocation string)
	view    func(t testing.TB, identifier []string)
	drop    func(t testing.TB, identifier []string)

	db     *sql.DB        // the database of a SQL catalog, past any proxy
	dsn    string         // and its data source name
	server stopper        // of a catalog on a database server
	proxy  *dbproxy.Proxy // between the catalog and its server
	rest   *restcatalog.Server
	glue   *moto.Glue
	hive   *hive.Server
	flat   bool           // namespaces have one level
	names  [][]string     // odd ones, of a catalog that does not take all
	keys   *keyring       // of a lab whose tables are on S3
	remote *storage.Store // and a way to their files past the catalog
	root   string         // where they are, if not below remoteRoot
}

// stopper is a server that can be stopped and started again.
type stopper interface {
	Stop(t testing.TB)
	Resume(t testing.TB)
}

// open connects to the catalog. The connection is closed with the test.
func (l *lab) open(t testing.TB) catalog.Closer { return opener(l.options)(t) }

// kinds are the catalogs that the conformance suite runs on. A kind starts what it needs and returns a maker of labs.
var kinds = map[string]func(t *testing.T) func(t *testing.T) *lab{
	"sqlite":                      func(*testing.T) func(*testing.T) *lab { return sqliteLab },
	"sqlite without iceberg_type": func(*testing.T) func(*testing.T) *lab { return oldSQLiteLab },
	"postgres":                    postgresLabs,
	"mysql":                       mysqlLabs(),
	"mysql that neither commits by itself nor minds what it cuts off": mysqlLabs("--autocommit=0", "--sql-mode="),
	"glue":                  glueLabs,
	"hive 3, with locks":    hiveLabs(hive.Version3),
	"hive 4, without locks": unlockedHiveLabs(hive.Version4),
	"rest":                  func(*testing.T) func(*testing.T) *lab { return restLab },
}

const (
	createTables = `CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL,
		table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000),
		PRIMARY KEY (catalog_name, table_namespace, table_name))`
	addType = `ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)`
)

func sqliteLab(t *testing.T) *lab {
	dir := t.TempDir()
	uri, err := lakewriter.CreateLake(t.Context(), dir, catalogName)
	require.NoError(t, err)
	return sqlLab(t, dir, uri, "sqlite", "file:"+filepath.Join(dir, "catalog.db"), true)
}

// oldSQLiteLab is a catalog as it was before views: version V0 of the schema.
func oldSQLiteLab(t *testing.T) *lab {
	dir := t.TempDir()
	dsn := "file:" + filepath.Join(dir, "catalog.db")
	db := database(t, "sqlite", dsn)
	execute(t, db, createTables)
	return sqlLab(t, dir, "sqlite://"+filepath.Join(dir, "catalog.db"), "sqlite", dsn, false)
}

func postgresLabs(t *testing.T) func(*testing.T) *lab {
	server := postgres.Start(t)
	var n atomic.Int32
	return func(t *testing.T) *lab {
		return postgresLab(t, server, fmt.Sprintf("lab%d", n.Add(1)))
	}
}

// postgresLab makes a database. Catalogs connect through a proxy.
func postgresLab(t *testing.T, server *postgres.Server, name string) *lab {
	execute(t, database(t, "pgx", postgres.URI(server.Socket, "postgres")), "CREATE DATABASE "+name)
	direct := postgres.URI(server.Socket, name)
	execute(t, database(t, "pgx", direct), createTables, addType)
	proxy := server.NewProxy(t)
	l := sqlLab(t, t.TempDir(), postgres.URI(proxy.Folder, name), "pgx", direct, true)
	l.server, l.proxy = server, proxy
	return l
}

// mysqlLabs starts a server with more options.
func mysqlLabs(options ...string) func(*testing.T) func(*testing.T) *lab {
	return func(t *testing.T) func(*testing.T) *lab {
		server := mariadb.Start(t, options...)
		var n atomic.Int32
		return func(t *testing.T) *lab { return mysqlLab(t, server, fmt.Sprintf("lab%d", n.Add(1))) }
	}
}

// mysqlLab makes a database. Catalogs connect through a proxy.
func mysqlLab(t *testing.T, server *mariadb.Server, name string) *lab {
	execute(t, database(t, "mysql", mariadb.DSN(server.Socket, "")), "CREATE DATABASE "+name+" CHARACTER SET utf8mb4")
	direct := mariadb.DSN(server.Socket, name)
	execute(t, database(t, "mysql", direct), createTables, addType)
	proxy, socket := server.NewProxy(t)
	l := sqlLab(t, t.TempDir(), mariadb.URI(socket, name), "mysql", direct, true)
	l.server, l.proxy = server, proxy
	return l
}

// sqlLab puts tables into a SQL catalog with statements of its own.
func sqlLab(t *testing.T, dir, uri, driver, dsn string, typed bool) *lab {
	db := database(t, driver, dsn)
	insert := func(t testing.TB, identifier []string, location any, kind string) {
		namespace, name := strings.Join(identifier[:len(identifier)-1], "."), identifier[len(identifier)-1]
		execute(t, db, fmt.Sprintf("INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location) VALUES (%s, %s, %s, %s)",
			quote(catalogName), quote(namespace), quote(name), location))
		if typed {
			execute(t, db, fmt.Sprintf("UPDATE iceberg_tables SET iceberg_type = %s WHERE table_namespace = %s AND table_name = %s", quote(kind), quote(namespace), quote(name)))
		}
	}
	l := &lab{
		dir: dir, db: db, dsn: dsn,
		options: catalog.Options{Name: catalogName, Type: "sql", URI: uri},
		put: func(t testing.TB, identifier []string, location string) {
			insert(t, identifier, quote(location), "TABLE")
		},
		drop: func(t testing.TB, identifier []string) {
			execute(t, db, "DELETE FROM iceberg_tables WHERE table_name = "+quote(identifier[len(identifier)-1]))
		},
	}
	if typed {
		l.view = func(t testing.TB, identifier []string) { insert(t, identifier, quote("file:///view.json"), "VIEW") }
	}
	return l
}

func restLab(t *testing.T) *lab {
	l, _ := faultyREST(t, catalog.Options{})
	return l
}

// attempts is how often a request to load or to list is sent at most.
const attempts = 3

// faultyREST is a REST catalog that asks for a token, with small pages and a prefix.
func faultyREST(t *testing.T, o catalog.Options) (*lab, *restcatalog.Server) {
	s := restcatalog.New(t, restcatalog.Options{Prefix: "some/prefix", Credential: "id:secret", PageSize: 2})
	o.Name, o.Type, o.URI, o.Credential, o.Warehouse = catalogName, "rest", s.URL, "id:secret", "wh"
	o.Retry = storage.RetryOptions{Attempts: attempts, BaseDelay: time.Millisecond}
	return &lab{
		dir: t.TempDir(), options: o, rest: s,
		put:  s.Put,
		view: func(_ testing.TB, identifier []string) { s.PutView(identifier) },
		drop: func(_ testing.TB, identifier []string) { s.Drop(identifier) },
	}, s
}

func opener(o catalog.Options) func(testing.TB) catalog.Closer {
	return func(t testing.TB) catalog.Closer {
		c, err := catalog.Open(t.Context(), o)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		return c
	}
}

func database(t testing.TB, driver, dsn string) *sql.DB {
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	db.SetMaxIdleConns(0) // so that no connection breaks when a server stops
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func execute(t testing.TB, db *sql.DB, statements ...string) {
	for _, s := range statements {
		_, err := db.ExecContext(context.Background(), s)
		require.NoError(t, err, s)
	}
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// create makes an empty table whose files are below the lab's folder, or on S3.
func (l *lab) create(t testing.TB, properties map[string]string, identifier ...string) {
	l.write(t, testlake.NewMetadata(t, l.location(identifier), properties), "00000-"+uuid.NewString()+".metadata.json", identifier...)
}

// location is where a table is.
func (l *lab) location(identifier []string) string {
	if l.remote != nil {
		return cmp.Or(l.root, remoteRoot) + "/" + strings.Join(identifier, "/")
	}
	return "file://" + filepath.Join(l.dir, filepath.Join(identifier...))
}

const remoteRoot = "s3://lake/wh"

// write makes a table of a metadata file.
func (l *lab) write(t testing.TB, metadata []byte, name string, identifier ...string) {
	location := l.location(identifier) + "/metadata/" + name
	if l.remote != nil {
		require.NoError(t, l.remote.WriteFile(t.Context(), location, metadata))
	} else {
		path := strings.TrimPrefix(location, "file://")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, metadata, 0o644))
	}
	l.put(t, identifier, location)
}

// metadataFiles counts the metadata files of all tables.
func (l *lab) metadataFiles(t testing.TB) int {
	n := 0
	count := func(path string) {
		if strings.HasSuffix(path, ".metadata.json") {
			n++
		}
	}
	if l.remote != nil {
		for object, err := range l.remote.List(t.Context(), remoteRoot) {
			require.NoError(t, err)
			count(object.Location)
		}
		return n
	}
	require.NoError(t, filepath.WalkDir(l.dir, func(path string, _ fs.DirEntry, err error) error {
		count(path)
		return err
	}))
	return n
}

func load(t testing.TB, c catalog.Catalog, identifier ...string) *catalog.Table {
	tbl, err := c.Load(t.Context(), identifier)
	require.NoError(t, err)
	return tbl
}

// addSnapshot makes a commit of a snapshot, which refers to a manifest list that does not exist, on top of a branch.
func addSnapshot(tbl *catalog.Table, ref string, id int64) ([]table.Requirement, []table.Update) {
	schema := tbl.Metadata.CurrentSchema().ID
	snap := &table.Snapshot{
		SnapshotID: id, SequenceNumber: tbl.Metadata.LastSequenceNumber() + 1, TimestampMs: time.Now().UnixMilli(),
		ManifestList: tbl.Metadata.Location() + "/metadata/none.avro", SchemaID: &schema,
		Summary: &table.Summary{Operation: table.OpAppend},
	}
	var head *int64
	if parent := tbl.Metadata.SnapshotByName(ref); parent != nil {
		head = &parent.SnapshotID
		snap.ParentSnapshotID = head
	}
	return []table.Requirement{table.AssertTableUUID(tbl.Metadata.TableUUID()), table.AssertRefSnapshotID(ref, head)},
		[]table.Update{table.NewAddSnapshotUpdate(snap), table.NewSetSnapshotRefUpdate(ref, id, table.BranchRef, 0, 0, 0)}
}

// commit commits a snapshot as addSnapshot makes it.
func commit(t testing.TB, c catalog.Catalog, tbl *catalog.Table, ref string, id int64) error {
	requirements, updates := addSnapshot(tbl, ref, id)
	return c.Commit(t.Context(), tbl, requirements, updates)
}
