package main

import (
	"path/filepath"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/stretchr/testify/assert"
)

func TestDemo(t *testing.T) {
	t.Parallel()
	s, dir := newShell(t), t.TempDir()
	o := s.run("demo", "--scale", "60", "--dir", filepath.Join(dir, "text"))
	assert.Equal(t, exit.OK, o.code, o.stderr)
	for _, want := range []string{"worn down by position deletes", "migrated", "compacted", "read the same rows", "dvcompactor inspect --catalog-uri sqlite://" + dir} {
		assert.Contains(t, o.stdout, want)
	}
	doc := s.json(exit.OK, "demo", "--scale", "60", "--dir", filepath.Join(dir, "json"))
	assert.Len(t, at(doc, "steps"), 4)
	assert.Equal(t, true, at(doc, "compact.committed"))
	assert.Equal(t, true, at(doc, "migrate.upgraded_format"))

	uri := at(doc, "catalog_uri").(string)
	assert.Equal(t, false, at(s.json(exit.OK, "compact", "--catalog-uri", uri, "demo.db.orders"), "committed"))
	assert.EqualValues(t, 1, at(s.json(exit.OK, "inspect", "--catalog-uri", uri, "demo.db.orders"), "deletes.puffin_files"))
	assert.Equal(t, exit.Failed, s.run("demo", "--dir", filepath.Join(dir, "json")).code, "never over one that is there")
}
