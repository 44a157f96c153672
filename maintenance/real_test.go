package maintenance_test

import (
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTablesOfOtherEnginesKeepTheirDeletedPositions(t *testing.T) {
	t.Parallel()
	for name, f := range testlake.ForeignTables(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lake := f.Register(t)
			before := lake.Files(t)
			for _, action := range []maintenance.Action{maintenance.Migrate, maintenance.Compact} {
				_, err := maintenance.Run(t.Context(), lake.Catalog, testlake.Ident("t"), fast(action))
				require.NoError(t, err)
				again, err := maintenance.Run(t.Context(), lake.Catalog, testlake.Ident("t"), fast(action))
				require.NoError(t, err)
				assert.False(t, again.Committed, "a second %s commits", action)
			}
			if f.PositionDeleteFiles == 0 || f.NullRecords+f.MatchNothing > 0 {
				assert.Equal(t, before, lake.Files(t), "a table with nothing to do, or whose deletes say something unclear, stays as it is")
				return
			}
			got := lake.Read(t, "t", "main")
			assert.Zero(t, got.PositionDeleteFiles)
			for _, want := range f.Files {
				assert.Equal(t, want.DeletedRanges, got.Positions[want.Path], want.Path)
			}
		})
	}
}
