// Command broken makes a lake whose table is broken by commits that iceberg-go lets through: a data file gets a second live
// deletion vector (apache/iceberg-go#1868). interop/repair lets other engines read it before and after a repair.
//
//	broken DIR
//
// DIR gets catalog.db, the files of s3://lake/ and damage.json with the positions that were deleted. It must not hold a lake.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/apache/iceberg-go"
	icebergcatalog "github.com/apache/iceberg-go/catalog"
	icebergsql "github.com/apache/iceberg-go/catalog/sql"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"

	_ "modernc.org/sqlite" // database/sql driver "sqlite"
)

// prefix is where the readers look for the files of the lake's folder.
const prefix = "s3://lake/"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: broken DIR")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "broken:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) error {
	if _, err := lakewriter.CreateLake(ctx, dir, "lake"); err != nil {
		return err
	}
	iceio.Unregister("s3") // the real one came with an import
	iceio.Register("s3", func(context.Context, *url.URL, map[string]string) (iceio.IO, error) { return folder{dir: dir}, nil })
	t, closeCatalog, err := create(ctx, dir)
	if err != nil {
		return err
	}
	damage, err := twoVectors(ctx, t)
	if err := errors.Join(err, closeCatalog()); err != nil {
		return err
	}
	data, err := json.Marshal(damage)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "damage.json"), data, 0o644)
}

// create makes the table through iceberg-go's own catalog, so that nothing between it and the files is ours.
func create(ctx context.Context, dir string) (t *table.Table, closeCatalog func() error, err error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "catalog.db"))
	if err != nil {
		return nil, nil, err
	}
	c, err := icebergsql.NewCatalog("lake", db, icebergsql.SQLite, nil)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	closeCatalog = func() error { return errors.Join(c.Close(), db.Close()) }
	t, err = c.CreateTable(ctx, table.Identifier{"db", "t"}, lakewriter.Schema(),
		icebergcatalog.WithLocation(prefix+"t"), icebergcatalog.WithProperties(iceberg.Properties{"format-version": "3"}))
	if err != nil {
		return nil, nil, errors.Join(err, closeCatalog())
	}
	return t, closeCatalog, nil
}

// damage is what interop/repair reads of a broken table.
type damage struct {
	Issue    string             `json:"issue"`
	Repair   string             `json:"repair"`
	Note     string             `json:"note"`
	DataFile string             `json:"data_file"`
	Right    map[string][]int64 `json:"right"`
}

// twoVectors adds two data files and then, one commit after the other, two deletion vectors of the first.
func twoVectors(ctx context.Context, t *table.Table) (*damage, error) {
	var err error
	for first := int64(0); first < 200; first += 100 {
		if t, err = lakewriter.Append(ctx, t, 1, first, 100); err != nil {
			return nil, err
		}
	}
	files, err := lakewriter.DataFiles(ctx, t, "main")
	if err != nil {
		return nil, err
	}
	for _, positions := range [][]int64{{1, 2, 40}, {3, 40, 99}} {
		if t, err = addVector(ctx, t, files[0], positions); err != nil {
			return nil, err
		}
	}
	broken := files[0].FilePath()
	return &damage{Issue: "dv-duplicate", Repair: "fix", Note: "a second vector beside the first (apache/iceberg-go#1868)", DataFile: broken,
		Right: map[string][]int64{broken: {1, 2, 3, 40, 99}, files[1].FilePath(): {}}}, nil
}

func addVector(ctx context.Context, t *table.Table, f iceberg.DataFile, positions []int64) (*table.Table, error) {
	add, err := lakewriter.DeletionVectors(ctx, t, map[string][]int64{f.FilePath(): positions}, f)
	if err != nil {
		return nil, err
	}
	return lakewriter.Delta(ctx, t, "main", add, nil)
}
