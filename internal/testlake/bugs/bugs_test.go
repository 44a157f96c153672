package bugs

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/stretchr/testify/require"
)

var (
	plant  = flag.Bool("bugs", false, "put each bug into the program and run the random histories, some minutes in all")
	update = flag.Bool("update", false, "with -bugs: write docs/deliberate-bugs.md")
)

// apply returns the content of the files that a bug changes, by path from the root of the module.
func (b bug) apply(t *testing.T, root string) map[string][]byte {
	out := map[string][]byte{}
	for _, e := range b.edits {
		text, ok := out[e.file]
		if !ok {
			var err error
			text, err = os.ReadFile(filepath.Join(root, e.file))
			require.NoError(t, err)
		}
		require.Equal(t, 1, bytes.Count(text, []byte(e.old)), "%s: the place where the bug goes: %s", e.file, e.old)
		out[e.file] = bytes.Replace(text, []byte(e.old), []byte(e.new), 1)
	}
	return out
}

// overlay writes the changed files and tells the go command about them.
func overlay(t *testing.T, root string, changed map[string][]byte) string {
	dir := t.TempDir()
	replace := map[string]string{}
	for file, text := range changed {
		path := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		require.NoError(t, os.WriteFile(path, text, 0o644))
		replace[filepath.Join(root, file)] = path
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	path := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(path, data, 0o644))
	return path
}

func TestEveryDeliberateBugIsNoticed(t *testing.T) {
	t.Parallel()
	root := testlake.Root(t)
	var rows strings.Builder
	for _, b := range bugs() {
		t.Run(b.what, func(t *testing.T) {
			changed := b.apply(t, root)
			if !*plant {
				return
			}
			how := b.run(t, root, overlay(t, root, changed))
			t.Logf("noticed: %s", how)
			fmt.Fprintf(&rows, "| %s | %s | %s |\n", b.rule, b.what, how)
		})
	}
	if *plant && *update && !t.Failed() {
		require.NoError(t, os.WriteFile(filepath.Join(root, "docs", "deliberate-bugs.md"), []byte(page+rows.String()), 0o644))
	}
}

// run runs what has to notice a bug, and says how it does.
func (b bug) run(t *testing.T, root, overlay string) string {
	args := []string{"test", "-count=1", "-v", "-overlay", overlay}
	if b.by.test == "" {
		args = append(args, "./internal/testlake/model", "-run", "TestRandom", "-seed", "1", "-histories", "400", "-shrink", "0s")
	} else {
		args = append(args, b.by.in, "-run", "^"+b.by.test+"$")
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	said, err := cmd.CombinedOutput()
	require.Error(t, err, "nothing notices it")
	if b.by.test != "" {
		require.Regexp(t, `(?m)^--- FAIL: `+b.by.test+` `, string(said))
		return "`" + b.by.test + "`"
	}
	require.Regexp(t, `the history of -seed \d+ fails`, string(said))
	how := noticed(string(said))
	require.NotEmpty(t, how, "%s", said)
	return how
}

// noticed takes from the output of a failed history what was wrong.
func noticed(said string) string {
	for _, pattern := range []string{`(?m)^\s+((?:[ABC]\d+|invariant) .*)$`, `Messages:\s+(.*)`, `Received unexpected error:\s+(.*)`, `Error:\s+(.*)`} {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(said); m != nil {
			if text := clean(m[1]); text != "..." { // which is a path alone
				return text
			}
		}
	}
	return ""
}

// clean keeps what is the same each time.
func clean(text string) string {
	text = regexp.MustCompile(`(s3://|blob \(key)\S*( "\S+)?`).ReplaceAllString(text, "...")
	text = regexp.MustCompile(`:? (\[\[|map\[).*`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`\b\d{2,}\b`).ReplaceAllString(text, "n")
	return strings.TrimSpace(strings.ReplaceAll(text, "|", "\\|"))
}

const page = `# Deliberate bugs

A test that cannot fail shows nothing. This table is made by putting one bug at a time into the program, against one of
[its rules](architecture.md#the-rules) each, and running the random histories of ` + "`internal/testlake/model`" + ` on it: a table
under random writers, faults, races and our own actions beside a plain model of its rows, judged after every step by a reader
and at every commit by a judge that share no code with the program. The last column is what they said. Where histories hardly
ever come to the place of a bug, it is the test that fails.

    go test ./internal/testlake/bugs -bugs -update

| rule | bug | noticed by |
|---|---|---|
`
