package check_test

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// issues returns the ids of findings, each once, sorted.
func issues(r *check.Report) []string {
	out := []string{}
	for _, f := range r.Findings {
		out = append(out, f.Issue)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// count is how many findings of an issue there are.
func count(r *check.Report, id string) int {
	n := 0
	for _, f := range r.Findings {
		if f.Issue == id {
			n++
		}
	}
	return n
}

// everything are options that find all there is.
func everything() check.Options { return check.Options{Level: check.Vectors} }

// odd are the findings in fixtures that are there on purpose.
func odd(fixture string) []string {
	switch fixture {
	case "v2-dangling":
		return []string{"delete-dangling-records"}
	case "v2-no-stats":
		return []string{"delete-rows"} // one file is not sorted
	}
	return []string{}
}

// sharing are the fixtures with live deletion vectors in a Puffin file with a removed one, and how many of them.
func sharing() map[string]int {
	return map[string]int{"v3-shared-puffin": 10, "v3-upgraded-mixed": 2, "v3-large-positions": 1}
}

func TestNoTableOfTheReferenceGivesAFalseAlarm(t *testing.T) {
	t.Parallel()
	for _, fixture := range testlake.Fixtures(t) {
		t.Run(fixture, func(t *testing.T) {
			t.Parallel()
			lake, shared := testlake.Copy(t, fixture), 0
			for name, want := range lake.Expected {
				for ref, state := range want.Refs {
					o := everything()
					o.Ref = ref
					r, err := check.Run(t.Context(), lake.Load(t, name), o)
					require.NoError(t, err)
					assert.Equal(t, odd(fixture), damaging(r), "%s@%s: %+v", name, ref, r.Findings)
					shared += count(r, "puffin-colifetime")
					assert.Equal(t, state.DeletionVectors, r.Before.DeletionVectors)
					assert.EqualValues(t, state.DeletionVectors, r.Checked.DeletionVectors, "every deletion vector is read")
				}
			}
			assert.Equal(t, sharing()[fixture], shared)
		})
	}
}

// damage is what damage.json says of a damaged table.
type damage struct {
	Issue    string
	Repair   check.Repair
	DataFile string `json:"data_file"`
}

// damagedLakes returns the folders in testdata/damaged with what is wrong there.
func damagedLakes(t *testing.T) map[string]damage {
	files, err := filepath.Glob(filepath.Join(testlake.Root(t), "testdata", "damaged", "*", "damage.json"))
	require.NoError(t, err)
	require.Len(t, files, 14)
	out := map[string]damage{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var d damage
		require.NoError(t, json.Unmarshal(data, &d))
		out[filepath.Dir(file)] = d
	}
	return out
}

func TestEveryDamagedTableNamesItsFaultAndNoOther(t *testing.T) {
	t.Parallel()
	for dir, want := range damagedLakes(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			copied := t.TempDir()
			require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
			r, err := check.Run(t.Context(), testlake.Open(t, copied).Load(t, "t"), everything())
			require.NoError(t, err)
			if want.Issue == "none" {
				assert.Empty(t, r.Findings)
				assert.False(t, r.Damaged)
				return
			}
			also := []string{want.Issue}
			if want.Issue == "dv-incomplete" { // whoever made this table did not count the row ids that the upgrade gave
				also = append(also, "lineage-damage")
			}
			require.Equal(t, also, damaging(r), "%+v", r.Findings)
			f := r.Findings[0]
			assert.Equal(t, 1, count(r, want.Issue), "%+v", r.Findings)
			assert.Equal(t, want.Issue, f.Issue)
			assert.Equal(t, want.Repair, f.Repair)
			assert.True(t, r.Damaged)
			if f.Issue != "delete-bounds" { // which is about a file, whatever data files it names
				assert.Equal(t, want.DataFile, f.DataFile)
			}
			assert.NotEmpty(t, f.Hint)
			assert.Equal(t, "lake.db.t", f.Table)
			assert.Equal(t, "main", f.Ref)
		})
	}
}

// known are the faults of tables of other projects. Some of them were edited by hand for tests of readers, which left
// sizes and counts as they were.
func known(f testlake.ForeignTable, name string) []string {
	switch path.Base(name) {
	case "legacy_bare_deletion_vector":
		return []string{"dv-bare-blob"}
	case "iceberg_v2_null_delete_record":
		return []string{"delete-rows", "manifest-summary", "summary-drift"}
	case "iceberg_v2_delete_positional":
		return []string{"file-size", "path-near-miss"}
	case "iceberg_v2_delete_pos_and_multi_eq_ids":
		return []string{"delete-aged", "path-near-miss"}
	}
	if f.MatchNothing > 0 {
		return []string{"path-near-miss"}
	}
	return []string{}
}

func TestTablesOfOtherEnginesGiveNoFalseAlarm(t *testing.T) {
	t.Parallel()
	for name, f := range testlake.ForeignTables(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lake := f.Register(t)
			r, err := check.Run(t.Context(), lake.Load(t, "t"), everything())
			require.NoError(t, err)
			assert.Equal(t, known(f, name), issues(r), "%+v", r.Findings)
		})
	}
}
