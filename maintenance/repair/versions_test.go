package repair_test

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/s3server"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/maintenance/repair"
	"github.com/dvcompactor/dvcompactor/snapshot"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bucketLake is a copy of a fixture in a bucket, beside which its catalog and a local copy stay.
type bucketLake struct {
	*testlake.Lake
	t       *testing.T
	server  *s3server.Server
	catalog catalog.Closer
}

// upload puts a fixture into a bucket that keeps versions, or does not.
func upload(t *testing.T, fixture string, versions bool) *bucketLake {
	l := &bucketLake{t: t, Lake: testlake.Copy(t, fixture), server: s3server.New(t, "lake")}
	if versions {
		l.server.KeepVersions(t, "lake")
	}
	require.NoError(t, fs.WalkDir(os.DirFS(l.Dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, readErr := os.ReadFile(filepath.Join(l.Dir, path))
			require.NoError(t, readErr)
			l.do(http.MethodPut, path, data)
		}
		return err
	}))
	c, err := catalog.Open(t.Context(), catalog.Options{
		Name: testlake.CatalogName, Type: "sql", URI: "sqlite://" + filepath.Join(l.Dir, "catalog.db"),
		Mounts: []storage.Mount{{Prefix: l.Prefix, URL: l.server.MountURL("lake")}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	l.catalog = c
	return l
}

func (l *bucketLake) do(method, key string, body []byte) {
	r, err := http.NewRequestWithContext(l.t.Context(), method, l.server.URL+"/lake/"+key, bytes.NewReader(body))
	require.NoError(l.t, err)
	reply, err := http.DefaultClient.Do(r)
	require.NoError(l.t, err)
	require.NoError(l.t, reply.Body.Close())
	require.Less(l.t, reply.StatusCode, 300)
}

func (l *bucketLake) repair(o repair.Options) (*repair.Report, error) {
	return repair.Run(l.t.Context(), l.catalog, testlake.Ident(l.table()), o)
}

func (l *bucketLake) table() string {
	for name := range l.Expected {
		return name
	}
	return ""
}

func (l *bucketLake) load() *catalog.Table {
	t, err := l.catalog.Load(l.t.Context(), testlake.Ident(l.table()))
	require.NoError(l.t, err)
	return t
}

// right compares what the program reads in the bucket with what the Java reference read before the damage. Every other
// test of the repair reads with other code; here it is about where the bytes came from.
func (l *bucketLake) right(report *repair.Report) {
	t := l.t
	want := map[string]int64{}
	for _, f := range l.Expected[l.table()].Refs["main"].DataFiles {
		want[f.Path] = f.Deleted
	}
	for _, f := range report.DataFiles {
		assert.Equal(t, want[f.Path], f.After, f.Path)
		assert.Zero(t, f.Restored, f.Path)
	}
	found, err := check.Run(t.Context(), l.load(), check.Options{Level: check.Vectors})
	require.NoError(t, err)
	assert.False(t, found.Damaged, "%v", found.Findings)
}

func TestALostDeletionVectorIsRecoveredFromAnOlderVersionOfItsObject(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]struct {
		issue string
		do    func(l *bucketLake, key string)
	}{
		"zeros": {"dv-corrupt", func(l *bucketLake, key string) {
			data, err := os.ReadFile(filepath.Join(l.Dir, key))
			require.NoError(l.t, err)
			copy(data[8:], make([]byte, 20))
			l.do(http.MethodPut, key, data)
		}},
		"removed": {"dv-missing", func(l *bucketLake, key string) { l.do(http.MethodDelete, key, nil) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := upload(t, "v3-shared-puffin", true)
			key := l.puffin()
			damage.do(l, key)
			report, err := l.repair(repair.Options{Issues: []string{damage.issue}, Apply: true})
			require.NoError(t, err)
			require.True(t, report.Committed)
			assert.Equal(t, "delete", report.Operation)
			assert.Contains(t, strings.Join(report.DataFiles[0].Sources, "\n"), "version ")
			l.right(report)
		})
	}
}

func TestWithoutVersionsTheRowsOfALostDeletionVectorHaveToBeConfirmed(t *testing.T) {
	t.Parallel()
	l := upload(t, "v3-shared-puffin", false)
	l.do(http.MethodDelete, l.puffin(), nil)
	report, err := l.repair(repair.Options{Issues: []string{"dv-missing"}, Apply: true})
	require.ErrorIs(t, err, repair.ErrConfirm)
	assert.Positive(t, report.RestoreRows)
	assert.False(t, report.Committed)
}

func TestALostPositionDeleteFileIsRecoveredFromAnOlderVersionOfItsObject(t *testing.T) {
	t.Parallel()
	l := upload(t, "v2-file-granular", true)
	key := ""
	for d := range state(l.t, l.load()).Deletes() {
		key = strings.TrimPrefix(d.Path, l.Prefix)
	}
	l.do(http.MethodDelete, key, nil)
	report, err := l.repair(repair.Options{Issues: []string{"delete-unreadable"}, Apply: true})
	require.NoError(t, err)
	require.True(t, report.Committed)
	l.right(report)
}

// puffin returns the key of a Puffin file of the table.
func (l *bucketLake) puffin() string {
	dvs := state(l.t, l.load()).DVs
	require.NotEmpty(l.t, dvs)
	return strings.TrimPrefix(dvs[0].Path, l.Prefix)
}

// state reads the head of main.
func state(t *testing.T, loaded *catalog.Table) *snapshot.State {
	s, err := snapshot.Load(t.Context(), loaded.Store.FileIO(t.Context()), loaded.Metadata, loaded.Metadata.CurrentSnapshot(), snapshot.LoadOptions{})
	require.NoError(t, err)
	return s
}
