package crash

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dvcompactor/dvcompactor/internal/testlake"
)

var update = flag.Bool("update", false, "write docs/crash-points.md anew")

const introduction = `# What a crash leaves behind

The tests kill the program, with SIGKILL, at each point where a run writes something, one point a run on a fresh copy of a
lake. Then they look at the table, and run the same command again, twice. This page is written by them, with
` + "`go test ./internal/crash -update`" + `, and they fail when it is not true any more.

At every point below

- every data file of every branch, tag and old snapshot has the deleted positions that it had before;
- every file that the table's metadata, any snapshot or a manifest refers to is there, and no file of before was changed;
- the table has the snapshot of before the run or that of after it, never anything else;
- the next run of the same command ends with exit code 0, after which the table has as few delete files as after an
  unbroken run. The one after that commits nothing;
- files that nothing refers to are whole. The orphan clean-up that a table needs anyway removes them.
`

// section describes the points of a scenario; empty when not all of them were tried.
func (s scenario) section(points []*point) string {
	if slices.ContainsFunc(points, func(p *point) bool { return !p.tried }) {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", s.title, s.what)
	fmt.Fprintf(&b, "`dvcompactor %s`", strings.Join(s.args, " "))
	if s.script != "" {
		fmt.Fprintf(&b, ", with the fault `%s`", s.script)
	}
	if points[0].fault == "" {
		b.WriteString("\n\n| | killed before this call | snapshot | orphans | temporary files | next run |\n|---:|---|---|---:|---:|---|\n")
	} else {
		b.WriteString("\n\n| | request | killed | snapshot | orphans | next run |\n|---:|---|---|---|---:|---|\n")
	}
	for _, p := range points {
		b.WriteString(p.row())
	}
	return b.String()
}

func (p *point) row() string {
	snapshot, next := "before", "commits"
	if p.committed {
		snapshot, next = "after", "nothing to do"
	}
	if p.fault == "" {
		return fmt.Sprintf("| %d | %s | %s | %d | %d | %s |\n", p.number, p.write, snapshot, p.orphans, p.temporary, next)
	}
	return fmt.Sprintf("| %d | %s | %s | %s | %d | %s |\n", p.number, p.write, p.moment, snapshot, p.orphans, next)
}

// assertDocument compares docs/crash-points.md with what was seen. An empty section stands for what it says already.
func assertDocument(t *testing.T, sections []string) {
	path := filepath.Join(testlake.Root(t), "docs", "crash-points.md")
	stored, err := os.ReadFile(path)
	if !*update {
		require.NoError(t, err, "run the test with -update to write the file")
	}
	_, old, _ := strings.Cut(string(stored), "\n## ")
	seen := introduction
	for i, section := range sections {
		if parts := strings.Split(old, "\n## "); section == "" && i < len(parts) {
			section = "\n## " + strings.TrimSuffix(parts[i], "\n") + "\n"
		}
		seen += section
	}
	t.Log(seen)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(seen), 0o644))
		return
	}
	is := strings.Split(string(stored), "\n")
	for i, line := range strings.Split(seen, "\n") {
		if i >= len(is) || is[i] != line {
			t.Fatalf("docs/crash-points.md, line %d, has to be %q; go test ./internal/crash -update writes it anew", i+1, line)
		}
	}
	require.Len(t, is, strings.Count(seen, "\n")+1)
}
