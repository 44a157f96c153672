package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/logkey"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMigrateNeedsLeaveToUpgrade(t *testing.T) {
	s, lake := newShell(t), newLake(t, "v2-dangling")
	before := lake.files(t)
	for _, dry := range [][]string{nil, {"--dry-run"}} {
		doc := s.json(exit.Refused, append([]string{"migrate", "-c", lake.config, "lake.db.t"}, dry...)...)
		assert.Equal(t, false, at(doc, "committed"))
		assert.Equal(t, "refused", at(doc, "kind"))
		assert.Contains(t, at(doc, "error"), "--upgrade-format")
		assert.Contains(t, at(doc, "error"), "lake.db.t")
	}
	doc := s.json(exit.OK, "compact", "-c", lake.config, "lake.db.t")
	assert.Equal(t, false, at(doc, "committed"))
	assert.Len(t, at(doc, "skipped"), 1, "compact skips, and says why")
	assert.Equal(t, before, lake.files(t), "nothing was written")

	doc = s.json(exit.OK, "migrate", "--upgrade-format", "-c", lake.config, "lake.db.t")
	assert.Equal(t, true, at(doc, "committed"))
	assert.Equal(t, true, at(doc, "upgraded_format"))
	assert.EqualValues(t, 0, at(doc, "after.position_delete_files"))
	assert.Equal(t, at(doc, "digest_before"), at(doc, "digest_after"))
	assert.NotEmpty(t, at(doc, "digest_after"))
}

func TestCompactOnceAndNeverAgain(t *testing.T) {
	s, lake := newShell(t), newLake(t, "v3-many-puffins")
	before := lake.files(t)
	o := s.run("compact", "--dry-run", "-c", lake.config, "db.t")
	assert.Equal(t, exit.OK, o.code)
	assert.Contains(t, o.stdout, "write anew: 40 puffin files")
	assert.Equal(t, before, lake.files(t))

	doc := s.json(exit.OK, "compact", "-c", lake.config, "lake.db.t")
	for path, want := range map[string]any{
		"table": "lake.db.t", "ref": "main", "action": "compact", "committed": true, "before.puffin_files": 40.0, "after.puffin_files": 1.0,
		"before.deletion_vectors": 40.0, "after.deletion_vectors": 40.0, "before.deleted_rows": 80.0, "after.deleted_rows": 80.0,
	} {
		assert.Equal(t, want, at(doc, path), path)
	}
	assert.NotNil(t, at(doc, "snapshot_after"))
	assert.Positive(t, at(doc, "requests.puts"))

	doc = s.json(exit.OK, "compact", "-c", lake.config, "lake.db.t")
	assert.Equal(t, false, at(doc, "committed"))
	assert.Nil(t, at(doc, "snapshot_after"))
	assert.Contains(t, s.run("compact", "-c", lake.config, "lake.db.t").stdout, "nothing to do")
}

func TestABranchIsCompactedAlone(t *testing.T) {
	s, lake := newShell(t), newLake(t, "v2-branches-tags")
	doc := s.json(exit.NotFound, "compact", "-c", lake.config, "--ref", "nope", "lake.db.t")
	assert.Equal(t, "not-found", at(doc, "kind"))
	assert.Equal(t, "nope", at(doc, "ref"))
	assert.Equal(t, false, at(doc, "committed"))
}

