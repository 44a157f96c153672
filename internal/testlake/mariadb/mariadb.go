// Package mariadb starts a MariaDB server for a test, from the programs that are installed on the machine.
package mariadb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/testlake/dbproxy"
	"github.com/stretchr/testify/require"
)

// socketName is that of the socket in its folder.
const socketName = "s"

// startup bounds how long a server takes until it answers.
const startup = time.Minute

// Server is a running server. It listens on a Unix socket only, and knows one user, root, without a password.
type Server struct {
	Socket string

	options []string
	log     string
	process *exec.Cmd
}

// Start starts a server of its own for the time of a test, which is skipped when MariaDB is not installed. More options
// of the server may be given.
func Start(t testing.TB, options ...string) *Server {
	install, err := exec.LookPath("mariadb-install-db")
	if err != nil {
		t.Skip("MariaDB is not installed: no mariadb-install-db in PATH")
	}
	dir, err := os.MkdirTemp("", "my") // t.TempDir is too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	s := &Server{Socket: filepath.Join(dir, socketName), log: filepath.Join(dir, "log")}
	s.options = slices.Concat([]string{
		"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--tmpdir=" + dir, "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M",
		"--innodb-flush-log-at-trx-commit=2", // what is committed survives the server, not the machine
	}, asRoot())
	out, err := exec.Command(install, append(s.options[:len(s.options):len(s.options)], "--auth-root-authentication-method=normal", "--skip-test-db")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	s.options = slices.Concat(s.options, []string{"--socket=" + s.Socket, "--skip-networking", "--pid-file=" + filepath.Join(dir, "pid"), "--max-connections=500"}, options)
	s.Resume(t)
	t.Cleanup(func() { s.Stop(t) })
	return s
}

// asRoot is needed by root, whom the server does not serve by itself.
func asRoot() []string {
	if os.Getuid() != 0 {
		return nil
	}
	return []string{"--user=root"}
}

// Stop ends the server at once. What was committed is kept.
func (s *Server) Stop(t testing.TB) {
	require.NoError(t, s.process.Process.Kill())
	var killed *exec.ExitError
	require.ErrorAs(t, s.process.Wait(), &killed)
	require.NoError(t, os.Remove(s.Socket))
}

// Resume starts it again after Stop.
func (s *Server) Resume(t testing.TB) {
	log, err := os.Create(s.log)
	require.NoError(t, err)
	defer log.Close()
	s.process = exec.Command(program(), s.options...)
	s.process.Stdout, s.process.Stderr = log, log
	require.NoError(t, s.process.Start())
	if err := s.answers(t.Context()); err != nil {
		said, _ := os.ReadFile(s.log)
		require.NoError(t, err, "%s", said)
	}
}

// answers waits until the server takes connections.
func (s *Server) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startup)
	defer cancel()
	for {
		conn, err := net.Dial("unix", s.Socket)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

func program() string {
	if path, err := exec.LookPath("mariadbd"); err == nil {
		return path
	}
	return "/usr/sbin/mariadbd" // where only root looks
}

// NewProxy starts a proxy in front of the server for the time of a test, and returns it and its socket.
func (s *Server) NewProxy(t testing.TB) (p *dbproxy.Proxy, socket string) {
	p = dbproxy.New(t, dbproxy.Options{Server: s.Socket, Name: socketName, Sent: "UPDATE iceberg_tables", Done: "Rows matched: 1  Changed: 1"})
	return p, filepath.Join(p.Folder, socketName)
}

// URI returns the address of a database behind a socket: that of the server or that of something in front of it.
func URI(socket, database string) string {
	return fmt.Sprintf("mysql://root@/%s?%s", database, url.Values{"socket": {socket}}.Encode())
}

// DSN is the same for the driver.
func DSN(socket, database string) string {
	return "root@unix(" + socket + ")/" + database + "?autocommit=true"
}
