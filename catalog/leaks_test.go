package catalog_test

import (
	"context"
	"testing"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/hive"
	"github.com/stretchr/testify/assert"
)

func TestACatalogThatIsClosedLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	labs := map[string]func(*testing.T) *lab{
		"SQLite": sqliteLab, "PostgreSQL": func(t *testing.T) *lab { return postgresLabs(t)(t) }, "MySQL": func(t *testing.T) *lab { return mysqlLabs()(t)(t) }, "REST": restLab,
		"Hive":                                 func(t *testing.T) *lab { return hiveLabs(hive.Version4)(t)(t) },
		"REST with credentials for each table": vendingLab, "SQLite with its tables on S3": mappedLab,
	}
	for name, start := range labs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := start(t)
			l.create(t, nil, "db", "t")
			testlake.LeavesNothingRunning(t, func(ctx context.Context) {
				c, err := catalog.Open(ctx, l.options)
				if !assert.NoError(t, err) {
					return
				}
				tbl, err := c.Load(ctx, []string{"db", "t"})
				assert.NoError(t, err)
				_, err = tbl.Store.ReadFile(ctx, tbl.MetadataLocation)
				assert.NoError(t, err)
				assert.NoError(t, commit(t, c, tbl, "main", 1))
				_, err = c.List(ctx, nil)
				assert.NoError(t, err)
				assert.NoError(t, c.Close())
			})
		})
	}
}

func TestACatalogThatCannotBeOpenedLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	l := restLab(t)
	testlake.LeavesNothingRunning(t, func(ctx context.Context) {
		for _, o := range []catalog.Options{
			{Type: "rest", URI: l.options.URI, Credential: "id:wrong"}, {Type: "sql", URI: "sqlite:///none"}, {Type: "sql", URI: "postgres:///none?host=" + t.TempDir()},
		} {
			_, err := catalog.Open(ctx, o)
			assert.Error(t, err)
		}
	})
}