func TestSeveralTablesAreAListWhateverHappens(t *testing.T) {
	s, lake := newShell(t), newLake(t, "v2-empty-and-full")
	doc := s.json(exit.OK, "migrate", "--upgrade-format", "-c", lake.config, "lake.db.*")
	assert.Len(t, at(doc, "tables"), 4)
	assert.Equal(t, true, at(doc, "committed"))
	assert.Empty(t, at(doc, "failed"))

	doc = s.json(exit.Partial, "compact", "-c", lake.config, "lake.db.gone", "lake.db.full")
	assert.Len(t, at(doc, "tables"), 1)
	failed := at(doc, "failed").([]any)[0]
	assert.Equal(t, "lake.db.gone", at(failed, "table"))
	assert.NotEmpty(t, at(failed, "error"))

	doc = s.json(exit.NotFound, "compact", "-c", lake.config, "lake.db.gone", "lake.db.gone2")
	assert.Len(t, at(doc, "failed"), 2, "the common code when none went well")

	doc = s.json(exit.OK, "compact", "-c", lake.config, "lake.db.ful?")
	assert.Len(t, at(doc, "tables"), 1, "the form of the list does not depend on how many tables match")
	s.json(exit.NotFound, "compact", "-c", lake.config, "lake.db.x*")
	s.json(exit.NotFound, "compact", "-c", lake.config, "lake.nowhere.t")

	o := s.run("compact", "-c", lake.config, "lake.db.gone", "lake.db.full")
	assert.Equal(t, exit.Partial, o.code)
	assert.Contains(t, o.stdout, "lake.db.gone  not found\n")
	assert.Contains(t, o.stdout, "\n1 table done, 0 skipped, 1 failed\n")
}

func TestATableThatOptedOut(t *testing.T) {
	s, lake := newShell(t), newLake(t, "v2-empty-and-full")
	lake.optOut(t, "full")
	doc := s.json(exit.Refused, "compact", "-c", lake.config, "lake.db.full")
	assert.Contains(t, at(doc, "error"), "dvcompactor.enabled")

	doc = s.json(exit.OK, "compact", "-c", lake.config, "lake.db.*")
	assert.Len(t, at(doc, "tables"), 3)
	assert.Equal(t, "lake.db.full", at(at(doc, "skipped").([]any)[0], "table"))
	o := s.run("compact", "-c", lake.config, "lake.db.*")
	assert.Contains(t, o.stdout, "lake.db.full  skipped: its property dvcompactor.enabled is false\n")
	assert.NotContains(t, o.stderr, `"level":"error"`, "nobody needs to hear of it")
}

func TestPlanThenApplyOrRefuse(t *testing.T) {
	s, lake := newShell(t), newLake(t, "v3-shared-puffin")
	saved := filepath.Join(lake.dir, "plan.json")
	args := []string{"-c", lake.config, "lake.db.t", "--detailed-exit-code"}

	plan := s.json(exit.Work, append([]string{"plan", "-o", saved}, args...)...)
	assert.Equal(t, true, at(plan, "work"))
	data, err := os.ReadFile(saved)
	require.NoError(t, err)
	var fromFile map[string]any
	require.NoError(t, json.Unmarshal(data, &fromFile))
	assert.Equal(t, plan, fromFile, "what is saved is what is printed")

	done := s.json(exit.OK, "apply", saved, "-c", lake.config)
	assert.Equal(t, true, at(done, "committed"))
	assert.Equal(t, at(plan, "plan_id"), at(done, "plan_id"))

	stale := s.json(exit.Stale, "apply", saved, "-c", lake.config)
	assert.Equal(t, false, at(stale, "committed"))
	assert.Equal(t, "stale", at(stale, "kind"))

	s.json(exit.OK, append([]string{"plan"}, args...)...)
	s.json(exit.NotFound, "apply", saved+".gone", "-c", lake.config)
}

func TestPlanOfEverythingIsAppliedAsOne(t *testing.T) {
	s, lake := newShell(t), newLake(t, "v2-empty-and-full")
	saved := filepath.Join(lake.dir, "plan.json")
	o := s.run("plan", "-c", lake.config, "--action", "migrate", "--upgrade-format", "-o", saved)
	assert.Equal(t, exit.OK, o.code)
	assert.Contains(t, o.stdout, "upgrades the table to format version 3")
	doc := s.json(exit.OK, "apply", "-c", lake.config, saved)
	assert.Len(t, at(doc, "tables"), 4)
	assert.Equal(t, true, at(doc, "committed"))
}

func TestAPlanThatCannotBeSavedIsAFailure(t *testing.T) {
	s, lake := newShell(t), newLake(t, "v3-shared-puffin")
	doc := s.json(exit.Failed, "plan", "-c", lake.config, "lake.db.t", "-o", lake.config+"/plan.json")
	assert.Contains(t, at(doc, "error"), "saving the plan")
}

