package catalog_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake/dbproxy"
	"github.com/dvcompactor/dvcompactor/internal/testlake/hive"
	"github.com/stretchr/testify/assert"
)

// hiveLabs starts a metastore. It has one set of names, so that its labs are there one after the other.
func hiveLabs(version string) func(*testing.T) func(*testing.T) *lab {
	return func(t *testing.T) func(*testing.T) *lab {
		hiveIsIn(t)
		server := hive.Start(t, version)
		return func(t *testing.T) *lab { return hiveLab(t, server, version) }
	}
}

// unlockedHiveLabs are labs in which the condition of alter_table is all that keeps committers apart. The database of
// a metastore of version 4 in these tests cannot have several that wait for locks: they hold each other up for seconds.
func unlockedHiveLabs(version string) func(*testing.T) func(*testing.T) *lab {
	return func(t *testing.T) func(*testing.T) *lab {
		labs := hiveLabs(version)(t)
		return func(t *testing.T) *lab {
			l := labs(t)
			unlocked(cell{}).tune(&l.options)
			return l
		}
	}
}

// hiveIsIn skips a test of a program that was built without Hive.
func hiveIsIn(t *testing.T) {
	if _, err := catalog.Open(t.Context(), catalog.Options{Type: "hive"}); strings.Contains(err.Error(), "-tags nohive") {
		t.Skip(err)
	}
}

func hiveLab(t *testing.T, server *hive.Server, version string) *lab {
	server.Lock()
	t.Cleanup(server.Unlock)
	server.Clear(t)
	proxy := server.NewProxy(t)
	return &lab{
		dir: t.TempDir(), hive: server, proxy: proxy, flat: true, names: hiveNames(version),
		options: catalog.Options{
			Name: catalogName, Type: "hive", URI: "thrift://" + proxy.Address,
			Retry: storage.RetryOptions{Attempts: attempts, BaseDelay: time.Millisecond, MaxDelay: time.Millisecond},
		},
		put: func(t testing.TB, identifier []string, location string) {
			server.Create(t, identifier[0], identifier[1], "EXTERNAL_TABLE", map[string]string{
				"EXTERNAL": "TRUE", "table_type": "iceberg", "metadata_location": location, "theirs": "1", "numRows": "7",
				"format-version": "2", "snapshot-count": "0", "current-snapshot-id": "-1", "current-snapshot-summary": "{}",
			})
		},
		view: func(t testing.TB, identifier []string) {
			server.Create(t, identifier[0], identifier[1], "VIRTUAL_VIEW", map[string]string{"table_type": "ICEBERG-VIEW"})
		},
		drop: func(t testing.TB, identifier []string) { server.Drop(t, identifier[0], identifier[1]) },
	}
}

// hiveNames are odd ones that a metastore takes. It knows small letters only.
func hiveNames(version string) [][]string {
	if version == hive.Version3 {
		return [][]string{{"db", "a/b"}, {"d_b", "1"}}
	}
	return [][]string{{"d b", "t'1"}, {"db", "t?#&"}, {"db", "a/b"}, {"db", "a/../b"}, {"db", "50%"}, {"db", "%2f"}, {"db", "x.y"}}
}

// hiveHeld lets somebody else hold the lock of the table.
func hiveHeld(t *testing.T, l *lab, _ catalog.Catalog, tbl *catalog.Table) {
	id := l.hive.TakeLock(t, tbl.Identifier[0], tbl.Identifier[1])
	t.Cleanup(func() {
		locks := l.hive.Locks(t)
		if assert.Len(t, locks, 1, "ours is gone") {
			assert.Equal(t, id, locks[0].Lockid)
		}
		l.hive.ReleaseLock(t, id)
	})
}

// briefly gives little time for waiting for a lock.
func briefly(c cell) cell {
	c.tune = func(o *catalog.Options) { o.Properties = map[string]string{"iceberg.hive.lock-timeout-ms": "300"} }
	return c
}

// unlocked lets commits take no locks.
func unlocked(c cell) cell {
	c.tune = func(o *catalog.Options) { o.Properties = map[string]string{"engine.hive.lock-enabled": "false"} }
	return c
}

func onHive3(c cell) cell {
	c.lab = func(t *testing.T) *lab { return hiveLabs(hive.Version3)(t)(t) }
	return c
}

// Fields of the result of alter_table, by the exceptions they hold.
const (
	invalidOperation int16 = 1
	metaException    int16 = 2
)

// hiveSays lets the metastore answer the commit, or what was to be one, with an exception.
func hiveSays(where dbproxy.Cut, field int16, text string) arrangement {
	return hiveAnswers(where, hiveException(field, text))
}

// hiveException writes an exception of the metastore.
func hiveException(field int16, text string) func(context.Context, thrift.TProtocol) error {
	return func(ctx context.Context, p thrift.TProtocol) error {
		for _, err := range []error{
			p.WriteFieldBegin(ctx, "", thrift.STRUCT, field), p.WriteFieldBegin(ctx, "", thrift.STRING, 1), p.WriteString(ctx, text), p.WriteFieldStop(ctx), p.WriteFieldStop(ctx),
		} {
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// hiveGarbles lets its answer make no sense.
func hiveGarbles(ctx context.Context, p thrift.TProtocol) error {
	_, err := p.Transport().Write([]byte("<html>welcome</html>"))
	return err
}

func hiveAnswers(where dbproxy.Cut, write func(context.Context, thrift.TProtocol) error) arrangement {
	return func(_ *testing.T, l *lab, _ catalog.Catalog, _ *catalog.Table) {
		l.proxy.CutNext(where, hive.Answer(write))
	}
}

func stalling(where dbproxy.Cut) arrangement {
	return func(_ *testing.T, l *lab, _ catalog.Catalog, _ *catalog.Table) {
		l.proxy.CutNext(where, dbproxy.Stall)
	}
}

const modified = "The table has been modified. The parameter value for key 'metadata_location' is different"
