// Package postgres starts a PostgreSQL server for a test, from the programs that are installed on the machine.
package postgres

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/testlake/dbproxy"
	"github.com/stretchr/testify/require"
)

// Server is a running server. It listens on a Unix socket only.
type Server struct {
	Socket string // folder with the socket

	run func(t testing.TB, name string, args ...string)
}

// Start starts a server of its own for the time of a test, which is skipped when PostgreSQL is not installed. The server
// refuses to run as root, so root starts it as the user postgres or nobody.
func Start(t testing.TB) *Server {
	bin := programs()
	if bin == "" {
		t.Skip("PostgreSQL is not installed: no initdb in PATH or /usr/lib/postgresql/*/bin")
	}
	// The folder is not below t.TempDir, into which another user cannot look. The socket's path must be short as well.
	dir, err := os.MkdirTemp("", "pg")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	as, err := unprivileged(dir)
	if err != nil {
		t.Skipf("PostgreSQL cannot be started as another user than root: %v", err)
	}
	run := func(t testing.TB, name string, args ...string) {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir, cmd.SysProcAttr = dir, as
		cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+dir)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
	}
	s := &Server{Socket: dir, run: run}
	run(t, "initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8")
	s.Resume(t)
	t.Cleanup(func() { s.Stop(t) })
	return s
}

func (s *Server) data() string { return filepath.Join(s.Socket, "data") }

// Stop ends the server at once, as when the machine dies. What was committed is kept.
func (s *Server) Stop(t testing.TB) {
	s.run(t, "pg_ctl", "stop", "-w", "-m", "immediate", "-D", s.data())
}

// Resume starts it again after Stop.
func (s *Server) Resume(t testing.TB) {
	s.run(t, "pg_ctl", "start", "-w", "-D", s.data(), "-l", filepath.Join(s.Socket, "log"), "-o", "-c listen_addresses='' -c fsync=off -k "+s.Socket)
}

// NewProxy starts a proxy in front of the server for the time of a test.
func (s *Server) NewProxy(t testing.TB) *dbproxy.Proxy {
	const name = ".s.PGSQL.5432"
	return dbproxy.New(t, dbproxy.Options{Server: filepath.Join(s.Socket, name), Name: name, Sent: "UPDATE iceberg_tables", Done: "UPDATE 1\x00"})
}

// URI returns the address of a database on a socket folder: that of the server or that of something in front of it.
func URI(socket, database string) string {
	q := url.Values{"host": {socket}, "user": {"postgres"}}
	return fmt.Sprintf("postgres:///%s?%s", database, q.Encode())
}

// programs returns the folder of the newest installed server.
func programs() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[0])
}

func version(path string) int {
	n, _ := strconv.Atoi(strings.Split(path, "/")[4])
	return n
}
