package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/stretchr/testify/require"
)

// example is a block of commands of a document, and what the document says that they print: nil when it does not say.
type example struct{ commands, prints []string }

// examples are the indented blocks of sections of a document in their order, with the fenced block behind each.
func examples(text string, sections ...string) []example {
	var out []example
	var fence string
	section, block := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		last := len(out) - 1
		switch title, isTitle := strings.CutPrefix(line, "## "); {
		case isTitle && fence == "":
			section, block = title, false
		case !slices.Contains(sections, section):
		case strings.HasPrefix(line, "```"):
			fence = map[bool]string{true: line, false: ""}[fence == ""]
			if fence == "```" {
				out[last].prints = []string{}
			}
		case fence == "```":
			out[last].prints = append(out[last].prints, line)
		case fence != "":
		case strings.HasPrefix(line, "    "):
			if !block {
				out = append(out, example{})
			}
			block, last = true, len(out)-1
			out[last].commands = append(out[last].commands, line[4:])
		default:
			block = false
		}
	}
	return out
}

// reader follows a document in a folder of its own, which stands for /tmp.
type reader struct {
	t   *testing.T
	tmp string
}

// follow runs a block: lines of the program in this process, others by a shell. It returns what the program prints.
func (r *reader) follow(commands []string) string {
	var printed, shell []string
	for _, line := range commands {
		line = strings.ReplaceAll(line, "/tmp/", r.tmp+"/")
		args, isOurs := strings.CutPrefix(line, "dvcompactor ")
		if !isOurs {
			shell = append(shell, line)
			continue
		}
		r.shell(shell)
		shell = nil
		o := newShell(r.t).run(r.expand(args)...)
		printed = append(printed, o.stdout)
	}
	r.shell(shell)
	return strings.ReplaceAll(strings.Join(printed, ""), r.tmp+"/", "/tmp/")
}

func (r *reader) shell(lines []string) {
	if len(lines) == 0 {
		return
	}
	cmd := exec.CommandContext(r.t.Context(), "sh", "-ec", strings.Join(lines, "\n"))
	cmd.Dir = testlake.Root(r.t)
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "%s\n%s", strings.Join(lines, "\n"), out)
}

// expand cuts a command line into arguments as a shell does.
func (r *reader) expand(line string) []string {
	out, err := exec.CommandContext(r.t.Context(), "sh", "-ec", `printf '%s\n' `+line).Output()
	require.NoError(r.t, err, line)
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// assertLike compares what was printed with what a document says, in which "..." stands for any number of lines.
func assertLike(t *testing.T, prints []string, printed string) {
	got := strings.Split(strings.TrimRight(lasting(printed), "\n"), "\n")
	gap := false
	for _, want := range prints {
		if strings.TrimSpace(want) == "..." {
			gap = true
			continue
		}
		next := 0
		if want = lasting(want); gap {
			next = max(0, slices.Index(got, want))
		}
		require.NotEmpty(t, got, "%q is not printed", want)
		require.Equal(t, want, got[next], "what is printed:\n%s", printed)
		got, gap = got[next+1:], false
	}
	require.True(t, gap || len(got) == 0, "the document lacks\n%s", strings.Join(got, "\n"))
}

// lasting takes out what no two runs have in common: new snapshot ids and names of files, requests and times, the
// version.
func lasting(text string) string {
	for _, volatile := range []struct{ pattern, word string }{
		{`\d+ requests?[;,] .*`, "REQUESTS"}, {`\d{15,}`, "ID"}, {`-[0-9a-f]{8}-0`, "-NAME-0"}, {`dvcompactor (devel|1\.2\.3)`, "VERSION"},
	} {
		text = regexp.MustCompile(volatile.pattern).ReplaceAllString(text, volatile.word)
	}
	return text
}

func TestTheCommandsOfTheReadmePrintWhatItSays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(testlake.Root(t), "README.md")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	r := &reader{t: t, tmp: t.TempDir()}
	all := examples(string(data), "Configure", "Migrate a table to deletion vectors", "Inspect", "Mend a damaged table")
	require.GreaterOrEqual(t, len(all), 12)
	cron := regexp.MustCompile(`^\d+ \d+ \* \* \* `)
	for _, e := range all {
		if cron.MatchString(e.commands[0]) {
			continue
		}
		printed := r.follow(e.commands)
		if e.prints != nil {
			assertLike(t, e.prints, printed)
		}
	}
}
