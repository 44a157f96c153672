package check_test

import (
	"slices"
	"testing"
	"time"

	testdamage "github.com/dvcompactor/dvcompactor/internal/testlake/damage"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// levels are the levels of a check by name.
func levels() map[string]check.Level {
	out := map[string]check.Level{}
	for _, l := range []check.Level{check.Metadata, check.Footers, check.Vectors} {
		out[l.String()] = l
	}
	return out
}

// checkTable checks the branch of a table that is wrong; Puffin files that nobody references are old at once.
func checkTable(t *testing.T, tbl *testdamage.Table, level check.Level) *check.Report {
	r, err := check.Run(t.Context(), tbl.Lake.Load(), check.Options{Ref: tbl.Ref, Level: level, OrphanAge: time.Nanosecond})
	require.NoError(t, err)
	return r
}

// damaging are the ids of a report but that of what sound tables have all the time.
func damaging(r *check.Report) []string {
	return slices.DeleteFunc(issues(r), func(id string) bool { return id == "puffin-colifetime" })
}

func TestEveryDamagedTableOfTheCollectionIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range testdamage.Few(testdamage.All()) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			tbl := c.Make(t)
			assert.Contains(t, issues(checkTable(t, tbl, levels()[c.Level])), c.Issue, "at level %s", c.Level)

			r := checkTable(t, tbl, check.Vectors)
			want := c.Issues()
			assert.Equal(t, want, slices.Compact(slices.Sorted(slices.Values(append(damaging(r), c.Issue)))), "%+v", r.Findings)
			assert.Equal(t, damages(want), r.Damaged)
			for _, f := range r.Findings {
				if f.Issue == c.Issue {
					assertAbout(t, c, tbl, f)
				}
			}
		})
	}
}

// damages says whether a table with these faults is damaged.
func damages(ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool {
		issue, known := check.Find(id)
		return !known || issue.Damage()
	})
}

// assertAbout compares a finding with the fault that was made.
func assertAbout(t *testing.T, c testdamage.Case, tbl *testdamage.Table, f check.Finding) {
	assert.Equal(t, c.Class, string(f.Repair), "%+v", f)
	if tbl.DataFile != "" {
		assert.Equal(t, tbl.DataFile, f.DataFile)
	}
	if tbl.Location != "" {
		assert.Equal(t, tbl.Location, f.Location)
	}
}

func TestHealthyTablesCloseToAFaultAreNotTakenForIt(t *testing.T) {
	t.Parallel()
	for _, c := range testdamage.Few(testdamage.Neighbours()) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			r := checkTable(t, c.Make(t), check.Vectors)
			assert.NotContains(t, issues(r), c.Issue, "%+v", r.Findings)
			assert.Subset(t, c.Also, damaging(r), "%+v", r.Findings)
		})
	}
}

func TestEveryIssueHasADamagedTable(t *testing.T) {
	t.Parallel()
	made := map[string]bool{}
	for _, c := range testdamage.All() {
		for _, id := range c.Issues() {
			made[id] = true
		}
	}
	for _, issue := range check.Issues() {
		assert.True(t, made[issue.ID], issue.ID)
	}
}
