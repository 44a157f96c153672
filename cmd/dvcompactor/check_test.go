package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// damagedLake is a copy of a lake of testdata/damaged with a configuration.
func damagedLake(t *testing.T, name string) testLake {
	return newLake(t, filepath.Join("..", "damaged", name))
}

func TestCheckSaysWhatIsDamagedAndExitsWith4(t *testing.T) {
	t.Parallel()
	s, lake := newShell(t), damagedLake(t, "dv-bare-blob")
	before := lake.files(t)
	doc := s.json(exit.Damaged, "check", "--read-dvs", "-c", lake.config, "lake.db.t")
	assert.Equal(t, "check", at(doc, "action"))
	assert.Equal(t, "vectors", at(doc, "level"))
	assert.Equal(t, true, at(doc, "damaged"))
	assert.Equal(t, false, at(doc, "committed"))
	assert.Nil(t, at(doc, "snapshot_after"))
	findings := at(doc, "findings").([]any)
	require.Len(t, findings, 1)
	assert.Equal(t, "dv-bare-blob", at(findings[0], "issue"))
	assert.Equal(t, "safe", at(findings[0], "repair"))
	assert.Equal(t, "s3://lake/t/data/f3.parquet", at(findings[0], "data_file"))
	assert.Equal(t, 8.0, at(findings[0], "rows"))
	assert.Equal(t, 0.0, at(findings[0], "offset"), "an offset of 0 is one")
	assert.Equal(t, before, lake.files(t))

	assert.Equal(t, false, at(s.json(exit.OK, "check", "-c", lake.config, "lake.db.t"), "damaged"), "manifests do not show it")
	s.json(exit.Damaged, "check", "--read-footers", "-c", lake.config, "lake.db.t")
	s.json(exit.OK, "check", "--read-dvs", "--issue", "dv-corrupt,dv-range", "-c", lake.config, "lake.db.t")
	s.json(exit.Damaged, "check", "--read-dvs-subset", "100%", "-c", lake.config, "lake.db.t")
}

func TestCheckOfASoundTableExitsWith0(t *testing.T) {
	t.Parallel()
	s, lake := newShell(t), damagedLake(t, "healthy")
	doc := s.json(exit.OK, "check", "--read-dvs", "-c", lake.config, "lake.db.t")
	assert.Empty(t, at(doc, "findings"))
	assert.Equal(t, false, at(doc, "damaged"))
	assert.Contains(t, s.run("check", "-c", lake.config, "lake.db.t").stdout, "nothing found")

	waste := newLake(t, "v2-dangling")
	doc = s.json(exit.OK, "check", "--read-dvs", "-c", waste.config, "lake.db.t")
	assert.NotEmpty(t, at(doc, "findings"), "what only wastes space is told and is no damage")
}

func TestCheckGoesAsFarBackAsHistorySays(t *testing.T) {
	t.Parallel()
	s, lake := newShell(t), damagedLake(t, "delete-dropped")
	doc := s.json(exit.Damaged, "check", "-c", lake.config, "lake.db.t")
	assert.Equal(t, "delete-dropped", at(at(doc, "findings").([]any)[0], "issue"))
	s.json(exit.Damaged, "check", "--history", "1", "-c", lake.config, "lake.db.t")
	s.json(exit.OK, "check", "--history", "0", "-c", lake.config, "lake.db.t")
}

func TestCheckForPeople(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"dv-misbound", "dv-corrupt-flip", "healthy"} {
		o := newShell(t).run("check", "--read-dvs", "-c", damagedLake(t, name).config, "lake.db.t")
		golden.Assert(t, "check/"+name+".txt", o.stdout)
	}
	s := newShell(t)
	s.terminal = true
	assert.Contains(t, s.run("check", "--read-dvs", "-c", damagedLake(t, "dv-misbound").config, "lake.db.t").stdout, "\x1b[31mwrong")
}

func TestOneTableThatCannotBeCheckedDoesNotHideDamageOfAnother(t *testing.T) {
	t.Parallel()
	s, lake := newShell(t), newLake(t, "v2-empty-and-full")
	require.NoError(t, os.Remove(lake.newest(t, "empty")))
	doc := s.json(exit.Partial, "check", "-c", lake.config, "lake.db.*")
	assert.Len(t, at(doc, "tables"), 3)
	assert.Len(t, at(doc, "failed"), 1)

	require.NoError(t, os.Remove(lake.metadataFile(t, "full", "*-m0.avro")))
	doc = s.json(exit.Damaged, "check", "-c", lake.config, "lake.db.*")
	assert.Len(t, at(doc, "tables"), 3)
	assert.Len(t, at(doc, "failed"), 1)
	assert.Contains(t, s.run("check", "-c", lake.config, "lake.db.*").stdout, "manifest-unreadable")
}

func TestWrongUsageOfCheck(t *testing.T) {
	t.Parallel()
	lake := damagedLake(t, "healthy")
	for _, args := range [][]string{
		{"--issue", "dv-nonsense"}, {"--read-dvs-subset", "8/7"}, {"--read-dvs-subset", "1/7", "--read-dvs"}, {"--read-dvs-subset", ""}, {"--issue", ""},
	} {
		o := newShell(t).run(append([]string{"check", "-c", lake.config, "lake.db.t"}, args...)...)
		assert.Equal(t, exit.Usage, o.code, "%v %s", args, o.stdout)
	}
	assert.Equal(t, exit.NotFound, newShell(t).run("check", "-c", lake.config, "--ref", "nope", "lake.db.t").code)
}

func TestIssuesAreCompleted(t *testing.T) {
	t.Parallel()
	o := newShell(t).run("__complete", "check", "--issue", "")
	assert.Equal(t, exit.OK, o.code)
	assert.Contains(t, o.stdout, "dv-bare-blob\ta deletion vector without a Puffin file")
}
