package crash

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/faults"
	"github.com/dvcompactor/dvcompactor/internal/testlake/politely"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake/s3server"
)

// prefix is what the locations of the fixtures begin with.
const prefix = "s3://lake/"

// lab is a copy of a fixture that the program can work on.
type lab struct {
	dir     string // holds configurations, and a local lake
	options catalog.Options
	config  string              // path of the configuration that leads to the lake
	s3      *s3server.Server    // nil for a local lake
	rest    *restcatalog.Server // nil for a local lake
}

// localLab is a lake of local files and SQLite.
func localLab(t *testing.T, fixture string) *lab {
	dir := testlake.Copy(t, fixture).Dir
	l := &lab{dir: dir, options: catalog.Options{
		Name: testlake.CatalogName, Type: "sql", URI: "sqlite://" + filepath.Join(dir, "catalog.db"),
		Mounts: []storage.Mount{{Prefix: prefix, URL: "file://" + dir}},
	}}
	l.config = l.configure(t, "dvc.yaml", l.options.URI, l.options.Mounts[0].URL)
	return l
}

// remoteLab is a lake on an S3 server with a REST catalog. Both are part of this process and survive the program.
func remoteLab(t *testing.T, fixture string) *lab {
	return labOf(t, filepath.Join(testlake.Root(t), "testdata", "fixtures", fixture))
}

// labOf is a remote lab with a copy of a lake of local files.
func labOf(t *testing.T, source string) *lab {
	s3 := s3server.New(t, "lake")
	mounts := []storage.Mount{{Prefix: prefix, URL: s3.MountURL("lake")}}
	upload(t, mounts, source)
	rest := restcatalog.New(t, restcatalog.Options{Mounts: mounts})
	rest.Put(t, testlake.Ident("t"), prefix+"t/metadata/"+filepath.Base(newestMetadata(t, source)))
	l := &lab{dir: t.TempDir(), s3: s3, rest: rest, options: catalog.Options{Name: testlake.CatalogName, Type: "rest", URI: rest.URL, Mounts: mounts}}
	l.config = l.configure(t, "dvc.yaml", l.options.URI, l.options.Mounts[0].URL)
	return l
}

// manyManifestsLab is a remote lab whose table has its delete manifests merged when there are three.
func manyManifestsLab(t *testing.T, fixture string) *lab {
	dir := testlake.Copy(t, fixture).Dir
	path := newestMetadata(t, dir)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	const properties = `"properties":{`
	require.Equal(t, 1, bytes.Count(data, []byte(properties)))
	data = bytes.Replace(data, []byte(properties), []byte(properties+`"commit.manifest.min-count-to-merge":"3",`), 1)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return labOf(t, dir)
}

// newestMetadata is the path of the table metadata file that is the current one in a folder of a lake.
func newestMetadata(t *testing.T, dir string) string {
	metadata, err := filepath.Glob(filepath.Join(dir, "t", "metadata", "*.metadata.json"))
	require.NoError(t, err)
	return slices.Max(metadata)
}

func upload(t *testing.T, mounts []storage.Mount, dir string) {
	store, err := storage.Open(t.Context(), storage.Options{Mounts: mounts})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	files, err := filepath.Glob(filepath.Join(dir, "t", "*", "*"))
	require.NoError(t, err)
	for _, path := range files {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, store.WriteFile(t.Context(), prefix+strings.TrimPrefix(path, dir+"/"), data))
	}
}

// configure writes a configuration that leads to the lake by way of the given addresses.
func (l *lab) configure(t *testing.T, name, catalogURI, storageURL string) string {
	path := filepath.Join(l.dir, name)
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `version: 1
catalogs:
  lake: {type: %s, uri: %q}
storage:
  - {prefix: %q, url: %q}
defaults:
  retries: {request_attempts: 2, commit_attempts: 3, base_delay: 1ms, max_delay: 2ms}
`, l.options.Type, catalogURI, prefix, storageURL), 0o600))
	return path
}

// front starts servers before those of the lab, with a script between them, and returns the configuration that leads
// there. They tell of each write that they are asked for. Requests that a dead client has left in them are not answered
// any more when close returns.
func (l *lab) front(t *testing.T, script *faults.Script, asked func(op, name string)) (config string, closed func()) {
	var mu sync.Mutex
	before := func(healthy http.Handler, classify func(*http.Request) (op, name string)) *httptest.Server {
		return httptest.NewServer(politely.Handler(script.Handler(healthy, func(r *http.Request) (op, name string) {
			if op, name = classify(r); op == "put" || op == "delete" || op == "commit" {
				mu.Lock()
				defer mu.Unlock()
				asked(op, name)
			}
			return op, name
		})))
	}
	s3, rest := before(l.s3, faults.S3), before(l.rest, faults.REST)
	storageURL := strings.ReplaceAll(l.s3.MountURL("lake"), url.QueryEscape(l.s3.URL), url.QueryEscape(s3.URL))
	return l.configure(t, "front.yaml", rest.URL, storageURL), func() {
		rest.Close()
		s3.Close()
	}
}
