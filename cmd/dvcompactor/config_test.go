package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConfigCheck(t *testing.T) {
	s, lake := newShell(t), newLake(t, "v3-shared-puffin")
	doc := s.json(exit.OK, "config", "check", "-c", lake.config)
	assert.Equal(t, true, at(doc, "valid"))
	catalog := at(doc, "catalogs").([]any)[0]
	assert.Equal(t, "lake", at(catalog, "name"))
	assert.Nil(t, at(catalog, "tables"), "nobody was asked")

	doc = s.json(exit.OK, "config", "check", "--connect", "-c", lake.config)
	assert.Equal(t, 1.0, at(at(doc, "catalogs").([]any)[0], "tables"))
	assert.Equal(t, 1.0, at(at(doc, "catalogs").([]any)[0], "namespaces"))
	assert.Equal(t, "s3://lake", at(at(doc, "catalogs").([]any)[0], "store"))
	assert.Contains(t, s.run("config", "check", "--connect", "-c", lake.config).stdout,
		"1 table in 1 namespace  loads db.t from s3://lake, commits by UPDATE ... WHERE metadata_location is as it was read\n")

	require.NoError(t, os.Remove(filepath.Join(lake.dir, "catalog.db")))
	doc = s.json(exit.Failed, "config", "check", "--connect", "-c", lake.config)
	assert.NotEmpty(t, at(at(doc, "catalogs").([]any)[0], "error"))
}

func TestConfigCheckSaysEveryMistake(t *testing.T) {
	s := newShell(t)
	path := filepath.Join(t.TempDir(), "bad.yaml")
	require.NoError(t, os.WriteFile(path, []byte("version: 1\ncatalogs:\n  a: {type: rest}\n  b: {type: sql, uri: 'sqlite:///x', flavour: mint}\n"), 0o600))
	doc := s.json(exit.Usage, "config", "check", "-c", path)
	assert.Equal(t, false, at(doc, "valid"))
	assert.Len(t, at(doc, "mistakes"), 2)
	assert.Equal(t, 3.0, at(at(doc, "mistakes").([]any)[0], "line"))

	o := s.run("config", "check", "-c", path)
	assert.Equal(t, exit.Usage, o.code)
	assert.Contains(t, o.stdout, "not valid")
	assert.Contains(t, o.stdout, path+":4: catalogs.b.flavour")
}

func TestNoSecretIsPrinted(t *testing.T) {
	s := newShell(t)
	s.env["SECRET"] = "hunter2"
	path := filepath.Join(t.TempDir(), "secret.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`version: 1
catalogs:
  a: {type: rest, uri: "https://127.0.0.1:1/", credential: "id:${SECRET}"}
  b: {type: sql, uri: "postgres://user:${SECRET}@127.0.0.1:1/x?connect_timeout=1"}
storage: [{prefix: "s3://lake/", url: "s3://lake?region=x"}]
`), 0o600))
	for _, args := range [][]string{
		{"config", "print"}, {"config", "check"}, {"config", "check", "--connect"}, {"config", "check", "--connect", "--output", "json"},
		{"compact", "a.db.t", "b.db.t"}, {"compact", "a.db.t", "b.db.t", "--output", "json"}, {"compact", "b.*.*"}, {"compact", "b.*.*", "--output", "json"},
	} {
		o := s.run(append(args, "-c", path)...)
		assert.NotContains(t, o.stdout+o.stderr, "hunter2", "%v", args)
	}
	assert.Contains(t, s.run("config", "print", "-c", path).stdout, "credential: xxxxx")
}

func TestConfigCheckTellsOfEveryCatalogWhatWorks(t *testing.T) {
	t.Parallel()
	s, lake := newShell(t), newLake(t, "v3-shared-puffin")
	path := filepath.Join(t.TempDir(), "two.yaml")
	require.NoError(t, os.WriteFile(path, []byte("version: 1\ncatalogs:\n  gone: {type: sql, uri: 'sqlite:///nowhere/c.db'}\n  lake: {type: sql, uri: 'sqlite://"+lake.dir+"/catalog.db'}\n"+
		"storage:\n  - {prefix: 's3://lake/', url: 'file://"+lake.dir+"'}\n"), 0o600))
	doc := s.json(exit.Partial, "config", "check", "--connect", "-c", path)
	gone, works := at(doc, "catalogs").([]any)[0], at(doc, "catalogs").([]any)[1]
	assert.NotEmpty(t, at(gone, "error"))
	assert.Nil(t, at(gone, "tables"))
	assert.Nil(t, at(works, "error"))
	assert.Equal(t, "db.t", at(works, "loaded"))

	require.NoError(t, os.RemoveAll(filepath.Join(lake.dir, "t")))
	doc = s.json(exit.Failed, "config", "check", "--connect", "-c", path)
	works = at(doc, "catalogs").([]any)[1]
	assert.Equal(t, 1.0, at(works, "tables"), "it lists")
	assert.Nil(t, at(works, "loaded"))
	assert.Contains(t, at(works, "error"), "loading db.t: ")
}
