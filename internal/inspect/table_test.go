package inspect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/cli/golden"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func bigTable() *Table {
	id := int64(7)
	t := &Table{Table: "prod.sales.orders", Ref: "main", SnapshotID: &id, FormatVersion: 3, Deletes: maintenance.Counts{DeletionVectors: 1234, PuffinFiles: 25, DeletedRows: 5e6, DeleteBytes: 1 << 30}}
	for i := range 25 {
		t.Partitions = append(t.Partitions, Partition{SpecID: 1, Partition: fmt.Sprintf("day=%d", i), DeletionVectors: i, DeletedRows: int64(1000 * i), DeleteBytes: int64(i) << 10})
		t.Puffins = append(t.Puffins, Puffin{Location: fmt.Sprintf("s3://lake/%02d.puffin", i), DeletionVectors: i, Bytes: int64(i) << 20, LiveBytes: int64(i) << 19, DeletedRows: int64(i)})
	}
	t.Dangling = []DanglingVector{{DataFile: "s3://lake/gone\x1b[2J.parquet", Location: "s3://lake/00.puffin"}, {Location: "s3://lake/01.puffin"}}
	return t
}

func TestBigTablesAreCutUnlessAllIsAskedFor(t *testing.T) {
	var short, long strings.Builder
	require.NoError(t, bigTable().WriteText(&short, TextOptions{}))
	golden.Assert(t, "table-cut.txt", short.String())
	require.NoError(t, bigTable().WriteText(&long, TextOptions{All: true}))
	assert.NotContains(t, long.String(), "more")
	assert.Contains(t, long.String(), "s3://lake/00.puffin")
}
