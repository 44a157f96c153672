package lake

import (
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseNameFindsTheCatalog(t *testing.T) {
	for _, c := range []struct {
		name, text string
		catalogs   []string
		catalog    string
		table      []string
		code       exit.Code
	}{
		{"catalog, namespace and table", "prod.sales.orders", []string{"prod", "test"}, "prod", []string{"sales", "orders"}, 0},
		{"nested namespace", "prod.eu.sales.orders", []string{"prod", "test"}, "prod", []string{"eu", "sales", "orders"}, 0},
		{"the only catalog left out", "sales.orders", []string{"prod"}, "prod", []string{"sales", "orders"}, 0},
		{"the only catalog left out of a nested name", "eu.sales.orders", []string{"prod"}, "prod", []string{"eu", "sales", "orders"}, 0},
		{"a namespace with the name of the only catalog", "prod.orders", []string{"prod"}, "prod", []string{"prod", "orders"}, 0},
		{"a glob for the catalog", "*.sales.orders", []string{"prod", "test"}, "*", []string{"sales", "orders"}, 0},
		{"a glob for the table", "prod.sales.*", []string{"prod", "test"}, "prod", []string{"sales", "*"}, 0},
		{"a glob for everything in the only catalog", "*.*", []string{"prod"}, "prod", []string{"*", "*"}, 0},
		{"catalog left out of several", "sales.orders", []string{"prod", "test"}, "", nil, exit.Usage},
		{"unknown catalog", "dev.sales.orders", []string{"prod", "test"}, "", nil, exit.NotFound},
		{"no namespace", "orders", []string{"prod"}, "", nil, exit.Usage},
		{"empty level", "prod..orders", []string{"prod"}, "", nil, exit.Usage},
		{"nothing", "", []string{"prod"}, "", nil, exit.Usage},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := ParseName(c.text, c.catalogs)
			require.Equal(t, c.code, exit.Of(err), "%v", err)
			if err == nil {
				assert.Equal(t, Name{Text: c.text, Catalog: c.catalog, Table: c.table}, n)
			}
		})
	}
}

func TestGlobsMatchLevelByLevel(t *testing.T) {
	for _, c := range []struct {
		glob, table string
		want        bool
	}{
		{"prod.sales.orders", "prod.sales.orders", true},
		{"prod.sales.orders", "prod.sales.orders2", false},
		{"prod.sales.*", "prod.sales.orders", true},
		{"prod.sales.*", "prod.sales.eu.orders", true}, // * at the end reaches into nested namespaces
		{"prod.sales.*", "prod.sales2.orders", false},
		{"prod.*.orders", "prod.sales.orders", true},
		{"prod.*.orders", "prod.sales.eu.orders", false},
		{"prod.s*.o*s", "prod.sales.orders", true},
		{"prod.sales.tmp_*", "prod.sales.tmp_1", true},
		{"prod.sales.tmp_*", "prod.sales.tmp_1.x", false},
		{"prod.sales.order?", "prod.sales.orders", true},
		{"prod.sales.order?", "prod.sales.order", false},
		{"prod.sales.?", "prod.sales.é", true},
		{"*.sales.orders", "test.sales.orders", true},
		{"p*.sales.orders", "test.sales.orders", false},
	} {
		t.Run(c.glob+" "+c.table, func(t *testing.T) {
			n, err := ParseName(c.glob, []string{"prod", "test"})
			require.NoError(t, err)
			levels := strings.Split(c.table, ".")
			assert.Equal(t, c.want, n.Match(levels[0], levels[1:]))
		})
	}
}
