package main

import (
	"os"
	"path/filepath"
	"strconv"

	"testing"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// puffinOf finds a Puffin file of a lake.
func puffinOf(t *testing.T, l testLake) string {
	files, err := filepath.Glob(filepath.Join(l.dir, "t", "data", "*.puffin"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files[0]
}

func TestInspectAFileByPathAndByLocation(t *testing.T) {
	s, lake := newShell(t), newLake(t, "v3-shared-puffin")
	path := puffinOf(t, lake)
	byPath := s.json(exit.OK, "inspect", path)
	byLocation := s.json(exit.OK, "inspect", "-c", lake.config, "s3://lake/t/data/"+filepath.Base(path))
	assert.Equal(t, byPath, byLocation)
	assert.Equal(t, "ok", at(byPath, "footer.status"))
	blob := at(byPath, "blobs").([]any)[0]
	for _, key := range []string{"type", "fields", "snapshot_id", "sequence_number", "offset", "length", "compression_codec", "properties"} {
		assert.Contains(t, blob, key)
	}
	o := s.run("inspect", path)
	assert.Equal(t, exit.OK, o.code)
	assert.Contains(t, o.stdout, "deletion vectors\n")
}

func TestInspectADeletionVectorWithoutTheFooter(t *testing.T) {
	s, lake := newShell(t), newLake(t, "v3-shared-puffin")
	path := puffinOf(t, lake)
	blob := at(s.json(exit.OK, "inspect", path), "blobs").([]any)[0]
	offset, length := number(at(blob, "offset")), number(at(blob, "length"))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data[:len(data)-8], 0o600))

	assert.Equal(t, "corrupt", at(s.json(exit.Damaged, "inspect", path), "footer.status"))
	dv := s.json(exit.OK, "inspect", path, "--offset", offset, "--length", length)
	assert.Equal(t, "ok", at(dv, "dv.status"))
	assert.NotEmpty(t, at(dv, "dv.ranges"))
	dv = s.json(exit.Damaged, "inspect", path, "--offset", offset, "--length", length, "--record-count", "1000")
	assert.Equal(t, "corrupt", at(dv, "dv.status"))
	assert.Nil(t, at(dv, "dv.ranges"))

	o := s.run("inspect", path, "--offset", "-1", "--length", length)
	assert.Equal(t, exit.Damaged, o.code)
	assert.Contains(t, o.stdout, "corrupt")
	assert.Empty(t, o.stderr, "the result says it")
}

func number(v any) string {
	f, _ := v.(float64)
	return strconv.FormatInt(int64(f), 10)
}

func TestWhatCannotBeReadIsNotCorrupt(t *testing.T) {
	s, lake := newShell(t), newLake(t, "v3-shared-puffin")
	doc := s.json(exit.NotFound, "inspect", filepath.Join(lake.dir, "gone.puffin"))
	assert.Equal(t, "not-found", at(doc, "kind"))
	s.json(exit.NotFound, "inspect", filepath.Join(lake.dir, "gone.puffin"), "--offset", "4", "--length", "100")
	s.json(exit.NotFound, "inspect", "gone")
	s.json(exit.Failed, "inspect", "nowhere://bucket/x.puffin")
	s.json(exit.NotFound, "inspect", "-c", lake.config, "lake.db.gone")
	s.json(exit.NotFound, "inspect", "-c", lake.config, "lake.db.t", "--ref", "gone")
}

func TestInspectATable(t *testing.T) {
	s := newShell(t)
	for _, name := range []string{"v3-shared-puffin", "v3-upgraded-mixed", "v2-partition-granular"} {
		lake := newLake(t, name)
		o := s.run("inspect", "-c", lake.config, "lake.db.t")
		assert.Equal(t, exit.OK, o.code)
		golden.Assert(t, "inspect/"+name+".txt", o.stdout)
		o = s.run("inspect", "-c", lake.config, "lake.db.t", "--output", "json")
		golden.Assert(t, "inspect/"+name+".json", o.stdout)
	}
	lake := newLake(t, "v2-empty-and-full")
	o := s.run("inspect", "-c", lake.config, "lake.db.empty", "--output", "json")
	assert.Equal(t, exit.OK, o.code)
	golden.Assert(t, "inspect/empty.json", o.stdout)
}

// A table's own files win over tables of the same name, and a name that is no table is a file.
func TestInspectTellsTablesFromFiles(t *testing.T) {
	s, lake := newShell(t), newLake(t, "v3-shared-puffin")
	t.Chdir(lake.dir)
	data, err := os.ReadFile(puffinOf(t, lake))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("lake.db.t", data, 0o600))
	assert.Contains(t, s.json(exit.OK, "inspect", "-c", lake.config, "lake.db.t"), "footer")
	require.NoError(t, os.Remove("lake.db.t"))
	assert.Contains(t, s.json(exit.OK, "inspect", "-c", lake.config, "lake.db.t"), "puffins")
}
