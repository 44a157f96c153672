package serve

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/cli/runs"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// regions is a lake of tables of format version 2 by region, under a partition field of another name than its column.
type regions struct {
	t       *testing.T
	dir     string
	catalog catalog.Closer
	runs    int // so far
}

func newRegions(t *testing.T, tables ...string) *regions {
	dir := t.TempDir()
	uri, err := lakewriter.CreateLake(t.Context(), dir, "lake")
	require.NoError(t, err)
	c, err := catalog.Open(t.Context(), catalog.Options{Name: "lake", Type: "sql", URI: uri})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	l := &regions{t: t, dir: dir, catalog: c}
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1000, Name: "area", Transform: iceberg.IdentityTransform{}})
	for _, name := range tables {
		require.NoError(t, lakewriter.CreateTable(t.Context(), dir, "lake", name, 2, &spec))
		l.fill(name)
	}
	return l
}

// fill adds a data file to each of three regions, and three position delete files about each.
func (l *regions) fill(name string) {
	ctx := l.t.Context()
	tbl, err := lakewriter.Load(ctx, l.catalog, []string{"db", name})
	require.NoError(l.t, err)
	for region := range int32(3) {
		tbl, err = lakewriter.Append(ctx, tbl, region, int64(region)*100, 100)
		require.NoError(l.t, err)
	}
	data, err := lakewriter.DataFiles(ctx, tbl, "main")
	require.NoError(l.t, err)
	for pos := range int64(3) {
		var deletes []iceberg.DataFile
		for _, f := range data {
			d, err := lakewriter.PositionDeletes(ctx, tbl, f, map[string][]int64{f.FilePath(): {pos}})
			require.NoError(l.t, err)
			deletes = append(deletes, d)
		}
		tbl, err = lakewriter.Delta(ctx, tbl, "main", deletes, nil)
		require.NoError(l.t, err)
	}
}

// deletes counts the position delete files of each region.
func (l *regions) deletes(name string) map[int32]int {
	tbl, err := lakewriter.Load(l.t.Context(), l.catalog, []string{"db", name})
	require.NoError(l.t, err)
	files, err := lakewriter.DeleteFiles(l.t.Context(), tbl, "main")
	require.NoError(l.t, err)
	out := map[int32]int{}
	for _, f := range files {
		region, ok := f.Partition()[1000].(int32)
		require.True(l.t, ok)
		out[region]++
	}
	return out
}

// rename gives the column that the table is partitioned by another name.
func (l *regions) rename(name string) {
	t, err := l.catalog.Load(l.t.Context(), []string{"db", name})
	require.NoError(l.t, err)
	fields := lakewriter.Schema().Fields()
	fields[1].Name = "zone"
	require.NoError(l.t, l.catalog.Commit(l.t.Context(), t, nil, []table.Update{
		table.NewAddSchemaUpdate(iceberg.NewSchema(1, fields...)), table.NewSetCurrentSchemaUpdate(1),
	}))
}

// runOnce lets a daemon with one policy run what is due, a day after the last time, and returns what it prints.
func (l *regions) runOnce(where string) (string, error) {
	path := filepath.Join(l.dir, "dvc.yaml")
	require.NoError(l.t, os.WriteFile(path, fmt.Appendf(nil, `version: 1
catalogs: {lake: {type: sql, uri: "sqlite://%[1]s/catalog.db"}}
policies:
  - {name: some, tables: ["lake.*"], action: compact, schedule: "@every 1h", where: %[2]q, min_input_files: 2}
daemon: {state: "%[1]s/state"}
`, l.dir, where), 0o600))
	l.runs++
	now := time.Now().AddDate(0, 0, l.runs)
	var out bytes.Buffer
	err := Run(l.t.Context(), Options{Output: runs.Output{Out: &out, Log: zap.NewNop()}, Once: true,
		Source: lake.Source{Config: path, LookupEnv: os.LookupEnv}, Version: "1.2.3", Now: func() time.Time { return now }})
	return out.String(), err
}

func TestAPolicyWorksOnThePartitionsOfItsPredicateOnly(t *testing.T) {
	t.Parallel()
	l := newRegions(t, "a")
	said, err := l.runOnce("region IN (0, 2)")
	require.NoError(t, err, said)
	assert.Equal(t, map[int32]int{0: 1, 1: 3, 2: 1}, l.deletes("a"))
	assert.Contains(t, said, "done in")
	said, err = l.runOnce("region IN (0, 2)")
	require.NoError(t, err, said)
	assert.Contains(t, said, "nothing in")
	assert.Equal(t, map[int32]int{0: 1, 1: 3, 2: 1}, l.deletes("a"))
}

// Under the partition field's own name the predicate would still hold.
func TestAPredicateOnAColumnThatIsCalledOtherwiseNowFailsThatTableAlone(t *testing.T) {
	t.Parallel()
	l := newRegions(t, "a", "b")
	l.rename("b")
	said, err := l.runOnce("region = 1")
	assert.Equal(t, exit.Partial, exit.Of(err), "%v", err)
	assert.Equal(t, map[int32]int{0: 3, 1: 1, 2: 3}, l.deletes("a"))
	assert.Equal(t, map[int32]int{0: 3, 1: 3, 2: 3}, l.deletes("b"))
	assert.Contains(t, said, "region does not partition the table; what does is area, zone")
	require.ErrorContains(t, err, "1 of 2 runs failed")
	said, err = l.runOnce("area = 1")
	require.NoError(t, err, said)
	assert.Equal(t, map[int32]int{0: 3, 1: 1, 2: 3}, l.deletes("b"))
}
