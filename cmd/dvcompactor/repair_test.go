package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/golden"
	"github.com/dvcompactor/dvcompactor/internal/logkey"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/damage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// repair is a command line that repairs the table of a lake.
func (l testLake) repair(args ...string) []string {
	return append([]string{"repair", "-c", l.config, "lake.db.t"}, args...)
}

// forgedLake is a damaged table that is made on the spot, in a folder: the first with an issue and words in its name.
func forgedLake(t *testing.T, issue, words string) (testLake, *damage.Table) {
	all := damage.All()
	i := slices.IndexFunc(all, func(c damage.Case) bool { return c.Issue == issue && strings.Contains(c.Name, words) })
	require.GreaterOrEqual(t, i, 0, "no such case")
	made, dir := all[i].Make(t), t.TempDir()
	write := func(key string, data []byte) {
		path := filepath.Join(dir, filepath.FromSlash(key))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
	for _, key := range made.Lake.Keys() {
		write(key, made.Lake.Get("s3://lake/"+key))
	}
	meta, err := json.Marshal(made.Lake.Load().Metadata)
	require.NoError(t, err)
	write("t/metadata/00000-0.metadata.json", meta)
	testlake.Register(t, dir, "s3://lake/", "s3://lake/t/metadata/00000-0.metadata.json")
	return configured(t, dir), made
}

// first returns the first thing of a list of a document.
func first(t *testing.T, doc any, path string) any {
	list, _ := at(doc, path).([]any)
	require.NotEmpty(t, list, path)
	return list[0]
}

func TestARepairIsDryUntilApplyIsGiven(t *testing.T) {
	t.Parallel()
	s, lake := newShell(t), damagedLake(t, "dv-incomplete")
	before := lake.files(t)
	doc := s.json(exit.OK, lake.repair("--issue", "dv-incomplete")...)
	assert.Equal(t, before, lake.files(t), "nothing is written")
	for path, want := range map[string]any{
		"table": "lake.db.t", "ref": "main", "action": "repair", "applied": false, "committed": false, "operation": "delete",
		"snapshot_after": nil, "restore_rows": 0.0, "needs_confirmation": false, "tag": "dvcompactor-before-" + at(doc, "plan_id").(string)[:8],
	} {
		assert.Equal(t, want, at(doc, path), path)
	}
	file := first(t, doc, "data_files")
	assert.Equal(t, "s3://lake/t/data/f0.parquet", at(file, "data_file"))
	assert.Equal(t, 3.0, at(file, "deleted_rows_before"))
	assert.Equal(t, 8.0, at(file, "deleted_rows_after"))
	assert.Equal(t, []any{"dv-incomplete"}, at(file, "issues"))
	assert.Len(t, at(file, "sources"), 2)

	done := s.json(exit.OK, lake.repair("--issue", "dv-incomplete", "--apply")...)
	assert.Equal(t, true, at(done, "applied"))
	assert.Equal(t, true, at(done, "committed"))
	assert.Equal(t, at(doc, "plan_id"), at(done, "plan_id"), "what was shown is what was done")
	assert.Equal(t, at(doc, "data_files"), at(done, "data_files"))
	assert.NotEmpty(t, at(done, "verified"))
	assert.Contains(t, at(done, "rollback"), "rollback_to_snapshot('db.t', 1246669709524645858)")
	s.json(exit.OK, "check", "--read-dvs", "--issue", "dv-incomplete", "-c", lake.config, "lake.db.t")

	again := s.json(exit.OK, lake.repair("--issue", "dv-incomplete", "--apply")...)
	assert.Equal(t, false, at(again, "committed"), "a second one finds nothing")
	assert.Empty(t, at(again, "findings"))
	assert.Equal(t, []any{}, at(again, "skipped"), "a list, also when it is empty")
}

func TestWhatIsDamagedIsCopiedAsItIs(t *testing.T) {
	t.Parallel()
	s, lake := newShell(t), damagedLake(t, "dv-bare-blob")
	damaged, err := os.ReadFile(filepath.Join(lake.dir, "t", "data", "bare.puffin"))
	require.NoError(t, err)
	doc := s.json(exit.OK, lake.repair("--issue", "dv-bare-blob", "--apply")...)
	assert.Equal(t, "replace", at(doc, "operation"))
	assert.Empty(t, at(doc, "tag"), "a snapshot that readers fail on gets no tag by itself")
	copies := at(doc, "copies").([]any)
	require.Len(t, copies, 2)
	local := func(c any) string {
		return filepath.Join(lake.dir, strings.TrimPrefix(at(c, "location").(string), "s3://lake/"))
	}
	kept, err := os.ReadFile(local(copies[0]))
	require.NoError(t, err)
	assert.Equal(t, damaged, kept)
	assert.Equal(t, "s3://lake/t/data/bare.puffin", at(copies[0], "of"))
	assert.Equal(t, float64(len(damaged)), at(copies[0], "bytes"))
	text, err := os.ReadFile(local(copies[1]))
	require.NoError(t, err)
	var about map[string]any
	require.NoError(t, json.Unmarshal(text, &about))
	assert.Equal(t, at(doc, "plan_id"), at(about, "plan_id"), "the report is beside it")
}

func TestTheTagIsPutWhenTheOperatorSaysSo(t *testing.T) {
	t.Parallel()
	s, lake := newShell(t), damagedLake(t, "dv-bare-blob")
	doc := s.json(exit.OK, lake.repair("--issue", "dv-bare-blob", "--apply", "--tag", "always")...)
	tag := at(doc, "tag").(string)
	require.NotEmpty(t, tag)
	assert.Equal(t, at(doc, "snapshot_before"), at(s.json(exit.Damaged, "check", "--read-dvs", "-c", lake.config, "--ref", tag, "lake.db.t"), "snapshot_before"))
	refused := s.json(exit.Refused, lake.repair("--issue", "dv-bare-blob", "--ref", tag)...)
	assert.Contains(t, at(refused, "error"), "tag")

	lake = damagedLake(t, "dv-incomplete")
	assert.Empty(t, at(s.json(exit.OK, lake.repair("--issue", "dv-incomplete", "--apply", "--tag", "never")...), "tag"))
}

func TestRowsComeBackOnlyWhenTheirNumberIsConfirmed(t *testing.T) {
	t.Parallel()
	s, lake := newShell(t), damagedLake(t, "dv-corrupt-flip")
	before := lake.files(t)
	doc := s.json(exit.OK, lake.repair("--issue", "dv-corrupt")...)
	assert.Equal(t, true, at(doc, "needs_confirmation"))
	assert.Equal(t, 7.0, at(doc, "restore_rows"))
	assert.Nil(t, at(first(t, doc, "data_files"), "deleted_rows_before"), "readers fail")
	assert.Equal(t, 7.0, at(first(t, doc, "data_files"), "restored_rows"))
	assert.Equal(t, "ask", at(first(t, doc, "data_files"), "repair"))
	for _, args := range [][]string{{"--apply"}, {"--apply", "--restore-rows", "6"}, {"--apply", "--restore-rows", "0"}, {"--restore-rows", "8"}} {
		doc := s.json(exit.Refused, lake.repair(append(args, "--issue", "dv-corrupt")...)...)
		assert.Equal(t, "confirm", at(doc, "kind"))
		assert.Equal(t, false, at(doc, "committed"))
		assert.Equal(t, 7.0, at(doc, "restore_rows"), "the number to confirm is told")
	}
	assert.Equal(t, before, lake.files(t))

	doc = s.json(exit.OK, lake.repair("--issue", "dv-corrupt", "--apply", "--restore-rows", "7")...)
	assert.Equal(t, true, at(doc, "committed"))
	assert.Equal(t, 21.0, at(doc, "before.deleted_rows"))
	assert.Equal(t, 14.0, at(doc, "after.deleted_rows"))
	assert.NotEmpty(t, at(doc, "tag"), "the snapshot before is the only place that knows of them")
	s.json(exit.OK, "check", "--read-dvs", "--issue", "dv-corrupt", "-c", lake.config, "lake.db.t")
}

func TestRepairForPeople(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		lake string
		code exit.Code
		args []string
	}{
		{"dry", "dv-duplicate-disjoint", exit.OK, []string{"--issue", "dv-duplicate"}},
		{"applied", "dv-incomplete", exit.OK, []string{"--issue", "dv-incomplete", "--apply"}},
		{"ask", "dv-corrupt-flip", exit.OK, []string{"--issue", "dv-corrupt"}},
		{"ask-refused", "dv-corrupt-flip", exit.Refused, []string{"--issue", "dv-corrupt", "--apply"}},
		{"nothing", "healthy", exit.OK, []string{"--issue", "dv-corrupt", "--apply"}},
		{"twice-listed", "dv-listed-twice", exit.OK, []string{"--issue", "dv-listed-twice"}},
		{"reported-only", "dv-incomplete", exit.Refused, []string{"--issue", "lineage-damage"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := newShell(t).run(damagedLake(t, c.lake).repair(c.args...)...)
			assert.Equal(t, c.code, o.code, o.stderr)
			golden.Assert(t, "repair/"+c.name+".txt", steady(o.stdout))
		})
	}
	s := newShell(t)
	s.terminal = true
	o := s.run(damagedLake(t, "dv-corrupt-flip").repair("--issue", "dv-corrupt")...)
	assert.Contains(t, o.stdout, "\x1b[31mask")
	assert.NotContains(t, o.stderr, "repair finished", "the result says the same")
}

