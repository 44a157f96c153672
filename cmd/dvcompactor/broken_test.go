package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newest returns the newest metadata file of a table, which is its current one.
func (l testLake) newest(t *testing.T, table string) string {
	files, err := filepath.Glob(filepath.Join(l.dir, table, "metadata", "*.metadata.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files[len(files)-1] // their names begin with a number
}

// replace replaces a text in the current metadata of a table.
func (l testLake) replace(t *testing.T, table, old, text string) {
	path := l.newest(t, table)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	changed := bytes.ReplaceAll(data, []byte(old), []byte(text))
	require.NotEqual(t, data, changed)
	require.NoError(t, os.WriteFile(path, changed, 0o600))
}

// metadataFile returns one file of the metadata folder of a table by a pattern.
func (l testLake) metadataFile(t *testing.T, table, pattern string) string {
	files, err := filepath.Glob(filepath.Join(l.dir, table, "metadata", pattern))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files[0]
}

func TestOneBrokenTableFailsAloneWithTheNameOfWhatIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		remove string // of the table full, by pattern; "" for the current metadata file
		code   exit.Code
	}{
		"metadata file": {"", exit.Failed}, "manifest list": {"snap-*.avro", exit.Failed}, "manifest": {"*-m0.avro", exit.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, lake := newShell(t), newLake(t, "v2-empty-and-full")
			gone := lake.newest(t, "full")
			if c.remove != "" {
				all, err := filepath.Glob(filepath.Join(lake.dir, "full", "metadata", c.remove))
				require.NoError(t, err)
				for _, path := range all {
					require.NoError(t, os.Remove(path))
				}
			} else {
				require.NoError(t, os.Remove(gone))
			}
			before := lake.files(t)
			doc := s.json(exit.Partial, "migrate", "--upgrade-format", "-c", lake.config, "lake.db.*")
			assert.Len(t, at(doc, "tables"), 3, "the others are done")
			failed := at(doc, "failed").([]any)
			require.Len(t, failed, 1)
			assert.Equal(t, "lake.db.full", at(failed[0], "table"))
			assert.Contains(t, at(failed[0], "error"), "object does not exist")
			assert.Contains(t, at(failed[0], "error"), "s3://lake/full/metadata/")
			for _, f := range lake.files(t) {
				if strings.Contains(f, "/full/") {
					assert.Contains(t, before, f, "nothing is written for it")
				}
			}
			s.json(c.code, "migrate", "--upgrade-format", "-c", lake.config, "lake.db.full")
		})
	}
}

func TestATableThatNamesAFileOutsideOfItsStoreIsRefusedAlone(t *testing.T) {
	t.Parallel()
	s, lake := newShell(t), newLake(t, "v2-empty-and-full")
	list := filepath.Base(lake.metadataFile(t, "full", "snap-*.avro"))
	lake.replace(t, "full", "s3://lake/full/metadata/"+list[:5], "s3://lake/../../etc/"+list[:5])
	before := lake.files(t)
	doc := s.json(exit.Refused, "migrate", "--upgrade-format", "-c", lake.config, "lake.db.full")
	assert.Equal(t, "refused", at(doc, "kind"))
	assert.Contains(t, at(doc, "error"), "location refused")
	assert.Contains(t, at(doc, "error"), "lake.db.full")
	assert.Equal(t, before, lake.files(t))
	doc = s.json(exit.Partial, "migrate", "--upgrade-format", "-c", lake.config, "lake.db.*")
	assert.Len(t, at(doc, "tables"), 3)
}
