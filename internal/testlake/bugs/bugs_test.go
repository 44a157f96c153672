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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	plant  = flag.Bool("bugs", false, "put each bug into the program and run the random histories, some minutes in all")
	update = flag.Bool("update", false, "with -bugs: write docs/deliberate-bugs.md")
)

// bug is a mistake that somebody could make.
type bug struct {
	rule  string // of docs/architecture.md that it breaks
	what  string
	edits []edit
}

// edit changes one place.
type edit struct{ file, old, new string }

func bugs() []bug {
	return []bug{
		{"1", "entries with status DELETED count as live", []edit{
			{"snapshot/manifest.go", "if err := checked(e); err != nil || e.Status() == iceberg.EntryStatusDELETED {", "if err := checked(e); err != nil {"},
			{"snapshot/manifest.go", "err = checkCounts(m, live)", "_ = checkCounts(m, live)"},
		}},
		{"2", "every deletion vector of a Puffin file is read from the place of the first", []edit{
			{"maintenance/vectors.go", "ranges[i] = RangeOf(f.DV())", "_ = f\n\t\tranges[i] = RangeOf(files[0].DV())"},
		}},
		{"3", "position deletes do not apply to data files of the same sequence number", []edit{
			{"snapshot/state.go", "f.Seq <= d.Seq", "f.Seq < d.Seq"},
		}},
		{"3", "position deletes apply to data files of any sequence number", []edit{
			{"snapshot/state.go", "d.Group == f.Group && f.Seq <= d.Seq &&", "d.Group == f.Group &&"},
		}},
		{"3", "position deletes apply in every partition", []edit{
			{"snapshot/state.go", "d.Group == f.Group && f.Seq <= d.Seq &&", "f.Seq <= d.Seq &&"},
			{"maintenance/visit.go", "if f == nil || f.Group != v.facts.file.Group && !f.Twice {", "if f == nil {"},
		}},
		{"5", "a new deletion vector lacks what one of several position delete files deletes", []edit{
			{"maintenance/visit.go", "	if v.acc.bitmap == nil {\n", "	if v.acc.seq > 0 && v.facts.file.Seq < v.acc.seq {\n		return nil\n	}\n	if v.acc.bitmap == nil {\n"},
		}},
		{"5", "a new deletion vector lacks what was read in an earlier pass", []edit{
			{"maintenance/merge.go", "		if _, in := p.in[t]; in {\n			return true", "		if _, in := p.in[t]; in {\n			return false"},
		}},
		{"6", "a position delete file goes although a data file that it applies to is not covered", []edit{
			{"maintenance/settle.go", "if !v.gone[t] && !covered(t) {", "if t == nil {"},
		}},
		{"6", "a data file whose deletes another writer changed stays in the commit", []edit{
			{"maintenance/rebase.go", "if !sameData(f, now) || added[f.Path] {", "if !sameData(f, now) && false {"},
		}},
		{"8", "the live siblings of a retired deletion vector stay behind", []edit{
			{"maintenance/settle.go", "return stays[d.Path] }", "return false }"},
		}},
		{"9", "a new deletion vector takes the sequence number of its snapshot", []edit{
			{"snapshot/additions.go", "	if seq == Fresh {\n", "	if seq == Fresh || true {\n"},
		}},
		{"9", "the sequence number of a new deletion vector is that of the first source", []edit{
			{"maintenance/visit.go", "v.acc.seq = max(v.acc.seq, v.facts.file.Seq)", "if v.acc.seq <= 0 {\n		v.acc.seq = v.facts.file.Seq\n	}"},
		}},
		{"10", "a manifest is written with the current schema although its spec has a dropped source column", []edit{
			{"snapshot/manifests.go", "if current := meta.CurrentSchema(); hasSources(current, spec) {", "if current := meta.CurrentSchema(); true {"},
		}},
		{"10", "a deletion vector has no partition", []edit{
			{"snapshot/additions.go", "iceberg.PuffinFile, a.Data.Group.Partition, nil, nil", "iceberg.PuffinFile, nil, nil, nil"},
		}},
		{"12", "equality delete files go with the manifests that are rewritten", []edit{
			{"snapshot/manifests.go", "if f.ContentType() == iceberg.EntryContentPosDeletes && p.change.Remove[fileID(f)] {", "if f.ContentType() == iceberg.EntryContentEqDeletes || p.change.Remove[fileID(f)] {"},
		}},
		{"14", "what was written is removed after an unknown outcome", []edit{
			{"maintenance/commit.go", "enough = maxLooks // it may still be on its way", "return c.unstage(ctx, staged, err)"},
		}},
		{"16", "small Puffin files are packed even if that makes no fewer", []edit{
			{"maintenance/packing.go", "return with < p.files+without", "return p.files > 0"},
			{"maintenance/packing.go", "if len(extra) < len(small) {", "if true {"},
		}},
		{"18", "row ids are given twice", []edit{
			{"snapshot/list.go", "first := nextRowID", "first := max(0, nextRowID-1)\n		nextRowID = first"},
		}},
	}
}

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
			cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-overlay", overlay(t, root, changed),
				"./internal/testlake/model", "-run", "TestRandom", "-seed", "1", "-histories", "400", "-shrink", "0s", "-v")
			cmd.Dir = root
			said, err := cmd.CombinedOutput()
			require.Error(t, err, "the random histories do not notice it")
			found := regexp.MustCompile(`history (\d+) of seed`).FindSubmatch(said)
			require.NotNil(t, found, "%s", said)
			how := noticed(string(said))
			assert.NotEmpty(t, how, "%s", said)
			t.Logf("noticed in history %s: %s", found[1], how)
			fmt.Fprintf(&rows, "| %s | %s | %s |\n", b.rule, b.what, how)
		})
	}
	if *plant && *update && !t.Failed() {
		require.NoError(t, os.WriteFile(filepath.Join(root, "docs", "deliberate-bugs.md"), []byte(page+rows.String()), 0o644))
	}
}

// noticed takes from the output of a failed history what was wrong.
func noticed(said string) string {
	for _, pattern := range []string{`(?m)^\s+((?:[ABC]\d+|invariant) .*)$`, `Messages:\s+(.*)`, `Received unexpected error:\s+(.*)`, `Error:\s+(.*)`} {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(said); m != nil {
			return clean(m[1])
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
and at every commit by a judge that share no code with the program. The last column is what they said.

    go test ./internal/testlake/bugs -bugs -update

| rule | bug | noticed by |
|---|---|---|
`
