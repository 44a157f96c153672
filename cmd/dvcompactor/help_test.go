package main

import (
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/golden"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// commands returns every command line that takes --help.
func commands(cmd *cobra.Command) []string {
	out := []string{strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), "dvcompactor"))}
	for _, child := range cmd.Commands() {
		out = append(out, commands(child)...)
	}
	return out
}

func TestEveryHelpNamesTheExitCodes(t *testing.T) {
	all := commands(newRoot(env{}))
	require.GreaterOrEqual(t, len(all), 11)
	for _, name := range all {
		t.Run(name, func(t *testing.T) {
			for _, args := range [][]string{append(strings.Fields(name), "--help"), append([]string{"help"}, strings.Fields(name)...)} {
				o := newShell(t).run(args...)
				assert.Equal(t, exit.OK, o.code)
				assert.Contains(t, o.stdout, exit.Table)
				assert.Empty(t, o.stderr)
			}
			o := newShell(t).run(append(strings.Fields(name), "--help")...)
			golden.Assert(t, "help/"+strings.ReplaceAll(strings.TrimSpace("dvcompactor "+name), " ", "-")+".txt", o.stdout)
			for line := range strings.Lines(o.stdout) {
				assert.LessOrEqual(t, len(line), 121, line)
			}
		})
	}
}

func TestHelpWithoutACommand(t *testing.T) {
	o := newShell(t).run()
	assert.Equal(t, exit.OK, o.code)
	assert.Contains(t, o.stdout, "Usage:")
}

func TestWrongUsageIsCode2(t *testing.T) {
	lake := newLake(t, "v3-shared-puffin")
	for _, line := range []string{
		"explode", "--explode", "compact", "compact --explode lake.db.t", "compact lake.db.t", "compact -c nope.yaml lake.db.t",
		"compact -c CONFIG lake.db.t --memory lots", "compact -c CONFIG lake.db.t --memory 0", "compact -c CONFIG lake.db.t --output xml",
		"compact -c CONFIG lake.db.t --log-level loud", "compact -c CONFIG lake.db.t --log-level fatal", "compact -c CONFIG t", "compact -c CONFIG lake..t",
		"compact -c CONFIG --catalog-uri sqlite:///x lake.db.t", "compact --upgrade-format -c CONFIG lake.db.t",
		"plan -c CONFIG --action explode", "plan -c CONFIG --upgrade-format", "apply", "apply a b", "apply -c CONFIG CONFIG",
		"repair", "repair -c CONFIG lake.db.t", "repair -c CONFIG --issue dv-nonsense lake.db.t", "repair -c CONFIG --issue= lake.db.t", "repair -c CONFIG --issue dv-corrupt lake.db.*",
		"repair -c CONFIG --issue dv-corrupt lake.db.t lake.db.t", "repair -c CONFIG --issue dv-corrupt --restore-rows -1 lake.db.t", "repair -c CONFIG --issue dv-corrupt --tag sometimes lake.db.t",
		"repair -c CONFIG --issue dv-corrupt --alias s3a:// lake.db.t", "repair -c CONFIG --issue dv-corrupt --alias s3://=s3:// lake.db.t",
		"repair -c CONFIG --issue dv-corrupt --file #4 lake.db.t", "repair -c CONFIG --issue dv-corrupt --file x#-4 lake.db.t",
		"inspect", "inspect a b", "inspect CONFIG --offset 4", "inspect CONFIG --length 4", "inspect CONFIG --record-count 4", "inspect CONFIG --offset x --length 1",
		"version 1", "completion", "completion tcsh", "config explode", "config check", "config check --catalog-uri ftp://x", "config print",
	} {
		t.Run(line, func(t *testing.T) {
			o := newShell(t).run(strings.Fields(strings.ReplaceAll(line, "CONFIG", lake.config))...)
			assert.Equal(t, exit.Usage, o.code, o.stdout+o.stderr)
			assert.Contains(t, o.stderr, "--help")
			assert.Empty(t, o.stdout)
		})
	}
}

func TestVersion(t *testing.T) {
	s := newShell(t)
	assert.Equal(t, outcome{stdout: "dvcompactor 1.2.3 (abc) go1\n"}, s.run("version"))
	assert.Equal(t, map[string]any{"version": "1.2.3", "revision": "abc", "modified": false, "go": "go1"}, s.json(exit.OK, "version"))
	assert.NotEmpty(t, readBuild().Go)
}

func TestCompletionScripts(t *testing.T) {
	for _, name := range []string{"bash", "zsh", "fish", "powershell"} {
		o := newShell(t).run("completion", name)
		assert.Equal(t, exit.OK, o.code)
		assert.Contains(t, o.stdout, "dvcompactor")
	}
}
