package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	issuesBegin = "<!-- issues:begin -->\n"
	issuesEnd   = "<!-- issues:end -->"
)

// issueTable is the table of all faults, as the program knows them.
func issueTable() string {
	var b strings.Builder
	b.WriteString("| id | seen by | effect | repair | what it is | readers |\n|---|---|---|---|---|---|\n")
	flags := map[check.Level]string{check.Metadata: "always", check.Footers: "`--read-footers`", check.Vectors: "`--read-dvs`"}
	for _, i := range check.Issues() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", i.ID, flags[i.Level], i.Effect, i.Repair, i.What, readers(i.Engines))
	}
	return b.String()
}

func readers(e check.Engines) string {
	var parts []string
	for _, group := range []struct {
		do    string
		names []string
	}{{"wrong rows: ", e.Wrong}, {"fail: ", e.Fail}, {"do not notice: ", e.Unaware}} {
		if len(group.names) > 0 {
			parts = append(parts, group.do+strings.Join(group.names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// Ids are words that scripts match. Run the test with -update to write the table anew.
func TestTheDocumentHasEveryIssue(t *testing.T) {
	const path = "docs/findings.md"
	text := read(t, path)
	before, rest, found := strings.Cut(text, issuesBegin)
	require.True(t, found)
	_, after, found := strings.Cut(rest, issuesEnd)
	require.True(t, found)
	want := before + issuesBegin + issueTable() + issuesEnd + after
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(root, path), []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, text)
}

var update = flag.Bool("update", false, "write the table of issues anew")
