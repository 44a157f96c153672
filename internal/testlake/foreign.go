package testlake

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ForeignTable is a table that another project wrote, with the right answers.
type ForeignTable struct {
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
func (f ForeignTable) root(t testing.TB) string {
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

// ForeignTables reads what lies in shared/real beside the repository.
func ForeignTables(t testing.TB) map[string]ForeignTable {
	root := filepath.Join(Root(t), "..", "shared", "real")
	answers, err := filepath.Glob(filepath.Join(root, "*", "*", "expected.json"))
	require.NoError(t, err)
	if len(answers) == 0 {
		t.Skip("no tables of other projects in ../shared/real")
	}
	out := map[string]ForeignTable{}
	for _, path := range answers {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var doc struct{ Tables []ForeignTable }
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

// Register makes a writable copy of the table as table "t" of a lake.
func (f ForeignTable) Register(t testing.TB) *Lake {
	dir, root := t.TempDir(), f.root(t)
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Dir(filepath.Dir(f.Metadata)))))
	return Register(t, dir, root+"/", root+"/metadata/"+filepath.Base(f.Metadata))
}
