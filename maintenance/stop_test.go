package maintenance_test

import (
	"context"
	"errors"
	"testing"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestARunThatIsToldToStopWhileItCommitsEndsTheCommit(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 2, 1)
	deletePositions(t, lake, f[0], map[string][]int64{f[0].FilePath(): {1, 7}})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	cat := &testlake.Racing{Catalog: lake.Catalog, Before: func(int) { stop() }}
	r, err := maintenance.Run(ctx, cat, testlake.Ident("t"), fast(maintenance.Migrate))
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.Equal(t, [][2]int64{{1, 1}, {7, 7}}, lake.Read(t, "t", "main").Positions[f[0].FilePath()])
}

func TestARunThatIsToldToStopWhileItLosesARaceTriesNoMoreAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	lake, f := ownTable(t, 2, 1)
	deletePositions(t, lake, f[0], map[string][]int64{f[0].FilePath(): {1}})
	before := lake.Files(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	cat := &testlake.Racing{Catalog: lake.Catalog, Instead: func(context.Context, *catalog.Table, []table.Requirement, []table.Update) error {
		stop()
		return &catalog.CommitError{Outcome: catalog.ErrConflict, Table: "t", Err: errors.New("too late")}
	}}
	_, err := maintenance.Run(ctx, cat, testlake.Ident("t"), fast(maintenance.Migrate))
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, cat.Commits())
	assert.Equal(t, before, lake.Files(t))
}
