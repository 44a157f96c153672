package testlake

import (
	"database/sql"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/stretchr/testify/require"
)

// CatalogName is the name that the lakes' catalogs know themselves by.
const CatalogName = "lake"

// Lake is a writable copy of a lake.
type Lake struct {
	Dir      string // holds catalog.db; locations with Prefix are below it
	Prefix   string
	Catalog  catalog.Closer
	Expected map[string]ExpectedTable // by table name, from expected.json
}

// ExpectedTable is what the Java reference reads in a table.
type ExpectedTable struct {
	FormatVersion int                      `json:"format_version"`
	Refs          map[string]ExpectedState `json:"refs"`
}

// ExpectedState is what the Java reference reads at one branch or tag.
type ExpectedState struct {
	SnapshotID          int64              `json:"snapshot_id"`
	Tag                 bool               `json:"tag"`
	PositionDeleteFiles int                `json:"position_delete_files"`
	EqualityDeleteFiles int                `json:"equality_delete_files"`
	DeletionVectors     int                `json:"deletion_vectors"`
	DataFiles           []ExpectedDataFile `json:"data_files"`
}

// ExpectedDataFile is a live data file and its deleted positions as inclusive ranges.
type ExpectedDataFile struct {
	Path          string     `json:"path"`
	RecordCount   int64      `json:"record_count"`
	Seq           int64      `json:"data_sequence_number"`
	FirstRowID    *int64     `json:"first_row_id"`
	Deleted       int64      `json:"deleted"`
	DeletedRanges [][2]int64 `json:"deleted_ranges"`
}

// Root returns the root folder of the repository.
func Root(t testing.TB) string {
	_, file, _, ok := runtime.Caller(0)
	require.True(t, ok)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// Fixtures lists the names of the lakes in testdata/fixtures.
func Fixtures(t testing.TB) []string {
	entries, err := os.ReadDir(filepath.Join(Root(t), "testdata", "fixtures"))
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	require.NotEmpty(t, out)
	return out
}

// Copy makes a writable copy of a fixture and opens its catalog.
func Copy(t testing.TB, fixture string) *Lake {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(Root(t), "testdata", "fixtures", fixture))))
	l := Open(t, dir)
	data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &l.Expected))
	return l
}

// Open opens the catalog of a lake folder, which s3://lake/ stands for, for the time of a test.
func Open(t testing.TB, dir string) *Lake { return open(t, dir, "s3://lake/") }

func open(t testing.TB, dir, prefix string) *Lake {
	c, err := catalog.Open(t.Context(), catalog.Options{
		Name: CatalogName, Type: "sql", URI: "sqlite://" + filepath.Join(dir, "catalog.db"),
		Mounts: []storage.Mount{{Prefix: prefix, URL: "file://" + dir}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return &Lake{Dir: dir, Prefix: prefix, Catalog: c}
}

// Ident returns the identifier of a table of the lake.
func Ident(name string) []string { return []string{"db", name} }

// Register makes a catalog in a folder of table files whose locations begin with prefix, and puts a table "t" into it
// whose current metadata file is at metadata, a location.
func Register(t testing.TB, dir, prefix, metadata string) *Lake {
	_, err := lakewriter.CreateLake(t.Context(), dir, CatalogName)
	require.NoError(t, err)
	db, err := sql.Open("sqlite", filepath.Join(dir, "catalog.db"))
	require.NoError(t, err)
	_, err = db.Exec("INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, iceberg_type) VALUES (?, 'db', 't', ?, 'TABLE')", CatalogName, metadata)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return open(t, dir, prefix)
}

// Files lists every file of the lake but the catalog's and table metadata files, sorted.
func (l *Lake) Files(t testing.TB) []string {
	var out []string
	require.NoError(t, filepath.WalkDir(l.Dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(d.Name(), "catalog.db") && !strings.HasSuffix(path, ".metadata.json") {
			out = append(out, path)
		}
		return err
	}))
	return out
}

// Remove removes the file behind a location.
func (l *Lake) Remove(location string) error { return os.Remove(l.local(location)) }

// Flip inverts one byte of the file behind a location.
func (l *Lake) Flip(t testing.TB, location string, offset int64) {
	data, err := os.ReadFile(l.local(location))
	require.NoError(t, err)
	data[offset] ^= 0xff
	require.NoError(t, os.WriteFile(l.local(location), data, 0o644))
}

// IO opens the lake's locations without the program's own storage.
func (l *Lake) IO() iceio.IO { return localIO{l} }

// Load loads a table.
func (l *Lake) Load(t testing.TB, name string) *catalog.Table {
	tbl, err := l.Catalog.Load(t.Context(), Ident(name))
	require.NoError(t, err)
	return tbl
}
