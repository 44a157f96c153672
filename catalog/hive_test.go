package catalog_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake/dbproxy"
	"github.com/dvcompactor/dvcompactor/internal/testlake/hive"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOnHive(t *testing.T) {
	t.Parallel()
	labs := hiveLabs(hive.Version4)(t)
	for name, test := range map[string]func(*testing.T, *lab){
		"a commit keeps everything else that the metastore knows of the table":                            hiveKeepsTheRest,
		"a table has its name in every spelling":                                                          hiveSpellings,
		"a table that says so is committed to without a lock":                                             hiveWithoutLock,
		"a lock that is not granted is removed, and the error names who holds it":                         hiveNamesTheHolder,
		"a lock is confirmed while it is held":                                                            hiveHeartbeats,
		"a commit whose lock is taken away is unknown although the metastore says that it is done":        hiveLosesItsLock,
		"a run recognises its commit when the connection breaks after it":                                 recognisesItsCommit,
		"a commit that the metastore repeated, and so says that it lost, is known as done":                hiveRepeats,
		"the same when others have committed to it meanwhile":                                             hiveRepeatsAndOthersCommit,
		"of several addresses those that take no connection are passed over":                              hiveAddresses,
		"a metastore that ends connections, as those do that want Kerberos or TLS, is named by the error": hiveHangsUp,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, labs(t))
		})
	}
}

func hiveKeepsTheRest(t *testing.T, l *lab) {
	l.create(t, nil, "db", "t")
	c := l.open(t)
	before, was := load(t, c, "db", "t"), l.hive.Table(t, "db", "t")
	require.NoError(t, commit(t, c, before, "main", 4711))
	after, is := load(t, c, "db", "t"), l.hive.Table(t, "db", "t")
	assert.Equal(t, "4711", is.Parameters["current-snapshot-id"])
	assert.Equal(t, "1", is.Parameters["snapshot-count"])
	assert.NotContains(t, is.Parameters, "current-snapshot-timestamp-ms", "it was not there")
	assert.Equal(t, before.MetadataLocation, is.Parameters["previous_metadata_location"])
	assert.Equal(t, after.MetadataLocation, is.Parameters["metadata_location"])
	for _, key := range []string{"current-snapshot-id", "snapshot-count", "previous_metadata_location", "metadata_location"} {
		delete(was.Parameters, key)
		delete(is.Parameters, key)
	}
	assert.Equal(t, was, is)
	assert.Equal(t, "kept", is.Sd.Cols[0].Comment)
	assert.Empty(t, l.hive.Locks(t), "the lock is gone")
}

func hiveSpellings(t *testing.T, l *lab) {
	l.create(t, nil, "db", "t")
	assert.Equal(t, "lake.db.t", load(t, l.open(t), "DB", "T").Name())
}

func hiveWithoutLock(t *testing.T, l *lab) {
	l.create(t, map[string]string{"engine.hive.lock-enabled": "false"}, "db", "t")
	c := l.open(t)
	tbl := load(t, c, "db", "t")
	hiveHeld(t, l, c, tbl)
	require.NoError(t, commit(t, c, tbl, "main", 1))
}

func hiveNamesTheHolder(t *testing.T, l *lab) {
	l.create(t, nil, "db", "t")
	briefly(cell{}).tune(&l.options)
	c := l.open(t)
	tbl := load(t, c, "db", "t")
	hiveHeld(t, l, c, tbl)
	err := commit(t, c, tbl, "main", 1)
	require.ErrorIs(t, err, catalog.ErrConflict)
	assert.ErrorContains(t, err, "of somebody@elsewhere, agent Iceberg-4711, last heartbeat 20")
	assert.ErrorContains(t, err, "docs/catalogs.md how to remove it by hand")
}

// hiveHeartbeats holds a commit back until its lock has been confirmed.
func hiveHeartbeats(t *testing.T, l *lab) {
	l.create(t, nil, "db", "t")
	l.options.Properties = map[string]string{"iceberg.hive.lock-heartbeat-interval-ms": "10"}
	c := l.open(t)
	tbl := load(t, c, "db", "t")
	l.proxy.CutNext(dbproxy.BeforeApply, func(net.Conn, []byte) {
		waitFor(t, func() bool {
			locks := l.hive.Locks(t)
			return len(locks) == 1 && locks[0].Lastheartbeat > locks[0].GetAcquiredat()
		})
	})
	require.ErrorIs(t, commit(t, c, tbl, "main", 1), catalog.ErrUnknown)
	assert.Empty(t, l.hive.Locks(t), "the lock is gone")
}

