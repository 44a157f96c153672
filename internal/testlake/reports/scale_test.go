package reports

import (
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// plan makes the plan of a migration.
func (l *lab) plan() *maintenance.Plan {
	p, err := maintenance.MakePlan(l.t.Context(), l.Load(), options(maintenance.Migrate))
	require.NoError(l.t, err)
	return p
}

// requests runs one migration, which is judged, and returns what it asked of the store.
func (l *lab) requests() int64 {
	r, err := maintenance.Run(l.t.Context(), l.Catalog, forge.Ident(), options(maintenance.Migrate))
	require.NoError(l.t, err)
	require.Zero(l.t, r.After.PositionDeleteFiles)
	return r.Requests.Requests()
}

// The work is a sum over delete files, whatever data files they may apply to, not a product.
func TestRequestsGrowWithDeleteFilesAndNotWithDataFilesTimesThem(t *testing.T) {
	t.Parallel()
	measured := map[string]int64{}
	many := testlake.Size(300, 40)
	for name, n := range map[string]struct{ data, deletes int }{"few of both": {10, 10}, "many data files": {many, 10}, "many delete files": {10, many}} {
		l := newLab(t, v2())
		var files, deletes []iceberg.DataFile
		for range n.data {
			files = append(files, l.DataFile("", 0, nil, 1000))
		}
		l.append(files...)
		for i := range n.deletes {
			deletes = append(deletes, l.PositionDeletes(0, nil, forge.Record{Path: files[i%n.data].FilePath(), Pos: int64(i)}).Build())
		}
		l.delete(deletes...)
		measured[name] = l.requests()
	}
	assert.Equal(t, measured["few of both"], measured["many data files"])
	assert.Equal(t, measured["few of both"]+int64(many)-10, measured["many delete files"], "one for each delete file")
}

func TestManyPartitionsAreOneCommit(t *testing.T) {
	t.Parallel()
	spec := iceberg.NewPartitionSpec(identity(2, 1000, "region"))
	l := newLab(t, forge.Options{Spec: &spec})
	partitions, each := testlake.Size(60, 12), 5
	var files, deletes []iceberg.DataFile
	for i := range partitions {
		f := l.DataFile("", 0, forge.Tuple{1000: int32(i)}, 1000)
		files = append(files, f)
		for p := range each {
			deletes = append(deletes, l.PositionDeletes(0, f.Partition(), forge.Record{Path: f.FilePath(), Pos: int64(p)}).Build())
		}
	}
	l.append(files...)
	l.delete(deletes...)
	r := l.migrate()
	assert.Equal(t, partitions, r.After.DeletionVectors)
	assert.Equal(t, 1, r.After.PuffinFiles)
	assert.Equal(t, 1, r.Attempts)
}