func TestARepairTakesOnlyTheFileItIsGiven(t *testing.T) {
	t.Parallel()
	s, lake := newShell(t), damagedLake(t, "dv-duplicate-disjoint")
	chosen := func(file string) int {
		doc := s.json(exit.OK, lake.repair("--issue", "dv-duplicate", "--file", file)...)
		return len(at(doc, "findings").([]any))
	}
	puffin := "s3://lake/t/data/dv-66495431094.puffin"
	for file, want := range map[string]int{
		"s3://lake/t/data/f0.parquet": 1, "s3://lake/t/data/f1.parquet": 0, puffin: 1, puffin + "#4": 1, puffin + "#56": 0,
		"s3://lake/t/data/f0.parquet#not-an-offset": 0,
	} {
		assert.Equal(t, want, chosen(file), file)
	}
}

func TestAnAliasSaysWhatAPathMeans(t *testing.T) {
	t.Parallel()
	lake, made := forgedLake(t, "path-near-miss", "")
	s := newShell(t)
	require.NotEmpty(t, made.Aliases)
	doc := s.json(exit.Refused, lake.repair("--issue", "path-near-miss", "--ref", made.Ref)...)
	assert.Equal(t, "no-repair", at(doc, "kind"))
	for from, to := range made.Aliases {
		doc = s.json(exit.OK, lake.repair("--issue", "path-near-miss", "--ref", made.Ref, "--alias", from+"="+to, "--apply")...)
	}
	assert.Equal(t, true, at(doc, "committed"))
	assert.EqualValues(t, len(made.Right[made.DataFile]), at(first(t, doc, "data_files"), "deleted_rows_after"))
}

