package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// policies adds policies and a state to the configuration of a lake.
func (l testLake) policies(t *testing.T, text string) {
	f, err := os.OpenFile(l.config, os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = fmt.Fprintf(f, "policies:\n%s", text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// scheduled is a lake whose tables are compacted and checked by policies.
func scheduled(t *testing.T, fixture string) testLake {
	l := newLake(t, fixture)
	l.policies(t, fmt.Sprintf(`  - {name: nightly, tables: ["lake.*"], action: compact, schedule: "0 0 29 2 *", triggers: {any: [{min_puffin_files: 2}]}}
  - {name: sound, tables: ["*"], action: check, level: vectors, schedule: "0 0 29 2 *"}
daemon: {state: "%s/state", listen: "127.0.0.1:0"}
`, l.dir))
	return l
}

func TestServeOnceRunsWhatIsDueAndStatusTellsOfIt(t *testing.T) {
	t.Parallel()
	s, lake := newShell(t), scheduled(t, "v3-many-puffins")
	doc := s.json(exit.OK, "status", "-c", lake.config)
	assert.Len(t, at(doc, "tables"), 2)
	assert.Empty(t, at(at(doc, "tables").([]any)[0], "runs"))
	assert.Nil(t, at(doc, "started"), "no daemon was asked")

	doc = s.json(exit.OK, "serve", "--once", "-c", lake.config)
	first := at(doc, "tables").([]any)[0]
	run := at(first, "runs").([]any)[0]
	assert.Equal(t, "done", at(run, "result"))
	assert.Equal(t, true, at(run, "committed"))
	assert.EqualValues(t, 1, at(run, "after.puffin_files"))
	assert.Equal(t, "min_puffin_files 40 >= 2", at(run, "why"))

	doc = s.json(exit.OK, "serve", "--once", "-c", lake.config)
	assert.Len(t, at(at(doc, "tables").([]any)[0], "runs"), 1, "nothing was due")
	assert.Equal(t, at(doc, "tables"), at(s.json(exit.OK, "status", "-c", lake.config, "lake.db.*"), "tables"))
	s.json(exit.NotFound, "status", "-c", lake.config, "lake.db.gone")
	text := s.run("status", "-c", lake.config).stdout
	assert.Contains(t, text, "from 0 position delete files and 40 puffin files to 0 and 1")
	assert.Contains(t, text, "2 runs on schedule, 0 unread, paused or halted")
}

func TestAPausedTableIsLeftAloneUntilItIsResumed(t *testing.T) {
	t.Parallel()
	s, lake := newShell(t), scheduled(t, "v3-many-puffins")
	doc := s.json(exit.OK, "pause", "-c", lake.config, "db.t", "--reason", "moving house")
	assert.Len(t, at(doc, "kinds"), 2)
	assert.Equal(t, "moving house", at(at(doc, "kinds").([]any)[0], "paused"))
	doc = s.json(exit.Locked, "serve", "--once", "-c", lake.config)
	assert.Equal(t, "moving house", at(at(doc, "tables").([]any)[0], "paused"))
	assert.Contains(t, s.run("status", "-c", lake.config).stdout, "compact  paused: moving house")

	assert.Equal(t, exit.OK, s.run("compact", "-c", lake.config, "--dry-run", "lake.db.t").code, "an operator is not hindered")
	o := s.run("resume", "-c", lake.config, "lake.db.t", "--check")
	assert.Equal(t, "lake.db.t  check  resumed; it was blocked: moving house\n", o.stdout)
	doc = s.json(exit.OK, "serve", "--once", "-c", lake.config)
	assert.Empty(t, at(at(doc, "tables").([]any)[0], "runs"), "its maintenance is still paused")
	assert.Len(t, at(at(doc, "tables").([]any)[1], "runs"), 1)

	assert.Equal(t, exit.OK, s.run("resume", "-c", lake.config, "lake.db.t").code)
	doc = s.json(exit.OK, "serve", "--once", "-c", lake.config)
	assert.Len(t, at(at(doc, "tables").([]any)[0], "runs"), 1)
	assert.Contains(t, s.run("resume", "-c", lake.config, "lake.db.t").stdout, "maintenance  not blocked\n")
}

func TestADamagedStateHoldsUpItsTableAloneAndResumeStartsItAfresh(t *testing.T) {
	t.Parallel()
	s, lake := newShell(t), scheduled(t, "v3-many-puffins")
	assert.Equal(t, exit.OK, s.run("serve", "--once", "-c", lake.config).code)
	files, err := filepath.Glob(filepath.Join(lake.dir, "state", "*-maintenance.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.WriteFile(files[0], []byte(`{"tab`), 0o600))
	o := s.run("status", "-c", lake.config)
	assert.NotEqual(t, exit.OK, o.code)
	assert.Contains(t, o.stdout, "unread: what is remembered of it cannot be read")
	assert.Contains(t, o.stderr, files[0])
	assert.NotEqual(t, exit.OK, s.run("serve", "--once", "-c", lake.config).code)
	data, err := os.ReadFile(files[0])
	require.NoError(t, err)
	assert.Equal(t, `{"tab`, string(data), "nobody writes over it")
	assert.Equal(t, exit.OK, s.run("resume", "-c", lake.config, "lake.db.t").code)
	assert.Equal(t, exit.OK, s.run("serve", "--once", "-c", lake.config).code)
}

func TestDamageIsTheExitCodeOfServeOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "testdata", "damaged", "dv-corrupt-flip"))))
	lake := configured(t, dir)
	lake.policies(t, "  - {name: sound, tables: [\"*\"], action: check, level: vectors, schedule: \"@daily\"}\n")
	o := newShell(t).run("serve", "--once", "-c", lake.config)
	assert.Equal(t, exit.Damaged, o.code, o.stdout+o.stderr)
}

func TestWhatTheVerbsOfTheDaemonNeed(t *testing.T) {
	t.Parallel()
	s, plain, memory := newShell(t), newLake(t, "v3-shared-puffin"), newLake(t, "v3-shared-puffin")
	memory.policies(t, "  - {name: p, tables: [\"*\"], action: compact, schedule: \"@daily\"}\n")
	full := scheduled(t, "v3-shared-puffin")
	for line, want := range map[string]string{
		"serve -c " + plain.config:                       "no policies",
		"status -c " + plain.config:                      "no policies",
		"status -c " + memory.config:                     "daemon.state",
		"pause lake.db.t --reason x -c " + memory.config: "daemon.state",
		"resume lake.db.t -c " + memory.config:           "daemon.state",
		"pause lake.db.t -c " + full.config:              "--reason",
		"pause lake.db.* --reason x -c " + full.config:   "one table",
		"pause -c " + full.config + " --reason x":        "accepts 1 arg",
		"serve --shard 0/3 -c " + full.config:            "--shard",
		"serve lake.db.t -c " + full.config:              "unknown command",
		"status -c " + full.config + " t":                "want catalog.namespace.table",
	} {
		o := s.run(strings.Fields(line)...)
		assert.Equal(t, exit.Usage, o.code, "%s: %s", line, o.stderr)
		assert.Contains(t, o.stderr, want, line)
	}
	s.json(exit.NotFound, "pause", "-c", full.config, "lake.db.gone", "--reason", "x")
}

func TestPlanSaysWhatADaemonWouldDo(t *testing.T) {
	t.Parallel()
	s, lake := newShell(t), scheduled(t, "v3-many-puffins")
	doc := s.json(exit.OK, "plan", "-c", lake.config, "lake.db.t")
	assert.Equal(t, map[string]any{"name": "nightly", "why": "policy nightly: lake.* matches", "fires": true, "trigger": "min_puffin_files 40 >= 2"}, at(doc, "policy"))
	assert.Contains(t, s.run("plan", "-c", lake.config, "lake.db.t").stdout, "daemon: would do it when it is due: min_puffin_files 40 >= 2")
	saved := filepath.Join(lake.dir, "plan.json")
	s.json(exit.OK, "plan", "-c", lake.config, "lake.db.t", "-o", saved)
	assert.Equal(t, true, at(s.json(exit.OK, "apply", saved, "-c", lake.config), "committed"))
	doc = s.json(exit.OK, "plan", "-c", lake.config, "lake.db.t")
	assert.Equal(t, "min_puffin_files 1 < 2", at(doc, "policy.trigger"))
	assert.Equal(t, false, at(doc, "policy.fires"))
}

func TestConfigCheckCountsTheTablesOfEachPolicy(t *testing.T) {
	t.Parallel()
	s, lake := newShell(t), newLake(t, "v2-empty-and-full")
	lake.policies(t, `  - {name: most, tables: ["lake.db.*"], exclude: ["lake.db.full"], action: compact, schedule: "@daily"}
  - {name: none, tables: ["lake.other.*"], action: check, schedule: "@daily"}
`)
	doc := s.json(exit.OK, "config", "check", "-c", lake.config)
	assert.Nil(t, at(at(doc, "policies").([]any)[0], "tables"))
	doc = s.json(exit.OK, "config", "check", "--connect", "-c", lake.config)
	assert.EqualValues(t, 3, at(at(doc, "policies").([]any)[0], "tables"))
	assert.EqualValues(t, 0, at(at(doc, "policies").([]any)[1], "tables"))
	text := s.run("config", "check", "--connect", "-c", lake.config).stdout
	assert.Contains(t, text, "takes 3 tables\n")
	assert.Contains(t, text, "takes no table\n")
	assert.Contains(t, text, "2 policies\n")
}

func TestServeOnceThatIsInterruptedSaysBySignal(t *testing.T) {
	t.Parallel()
	lake := scheduled(t, "v3-many-puffins")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&exit.Signal{Signal: syscall.SIGTERM})
	o := newShell(t).runContext(ctx, "serve", "--once", "-c", lake.config)
	assert.Equal(t, exit.Terminated, o.code, o.stderr)
}

func TestThePoliciesOfTheReadmeAreValid(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	_, block, found := strings.Cut(string(readme), "```yaml\npolicies:\n")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```")
	lake := newLake(t, "v3-shared-puffin")
	lake.policies(t, strings.ReplaceAll(block, "prod.", "lake."))
	doc := newShell(t).json(exit.OK, "config", "check", "--connect", "-c", lake.config)
	assert.Len(t, at(doc, "policies"), 2)
	assert.EqualValues(t, 1, at(at(doc, "policies").([]any)[1], "tables"))
}
