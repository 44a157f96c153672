package lakewriter

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/apache/iceberg-go"
	icebergcatalog "github.com/apache/iceberg-go/catalog"
	icebergsql "github.com/apache/iceberg-go/catalog/sql"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"

	_ "modernc.org/sqlite" // database/sql driver "sqlite"
)

// Schema is that of every table made here: a row id, a region and a text.
func Schema() *iceberg.Schema {
	return iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64, Required: true},
		iceberg.NestedField{ID: 2, Name: "region", Type: iceberg.PrimitiveTypes.Int32, Required: true},
		iceberg.NestedField{ID: 3, Name: "note", Type: iceberg.PrimitiveTypes.String},
	)
}

// ByRegion is a partition spec: identity of region.
func ByRegion() *iceberg.PartitionSpec {
	s := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1000, Name: "region", Transform: iceberg.IdentityTransform{}})
	return &s
}

// CreateLake makes a folder with an empty SQLite catalog of the given name, catalog.db, and returns its uri. It is an
// error when there is one.
func CreateLake(ctx context.Context, dir, name string) (uri string, err error) {
	path := filepath.Join(dir, "catalog.db")
	if _, err := os.Stat(path); err == nil {
		return "", fmt.Errorf("%s: %w", path, os.ErrExist)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	err = withCatalog(dir, name, func(c *icebergsql.Catalog) error {
		return c.CreateNamespace(ctx, table.Identifier{"db"}, nil)
	})
	return "sqlite://" + path, err
}

// CreateTable makes table db.NAME in the lake of a folder; its files go below the folder of its name. A nil spec is the
// unpartitioned one.
func CreateTable(ctx context.Context, dir, catalogName, name string, version int, spec *iceberg.PartitionSpec) error {
	return withCatalog(dir, catalogName, func(c *icebergsql.Catalog) error {
		opts := []icebergcatalog.CreateTableOpt{
			icebergcatalog.WithLocation("file://" + filepath.Join(dir, name)),
			icebergcatalog.WithProperties(iceberg.Properties{"format-version": fmt.Sprint(version)}),
		}
		if spec != nil {
			opts = append(opts, icebergcatalog.WithPartitionSpec(spec))
		}
		_, err := c.CreateTable(ctx, table.Identifier{"db", name}, Schema(), opts...)
		return err
	})
}

func withCatalog(dir, name string, f func(*icebergsql.Catalog) error) (err error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "catalog.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	c, err := icebergsql.NewCatalog(name, db, icebergsql.SQLite, iceberg.Properties{"init_catalog_tables": "true"})
	if err != nil {
		return err
	}
	return errors.Join(f(c), c.Close())
}

// Load loads a table through one of the program's catalogs as a table of iceberg-go, whose transactions commit through
// the same catalog.
func Load(ctx context.Context, c catalog.Catalog, identifier []string) (*table.Table, error) {
	return adapter{c}.LoadTable(ctx, identifier)
}

// adapter lets iceberg-go's transactions run on one of the program's catalogs and stores.
type adapter struct{ catalog.Catalog }

// LoadTable implements table.CatalogIO.
func (a adapter) LoadTable(ctx context.Context, identifier table.Identifier) (*table.Table, error) {
	t, err := a.Load(ctx, identifier)
	if err != nil {
		return nil, err
	}
	fs := func(ctx context.Context) (iceio.IO, error) { return t.Store.FileIO(ctx), nil }
	return table.New(identifier, t.Metadata, t.MetadataLocation, fs, a), nil
}

// CommitTable implements table.CatalogIO.
func (a adapter) CommitTable(ctx context.Context, identifier table.Identifier, requirements []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	t, err := a.Load(ctx, identifier)
	if err != nil {
		return nil, "", err
	}
	if err := a.Commit(ctx, t, requirements, updates); err != nil {
		return nil, "", err
	}
	if t, err = a.Load(ctx, identifier); err != nil {
		return nil, "", err
	}
	return t.Metadata, t.MetadataLocation, nil
}
