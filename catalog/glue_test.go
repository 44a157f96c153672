package catalog_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake/moto"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func glueLabs(t *testing.T) func(*testing.T) *lab {
	if _, err := catalog.Open(t.Context(), catalog.Options{Type: "glue"}); err != nil && strings.Contains(err.Error(), "-tags noglue") {
		t.Skip(err)
	}
	address := moto.Start(t)
	var n atomic.Int64
	return func(t *testing.T) *lab { return glueLab(t, moto.NewGlue(t, address, fmt.Sprintf("%012d", n.Add(1)))) }
}

func glueLab(t *testing.T, g *moto.Glue) *lab {
	create := func(t testing.TB, identifier []string, table map[string]any) {
		_ = g.Call(t.Context(), "CreateDatabase", map[string]any{"DatabaseInput": map[string]any{"Name": identifier[0]}}, nil) // it may be there
		table["Name"] = identifier[1]
		require.NoError(t, g.Call(t.Context(), "CreateTable", map[string]any{"DatabaseName": identifier[0], "TableInput": table}, nil))
	}
	return &lab{
		dir: t.TempDir(), glue: g, flat: true,
		options: catalog.Options{
			Name: catalogName, Type: "glue", URI: g.URL, Retry: storage.RetryOptions{Attempts: attempts, MaxDelay: time.Millisecond},
			Properties: map[string]string{"glue.region": "us-east-1", "glue.access-key-id": "test", "glue.secret-access-key": "test"},
		},
		put: func(t testing.TB, identifier []string, location string) {
			create(t, identifier, map[string]any{
				"TableType": "EXTERNAL_TABLE", "Description": "of somebody else", "Parameters": map[string]string{"table_type": "ICEBERG", "metadata_location": location, "theirs": "1"},
				"StorageDescriptor": map[string]any{"Location": "s3://lake/there", "Columns": []map[string]any{{"Name": "id", "Type": "bigint", "Comment": "kept"}}},
			})
		},
		view: func(t testing.TB, identifier []string) {
			create(t, identifier, map[string]any{"TableType": "VIRTUAL_VIEW", "ViewOriginalText": "select 1"})
		},
		drop: func(t testing.TB, identifier []string) {
			require.NoError(t, g.Call(t.Context(), "DeleteTable", map[string]any{"DatabaseName": identifier[0], "Name": identifier[1]}, nil))
		},
	}
}

// breakingGlue lets the next commit meet faults.
func breakingGlue(faults ...restcatalog.Fault) arrangement {
	return func(_ *testing.T, l *lab, _ catalog.Catalog, _ *catalog.Table) { l.glue.Break(faults...) }
}

// glueSays lets Glue refuse the next commit with an error.
func glueSays(kinds ...string) map[string]arrangement {
	out := map[string]arrangement{}
	for _, kind := range kinds {
		out[kind] = breakingGlue(moto.Refuse(kind))
	}
	return out
}

// glueFails lets Glue fail, also with errors that have status 400.
func glueFails(how func(restcatalog.Fault) restcatalog.Fault) map[string]arrangement {
	out := map[string]arrangement{}
	for _, code := range []int{500, 502, 503, 504} {
		out[strconv.Itoa(code)] = breakingGlue(how(restcatalog.Status(code)))
	}
	for _, kind := range []string{"OperationTimeoutException", "InternalServiceException"} {
		out[kind] = breakingGlue(how(moto.Refuse(kind)))
	}
	return out
}

func asItIs(f restcatalog.Fault) restcatalog.Fault { return f }

func glueStopped(t *testing.T, l *lab, _ catalog.Catalog, _ *catalog.Table) {
	l.glue.Stop()
	t.Cleanup(func() { l.glue.Resume(t) })
}

func TestACommitToGlueKeepsEverythingElseThatItKnowsOfTheTable(t *testing.T) {
	t.Parallel()
	l := glueLabs(t)(t)
	l.create(t, nil, "db", "t")
	c := l.open(t)
	before := load(t, c, "db", "t")
	require.NoError(t, commit(t, c, before, "main", 1))
	var now struct{ Table map[string]any }
	require.NoError(t, l.glue.Call(context.WithoutCancel(t.Context()), "GetTable", map[string]any{"DatabaseName": "db", "Name": "t"}, &now))
	assert.Equal(t, map[string]any{
		"table_type": "ICEBERG", "theirs": "1", "metadata_location": load(t, c, "db", "t").MetadataLocation, "previous_metadata_location": before.MetadataLocation,
	}, now.Table["Parameters"])
	assert.Equal(t, "of somebody else", now.Table["Description"])
	assert.Equal(t, "EXTERNAL_TABLE", now.Table["TableType"])
	assert.Equal(t, "s3://lake/there", now.Table["StorageDescriptor"].(map[string]any)["Location"])
	assert.Equal(t, "kept", now.Table["StorageDescriptor"].(map[string]any)["Columns"].([]any)[0].(map[string]any)["Comment"])
}

func TestACommitToGlueIsSentOnce(t *testing.T) {
	t.Parallel()
	l := glueLabs(t)(t)
	l.create(t, nil, "db", "t")
	c := l.open(t)
	var sent atomic.Int32
	count := func(w http.ResponseWriter, r *http.Request, healthy http.Handler) {
		sent.Add(1)
		restcatalog.Status(http.StatusServiceUnavailable)(w, r, healthy)
	}
	l.glue.Break(count, count, count)
	require.ErrorIs(t, commit(t, c, load(t, c, "db", "t"), "main", 1), catalog.ErrUnknown)
	assert.EqualValues(t, 1, sent.Load())
}
