package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/stretchr/testify/require"
)

// outcome is what a command line did.
type outcome struct {
	code           exit.Code
	stdout, stderr string
}

// shell runs command lines in this process.
type shell struct {
	t        *testing.T
	env      map[string]string
	terminal bool // standard output and standard error are a terminal of 100 columns
}

func newShell(t *testing.T) *shell { return &shell{t: t, env: map[string]string{}} }

func (s *shell) run(args ...string) outcome { return s.runContext(s.t.Context(), args...) }

func (s *shell) runContext(ctx context.Context, args ...string) outcome {
	var stdout, stderr bytes.Buffer
	e := env{
		stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
		lookupEnv:  func(name string) (string, bool) { v, ok := s.env[name]; return v, ok },
		isTerminal: func(io.Writer) bool { return s.terminal },
		width:      func(io.Writer) int { return 100 },
		build:      build{Version: "1.2.3", Revision: "abc", Go: "go1"},
	}
	code := run(ctx, e, args)
	return outcome{code, stdout.String(), stderr.String()}
}

// json runs a command line with --output json and returns its only document.
func (s *shell) json(code exit.Code, args ...string) map[string]any {
	s.t.Helper()
	o := s.run(append(args, "--output", "json")...)
	require.Equal(s.t, code, o.code, "%s%s", o.stdout, o.stderr)
	d := json.NewDecoder(strings.NewReader(o.stdout))
	var doc map[string]any
	require.NoError(s.t, d.Decode(&doc), o.stdout)
	require.ErrorIs(s.t, d.Decode(&doc), io.EOF, "exactly one document")
	return doc
}

// lake is a copy of a lake with a configuration.
type testLake struct{ dir, config string }

func newLake(t *testing.T, name string) testLake {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "testdata", "fixtures", name))))
	return configured(t, dir)
}

// configured writes the configuration of a lake in a folder.
func configured(t *testing.T, dir string) testLake {
	l := testLake{dir: dir, config: filepath.Join(dir, "dvc.yaml")}
	require.NoError(t, os.WriteFile(l.config, fmt.Appendf(nil, `version: 1
catalogs:
  lake:
    type: sql
    uri: sqlite://%s/catalog.db
storage:
  - prefix: s3://lake/
    url: file://%s
`, dir, dir), 0o600))
	return l
}

// optOut makes a table want to be left alone.
func (l testLake) optOut(t *testing.T, table string) {
	files, err := filepath.Glob(filepath.Join(l.dir, table, "metadata", "*.metadata.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		changed := bytes.Replace(data, []byte(`"properties":{`), []byte(`"properties":{"dvcompactor.enabled":"false",`), 1)
		require.NotEqual(t, data, changed)
		require.NoError(t, os.WriteFile(f, changed, 0o600))
	}
}

// files lists every file of the lake with its size, to see that nothing was written.
func (l testLake) files(t *testing.T) []string {
	var out []string
	require.NoError(t, filepath.Walk(l.dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			out = append(out, fmt.Sprint(path, info.Size()))
		}
		return err
	}))
	return out
}

// at reads a field of a document by its path: "before.deletion_vectors".
func at(doc any, path string) any {
	for _, key := range strings.Split(path, ".") {
		fields, ok := doc.(map[string]any)
		if !ok {
			return nil
		}
		doc = fields[key]
	}
	return doc
}
