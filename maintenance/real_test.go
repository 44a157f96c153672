package maintenance_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// foreignTable is a table that another project wrote, with the right answers.
type foreignTable struct {
	Metadata            string `json:"metadata"`
	Location            string `json:"location"`
	FormatVersion       int    `json:"format_version"`
	PositionDeleteFiles int    `json:"position_delete_files"`
	NullRecords         int    `json:"null_records"`
	MatchNothing        int    `json:"entries_that_match_nothing"`
	Files               []struct {
		Path          string     `json:"path"`
		DeletedRanges [][2]int64 `json:"deleted_ranges"`
	} `json:"files"`
}

// root is where the table's own metadata says that it lies.
func (f foreignTable) root(t *testing.T) string {
	data, err := os.ReadFile(f.Metadata)
	require.NoError(t, err)
	var meta struct {
		Snapshots []struct {
			ManifestList string `json:"manifest-list"`
		}
	}
	require.NoError(t, json.Unmarshal(data, &meta))
	require.NotEmpty(t, meta.Snapshots)
	root, _, found := strings.Cut(meta.Snapshots[len(meta.Snapshots)-1].ManifestList, "/metadata/")
	require.True(t, found)
	return root
}

// foreignTables reads what lies in shared/real beside the repository.
func foreignTables(t *testing.T) map[string]foreignTable {
	root := filepath.Join(testlake.Root(t), "..", "shared", "real")
	answers, err := filepath.Glob(filepath.Join(root, "*", "*", "expected.json"))
	require.NoError(t, err)
	if len(answers) == 0 {
		t.Skip("no tables of other projects in ../shared/real")
	}
	out := map[string]foreignTable{}
	for _, path := range answers {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var doc struct{ Tables []foreignTable }
		require.NoError(t, json.Unmarshal(data, &doc))
		for _, f := range doc.Tables {
			if f.Location != "" {
				f.Metadata = filepath.Join(filepath.Dir(path), f.Metadata)
				out[filepath.Base(filepath.Dir(path))+"/"+filepath.Base(f.Location)] = f
			}
		}
	}
	require.NotEmpty(t, out)
	return out
}

func TestTablesOfOtherEnginesKeepTheirDeletedPositions(t *testing.T) {
	t.Parallel()
	for name, f := range foreignTables(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Dir(filepath.Dir(f.Metadata)))))
			lake := testlake.Register(t, dir, f.root(t)+"/", f.root(t)+"/metadata/"+filepath.Base(f.Metadata))
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