func TestEveryRunIsOneLineInTheLog(t *testing.T) {
	s, lake := newShell(t), newLake(t, "v3-shared-puffin")
	o := s.run("compact", "-c", lake.config, "lake.db.t")
	require.Equal(t, 1, strings.Count(o.stderr, "\n"), o.stderr)
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(o.stderr), &line))
	for key, want := range map[string]any{
		"msg": "run finished", "level": "info", logkey.Table: "lake.db.t", logkey.Ref: "main", logkey.Action: "compact", logkey.Committed: true, logkey.PuffinsBefore: 3.0, logkey.PuffinsAfter: 1.0,
	} {
		assert.Equal(t, want, line[key], key)
	}
	o = s.run("compact", "-c", lake.config, "lake.db.t", "--log-level", "error")
	assert.Empty(t, o.stderr)
	o = s.run("compact", "-c", lake.config, "lake.db.gone")
	assert.Equal(t, 1, strings.Count(o.stderr, "\n"), o.stderr)
	assert.Contains(t, o.stderr, `"exit_code":10`)
}

func TestOnATerminal(t *testing.T) {
	s, lake := newShell(t), newLake(t, "v3-many-puffins")
	s.terminal = true
	o := s.run("compact", "-c", lake.config, "lake.db.t")
	assert.Contains(t, o.stdout, "\x1b[1mlake.db.t\x1b[0m")
	assert.Contains(t, o.stderr, "\r\x1b[Kreading manifests")
	assert.Contains(t, o.stderr, "writing deletion vectors")
	assert.True(t, strings.HasSuffix(o.stderr, "\r\x1b[K"), "the progress line is gone at the end")
	assert.NotContains(t, o.stderr, "run finished", "the result says the same")

	s.env["NO_COLOR"] = "1"
	assert.NotContains(t, s.run("compact", "-c", lake.config, "lake.db.t").stdout, "\x1b[")
	delete(s.env, "NO_COLOR")
	assert.NotContains(t, s.run("compact", "-c", lake.config, "lake.db.t", "--no-color").stdout, "\x1b[")
	s.env["TERM"] = "dumb"
	assert.NotContains(t, s.run("compact", "-c", lake.config, "lake.db.t").stdout, "\x1b[")
}

func TestASignalBeforeTheFirstTable(t *testing.T) {
	lake := newLake(t, "v3-shared-puffin")
	for s, want := range map[syscall.Signal]exit.Code{syscall.SIGINT: exit.Interrupted, syscall.SIGTERM: exit.Terminated} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(&exit.Signal{Signal: s})
		before := lake.files(t)
		o := newShell(t).runContext(ctx, "compact", "-c", lake.config, "lake.db.t", "--output", "json")
		assert.Equal(t, want, o.code, o.stderr)
		var doc map[string]any
		require.NoError(t, json.Unmarshal([]byte(o.stdout), &doc))
		assert.Equal(t, "lake.db.t", at(doc, "table"))
		assert.Equal(t, "interrupted", at(doc, "kind"))
		assert.Equal(t, false, at(doc, "committed"))
		assert.Equal(t, before, lake.files(t))
	}
}

func TestFirstSignalCancels(t *testing.T) {
	ctx, stop := untilSignal(t.Context())
	defer stop()
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	<-ctx.Done()
	assert.Equal(t, exit.Terminated, exit.Of(context.Cause(ctx)))
}

func TestWithoutAConfiguration(t *testing.T) {
	s, lake := newShell(t), newLake(t, "v3-shared-puffin")
	uri := "sqlite://" + lake.dir + "/catalog.db"
	doc := s.json(exit.NotFound, "compact", "--catalog-uri", uri, "lake.db.gone")
	assert.Equal(t, "lake.db.gone", at(doc, "table"), "the catalog is found by the first level of the name")
	doc = s.json(exit.NotFound, "compact", "--catalog-uri", uri, "--catalog-name", "other", "db.t")
	assert.Equal(t, "other.db.t", at(doc, "table"))
}