// hiveLosesItsLock holds the reply to a commit back until the heartbeat, which has a connection of its own, has ended.
func hiveLosesItsLock(t *testing.T, l *lab) {
	l.create(t, nil, "db", "t")
	l.options.Properties = map[string]string{"iceberg.hive.lock-heartbeat-interval-ms": "1"}
	c := l.open(t)
	tbl := load(t, c, "db", "t")
	l.proxy.CutNext(dbproxy.AfterApply, func(client net.Conn, reply []byte) {
		waitFor(t, func() bool { return l.proxy.Clients() == 2 })
		for _, lock := range l.hive.Locks(t) {
			l.hive.ReleaseLock(t, lock.Lockid)
		}
		waitFor(t, func() bool { return l.proxy.Clients() == 1 })
		_, err := client.Write(reply)
		assert.NoError(t, err)
	})
	err := commit(t, c, tbl, "main", 1)
	require.ErrorIs(t, err, catalog.ErrUnknown)
	assert.ErrorContains(t, err, "others could commit meanwhile")
	assert.Len(t, load(t, c, "db", "t").Metadata.Snapshots(), 1)
}

func hiveRepeats(t *testing.T, l *lab) {
	l.create(t, nil, "db", "t")
	c := l.open(t)
	tbl := load(t, c, "db", "t")
	hiveSays(dbproxy.AfterApply, metaException, modified)(t, l, c, tbl)
	require.NoError(t, commit(t, c, tbl, "main", 1))
	assert.Len(t, load(t, c, "db", "t").Metadata.Snapshots(), 1)
}

func hiveRepeatsAndOthersCommit(t *testing.T, l *lab) {
	l.create(t, map[string]string{"engine.hive.lock-enabled": "false"}, "db", "t")
	c, other := l.open(t), l.open(t)
	tbl := load(t, c, "db", "t")
	l.proxy.CutNext(dbproxy.AfterApply, func(client net.Conn, reply []byte) {
		assert.NoError(t, commit(t, other, load(t, other, "db", "t"), "main", 2))
		hive.Answer(hiveException(metaException, modified))(client, reply)
	})
	require.NoError(t, commit(t, c, tbl, "main", 1))
	assert.Len(t, load(t, c, "db", "t").Metadata.Snapshots(), 2)
}

func hiveAddresses(t *testing.T, l *lab) {
	l.create(t, nil, "db", "t")
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	l.options.URI = "thrift://" + closed.Addr().String() + ", " + l.options.URI
	load(t, l.open(t), "db", "t")
}

func hiveHangsUp(t *testing.T, l *lab) {
	l.options.URI = "thrift://" + answering(t, func(context.Context, thrift.TProtocol) error { return nil })
	_, err := l.open(t).List(t.Context(), nil)
	assert.ErrorContains(t, err, "as those do that ask for Kerberos or TLS")
}

// waitFor waits until something is so.
func waitFor(t *testing.T, so func() bool) {
	for deadline := time.Now().Add(watchdog); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("it does not happen")
			return
		}
	}
}

func TestAHiveCatalogThatAsksForWhatIsNotThereIsRefused(t *testing.T) {
	t.Parallel()
	hiveIsIn(t)
	for _, c := range []struct{ uri, key, value, want string }{
		{"https://host", "", "", "uri: want thrift://host:9083"},
		{"thrift://host,thrift://", "", "", "uri: want thrift://host:9083"},
		{"thrift://me:hidden@host", "", "", "uri: want thrift://host:9083"},
		{"thrift://host", "hive.metastore.sasl.enabled", "true", "without Kerberos and TLS only"},
		{"thrift://host", "metastore.use.SSL", "TRUE", "without Kerberos and TLS only"},
		{"thrift://host", "engine.hive.lock-enabled", "maybe", `want true or false, got "maybe"`},
		{"thrift://host", "iceberg.hive.lock-timeout-ms", "-1", `want a number of milliseconds, got "-1"`},
	} {
		o := catalog.Options{Name: catalogName, Type: "hive", URI: c.uri, Properties: map[string]string{c.key: c.value}}
		_, err := catalog.Open(t.Context(), o)
		require.ErrorContains(t, err, c.want, "%v", c)
		assert.NotContains(t, err.Error(), "hidden")
	}
}
