package weed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	icebergcatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	_ "github.com/apache/iceberg-go/io/gocloud/s3" // the tables are on S3
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/testlake/servers"
)

const (
	main  = "main"
	files = 3    // data files of a table
	rows  = 1000 // of a data file
)

// lab is a running server, the catalog as another client sees it, and the program with a configuration.
type lab struct {
	server         *servers.Weed
	catalog        *rest.Catalog
	binary, python string
	config         string
	front          *front
}

// front stands before the catalog for the program.
type front struct {
	http.Handler
	mu     sync.Mutex
	path   string // the end of that of the request to wait for
	before func() // runs once before it is passed on
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	if f.before != nil && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, f.path) {
		f.before()
		f.before = nil
	}
	f.mu.Unlock()
	f.Handler.ServeHTTP(w, r)
}

// beforeCommit runs something after the program has sent its first commit of a table and before the catalog sees it.
func (l *lab) beforeCommit(name string, do func()) {
	l.front.mu.Lock()
	defer l.front.mu.Unlock()
	l.front.path, l.front.before = "/tables/"+name, do
}

func newLab(t *testing.T) *lab {
	l := &lab{server: servers.StartWeed(t), binary: needed(t, "DVC_BINARY"), python: needed(t, "DVC_PYICEBERG")}
	properties := iceberg.Properties(l.server.Properties())
	var err error
	l.catalog, err = rest.NewCatalog(t.Context(), "weed", l.server.Catalog,
		rest.WithCredential(servers.WeedKey+":"+servers.WeedSecret), rest.WithWarehouseLocation(l.server.Warehouse), rest.WithAdditionalProps(properties))
	require.NoError(t, err)
	require.EventuallyWithT(t, func(c *assert.CollectT) { // the server makes its bucket after it began to answer
		require.NoError(c, l.catalog.CreateNamespace(t.Context(), table.Identifier{"db"}, nil))
	}, time.Minute, 50*time.Millisecond)
	address, err := url.Parse(l.server.Catalog)
	require.NoError(t, err)
	l.front = &front{Handler: httputil.NewSingleHostReverseProxy(address)}
	proxy := httptest.NewServer(l.front)
	t.Cleanup(proxy.Close)
	l.config = filepath.Join(t.TempDir(), "dvc.yaml")
	text := fmt.Sprintf("version: 1\ncatalogs:\n  weed:\n    type: rest\n    uri: %s\n    credential: %s:%s\n    warehouse: %s\n    properties:\n",
		proxy.URL, servers.WeedKey, servers.WeedSecret, l.server.Warehouse)
	for name, value := range properties {
		text += fmt.Sprintf("      %s: %q\n", name, value)
	}
	require.NoError(t, os.WriteFile(l.config, []byte(text), 0o600))
	return l
}

// needed returns a path of the environment.
func needed(t *testing.T, name string) string {
	path := os.Getenv(name)
	require.NotEmpty(t, path, name)
	return path
}

// create makes a table of three data files with two commits of deletes on each, and returns the ids of the rows left.
func (l *lab) create(t *testing.T, name string, version int) (left []int64) {
	ctx := t.Context()
	tbl, err := l.catalog.CreateTable(ctx, table.Identifier{"db", name}, lakewriter.Schema(),
		icebergcatalog.WithProperties(iceberg.Properties{"format-version": fmt.Sprint(version)}))
	require.NoError(t, err)
	for i := range int64(files) {
		tbl, err = lakewriter.Append(ctx, tbl, 1, i*rows, rows)
		require.NoError(t, err)
	}
	data, err := lakewriter.DataFiles(ctx, tbl, main)
	require.NoError(t, err)
	for _, f := range data {
		for _, positions := range [][]int64{{1, 3, 5}, {0, 1, 999}} {
			tbl, err = deletePositions(ctx, tbl, version, f, positions)
			require.NoError(t, err)
		}
	}
	for id := range int64(files * rows) {
		switch id % rows {
		case 0, 1, 3, 5, 999:
		default:
			left = append(left, id)
		}
	}
	return left
}

// deletePositions commits a position delete file, or the vector that takes the place of the one before.
func deletePositions(ctx context.Context, tbl *table.Table, version int, f iceberg.DataFile, positions []int64) (*table.Table, error) {
	if version == 3 {
		if positions[0] == 0 {
			positions = []int64{0, 1, 3, 5, 999}
		}
		return lakewriter.ReplaceVector(ctx, tbl, main, f, positions)
	}
	d, err := lakewriter.PositionDeletes(ctx, tbl, f, map[string][]int64{f.FilePath(): positions})
	if err != nil {
		return nil, err
	}
	return lakewriter.Delta(ctx, tbl, main, []iceberg.DataFile{d}, nil)
}

// appendAndDelete adds a row to a table of version 2 and deletes a position of one of its data files.
func (l *lab) appendAndDelete(ctx context.Context, name string, id, position int64) error {
	tbl, err := l.catalog.LoadTable(ctx, table.Identifier{"db", name})
	if err != nil {
		return err
	}
	data, err := lakewriter.DataFiles(ctx, tbl, main)
	if err != nil {
		return err
	}
	if tbl, err = lakewriter.Append(ctx, tbl, 1, id, 1); err != nil {
		return err
	}
	_, err = deletePositions(ctx, tbl, 2, data[0], []int64{position})
	return err
}

// run runs the program and returns its exit code and its document.
func (l *lab) run(t *testing.T, verb string, arguments ...string) (int, map[string]any) {
	cmd := exec.CommandContext(t.Context(), l.binary, append(strings.Fields(verb), append([]string{"-c", l.config, "--output", "json"}, arguments...)...)...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	t.Logf("%s %s: exit %d\n%s%s", verb, strings.Join(arguments, " "), cmd.ProcessState.ExitCode(), out.String(), said.String())
	var document map[string]any
	if out.Len() > 0 {
		require.NoError(t, json.Unmarshal(out.Bytes(), &document))
	}
	return cmd.ProcessState.ExitCode(), document
}

// read returns the ids that PyIceberg reads, in order.
func (l *lab) read(t *testing.T, name string) []int64 {
	out, err := exec.CommandContext(t.Context(), l.python, "testdata/read.py", l.server.Catalog, l.server.S3, "db."+name).Output()
	require.NoError(t, err, "%s", out)
	var ids []int64
	require.NoError(t, json.Unmarshal(out, &ids))
	return ids
}