func TestABranchIsRepairedAlone(t *testing.T) {
	t.Parallel()
	lake, made := forgedLake(t, "dv-partition", "on a branch")
	s := newShell(t)
	main := at(s.json(exit.OK, "check", "-c", lake.config, "lake.db.t"), "snapshot_before")
	assert.Empty(t, at(s.json(exit.OK, lake.repair("--issue", "dv-partition", "--apply")...), "findings"), "main is sound")
	doc := s.json(exit.OK, lake.repair("--issue", "dv-partition", "--apply", "--ref", made.Ref)...)
	assert.Equal(t, true, at(doc, "committed"))
	assert.Equal(t, made.Ref, at(doc, "ref"))
	assert.Equal(t, at(doc, "snapshot_after"), at(s.json(exit.OK, "check", "-c", lake.config, "--ref", made.Ref, "lake.db.t"), "snapshot_before"))
	assert.Equal(t, main, at(s.json(exit.OK, "check", "-c", lake.config, "lake.db.t"), "snapshot_before"))
	s.json(exit.NotFound, lake.repair("--issue", "dv-partition", "--ref", "nope")...)
}

func TestADataFileWithTwoFaultsNeedsBothNamed(t *testing.T) {
	t.Parallel()
	lake, made := forgedLake(t, "dv-sequence", "another partition")
	s, before := newShell(t), lake.files(t)
	for _, issue := range []string{"dv-sequence", "dv-partition"} {
		doc := s.json(exit.Refused, lake.repair("--issue", issue, "--apply")...)
		assert.Equal(t, "no-repair", at(doc, "kind"))
		assert.Contains(t, at(doc, "error"), made.DataFile)
		assert.Regexp(t, "--issue (dv-sequence,dv-partition|dv-partition,dv-sequence)", at(doc, "error"))
	}
	assert.Equal(t, before, lake.files(t))
	doc := s.json(exit.OK, lake.repair("--issue", "dv-sequence,dv-partition", "--apply")...)
	assert.Equal(t, []any{"dv-partition", "dv-sequence"}, at(first(t, doc, "data_files"), "issues"))
	s.json(exit.OK, "check", "--read-dvs", "-c", lake.config, "lake.db.t")
}

func TestARepairIsOneLineInTheLog(t *testing.T) {
	t.Parallel()
	s, lake := newShell(t), damagedLake(t, "dv-corrupt-flip")
	o := s.run(lake.repair("--issue", "dv-corrupt", "--apply")...)
	require.Equal(t, 1, strings.Count(o.stderr, "\n"), o.stderr)
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(o.stderr), &line))
	for key, want := range map[string]any{
		"msg": "repair failed", "level": "error", logkey.Table: "lake.db.t", logkey.Action: "repair", logkey.Committed: false, logkey.RestoredRows: 7.0, logkey.Kind: "confirm", logkey.ExitCode: 8.0,
	} {
		assert.Equal(t, want, line[key], key)
	}
}

// steady takes out of a text what no two runs have in common: ids of new snapshots, sizes, and times.
func steady(text string) string {
	for _, volatile := range []struct{ pattern, word string }{
		{`committed snapshot \d+`, "committed snapshot ID"}, {`\d+ requests; .*`, "REQUESTS"}, {`: \d+ requests, .*`, ": REQUESTS"},
	} {
		text = regexp.MustCompile(volatile.pattern).ReplaceAllString(text, volatile.word)
	}
	return text
}
