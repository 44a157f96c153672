// Package hive starts a Hive Metastore for tests, with its database in memory, and tells it of tables.
package hive

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	metastore "github.com/beltran/gohive/hive_metastore"
	"github.com/dvcompactor/dvcompactor/internal/testlake/dbproxy"
	"github.com/dvcompactor/dvcompactor/internal/testlake/loopback"
	"github.com/stretchr/testify/require"
)

// Env is the environment variable with the folder that "interop/setup hive" prints.
const Env = "DVC_HIVE_METASTORE"

// The versions there are. The second one does not compare parameters before it alters a table (HIVE-26882).
const (
	Version4 = "4.0.1"
	Version3 = "3.1.3"
)

// alter is in a request to alter a table and in the reply to it.
const alter = "alter_table_with_environment_context"

// startup bounds how long a metastore takes until it answers.
const startup = 2 * time.Minute

// Server is a metastore. Whoever uses it should hold it: it has one set of names.
type Server struct {
	sync.Mutex
	Address string // host:port

	dir string
}

// Start starts a metastore of a version for the time of a test, which is skipped when there is none.
func Start(t testing.TB, version string) *Server {
	root := os.Getenv(Env)
	if root == "" {
		t.Skipf("%s does not name the folder of Hive Metastores that interop/setup hive makes", Env)
	}
	const attempts = 3 // somebody else may take the port before the metastore does
	for range attempts {
		if s := start(t, filepath.Join(root, version)); s != nil {
			return s
		}
	}
	t.Fatalf("no Hive Metastore %s comes up", version)
	return nil
}

func start(t testing.TB, program string) *Server {
	classes, err := os.ReadFile(filepath.Join(program, "cp.txt"))
	require.NoError(t, err)
	s := &Server{Address: loopback.FreeAddress(t), dir: t.TempDir()}
	_, port, err := net.SplitHostPort(s.Address)
	require.NoError(t, err)
	cmd := exec.Command("java", "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dderby.stream.error.file="+os.DevNull,
		"-Dderby.locks.deadlockTimeout=1", "-Dderby.locks.waitTimeout=3", // seconds
		"--add-opens", "java.base/java.lang=ALL-UNNAMED", "--add-opens", "java.base/java.net=ALL-UNNAMED", "--add-opens", "java.base/java.util=ALL-UNNAMED",
		"-cp", filepath.Join(program, "classes")+":"+strings.TrimSpace(string(classes)), "Metastore", port, s.dir)
	log, err := os.Create(filepath.Join(s.dir, "log"))
	require.NoError(t, err)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	open, err := cmd.StdinPipe() // when this process ends, however it does, so does the metastore
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed in the end
		_ = errors.Join(log.Close(), open.Close())
	}()
	stop := func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	}
	if !s.answers(t, ended) {
		stop()
		said, _ := os.ReadFile(log.Name())
		t.Logf("%s", said[:min(len(said), 4<<10)])
		return nil
	}
	t.Cleanup(stop)
	return s
}

// answers waits until the metastore says its version, as long as its process runs.
func (s *Server) answers(t testing.TB, ended <-chan struct{}) bool {
	return loopback.Await(ended, startup, func() bool {
		return s.call(t.Context(), func(ctx context.Context, c *metastore.ThriftHiveMetastoreClient) error {
			_, err := c.GetVersion(ctx)
			return err
		}) == nil
	})
}

// call asks the metastore over a connection of its own.
func (s *Server) call(ctx context.Context, do func(context.Context, *metastore.ThriftHiveMetastoreClient) error) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(startup)); err != nil {
		return err
	}
	protocol := thrift.NewTBinaryProtocolConf(thrift.NewStreamTransportRW(conn), &thrift.TConfiguration{})
	return do(ctx, metastore.NewThriftHiveMetastoreClient(thrift.NewTStandardClient(protocol, protocol)))
}

// Call asks the metastore itself. The context of a test may have ended.
func (s *Server) Call(t testing.TB, do func(context.Context, *metastore.ThriftHiveMetastoreClient) error) {
	require.NoError(t, s.call(context.WithoutCancel(t.Context()), do))
}

// NewProxy starts a proxy in front of the metastore for the time of a test.
func (s *Server) NewProxy(t testing.TB) *dbproxy.Proxy {
	return dbproxy.New(t, dbproxy.Options{Server: s.Address, Sent: alter, Done: alter})
}

// Create makes a table, and its database unless that is there. The kind is EXTERNAL_TABLE or VIRTUAL_VIEW.
func (s *Server) Create(t testing.TB, database, name, kind string, parameters map[string]string) {
	s.Call(t, func(ctx context.Context, c *metastore.ThriftHiveMetastoreClient) error {
		var there *metastore.AlreadyExistsException
		folder := "file://" + filepath.Join(s.dir, "tables")
		if err := c.CreateDatabase(ctx, &metastore.Database{Name: database, LocationUri: folder}); err != nil && !errors.As(err, &there) {
			return err
		}
		return c.CreateTable(ctx, &metastore.Table{
			DbName: database, TableName: name, TableType: kind, Parameters: parameters, Owner: "somebody", OwnerType: metastore.PrincipalType_USER, WriteId: -1,
			Sd: &metastore.StorageDescriptor{
				Location: folder, Cols: []*metastore.FieldSchema{{Name: "id", Type: "bigint", Comment: "kept"}},
				SerdeInfo: &metastore.SerDeInfo{SerializationLib: "org.apache.iceberg.mr.hive.HiveIcebergSerDe"},
			},
		})
	})
}

// Drop forgets a table.
func (s *Server) Drop(t testing.TB, database, name string) {
	s.Call(t, func(ctx context.Context, c *metastore.ThriftHiveMetastoreClient) error {
		return c.DropTable(ctx, database, name, false)
	})
}

// Table returns what the metastore knows of a table.
func (s *Server) Table(t testing.TB, database, name string) (out *metastore.Table) {
	s.Call(t, func(ctx context.Context, c *metastore.ThriftHiveMetastoreClient) error {
		reply, err := c.GetTableReq(ctx, &metastore.GetTableRequest{DbName: database, TblName: name, ID: -1})
		out = reply.GetTable()
		return err
	})
	return out
}

// TakeLock takes the exclusive lock of a table, or a place in the queue for it, and returns its number.
func (s *Server) TakeLock(t testing.TB, database, name string) (id int64) {
	s.Call(t, func(ctx context.Context, c *metastore.ThriftHiveMetastoreClient) error {
		reply, err := c.Lock(ctx, &metastore.LockRequest{User: "somebody", Hostname: "elsewhere", AgentInfo: "Iceberg-4711", Component: []*metastore.LockComponent{{
			Type: metastore.LockType_EXCLUSIVE, Level: metastore.LockLevel_TABLE, Dbname: database, Tablename: &name, OperationType: metastore.DataOperationType_UNSET,
		}}})
		if err == nil {
			id = reply.Lockid
		}
		return err
	})
	return id
}

// ReleaseLock releases a lock.
func (s *Server) ReleaseLock(t testing.TB, id int64) {
	s.Call(t, func(ctx context.Context, c *metastore.ThriftHiveMetastoreClient) error {
		return c.Unlock(ctx, &metastore.UnlockRequest{Lockid: id})
	})
}

// Locks returns all locks that there are.
func (s *Server) Locks(t testing.TB) (out []*metastore.ShowLocksResponseElement) {
	s.Call(t, func(ctx context.Context, c *metastore.ThriftHiveMetastoreClient) error {
		reply, err := c.ShowLocks(ctx, &metastore.ShowLocksRequest{})
		out = reply.GetLocks()
		return err
	})
	return out
}

// Clear forgets everything.
func (s *Server) Clear(t testing.TB) {
	for _, l := range s.Locks(t) {
		s.ReleaseLock(t, l.Lockid)
	}
	s.Call(t, func(ctx context.Context, c *metastore.ThriftHiveMetastoreClient) error {
		databases, err := c.GetAllDatabases(ctx)
		for _, database := range slices.DeleteFunc(databases, func(name string) bool { return name == "default" }) {
			if err == nil {
				err = c.DropDatabase(ctx, database, false, true)
			}
		}
		return err
	})
}

// Answer lets the client get the result of a request, or of what it was about, as if the metastore had said so: a struct
// with the one field that write adds.
func Answer(write func(context.Context, thrift.TProtocol) error) dbproxy.Effect {
	return func(client net.Conn, message []byte) {
		ctx := context.Background()
		in := thrift.NewTBinaryProtocolConf(thrift.NewStreamTransportR(bytes.NewReader(message)), nil)
		name, _, sequence, err := in.ReadMessageBegin(ctx)
		out := thrift.NewTBinaryProtocolConf(thrift.NewStreamTransportW(client), nil)
		_ = errors.Join(err, out.WriteMessageBegin(ctx, name, thrift.REPLY, sequence), write(ctx, out), out.Flush(ctx)) // the client may be gone
		if half, ok := client.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
		_, _ = io.Copy(io.Discard, client) // what is closed with bytes unread loses the reply
	}
}
