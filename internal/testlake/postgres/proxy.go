package postgres

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Cut says where a connection breaks that carries an UPDATE.
type Cut int

// The places.
const (
	Nowhere     Cut = iota
	BeforeApply     // the statement does not reach the server
	AfterApply      // the statement is done, the reply does not reach the client
)

// Proxy is a socket in front of a server that breaks connections.
type Proxy struct {
	Socket string // folder with the socket

	server string
	mu     sync.Mutex
	cut    Cut
}

// NewProxy starts a proxy for the time of a test.
func (s *Server) NewProxy(t testing.TB) *Proxy {
	dir, err := os.MkdirTemp("", "pg") // t.TempDir is too long for a socket
	require.NoError(t, err)
	p := &Proxy{Socket: dir, server: filepath.Join(s.Socket, socketName)}
	listener, err := net.Listen("unix", filepath.Join(p.Socket, socketName))
	require.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		running.Wait() // the connections end with the clients
		require.NoError(t, os.RemoveAll(dir))
	})
	return p
}

const socketName = ".s.PGSQL.5432"

// CutNext breaks the next connection that carries an UPDATE, once.
func (p *Proxy) CutNext(where Cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = where
}

// take says whether a connection is to be broken here, and uses that up.
func (p *Proxy) take(where Cut) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut != where {
		return false
	}
	p.cut = Nowhere
	return true
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { p.pipe(server, client, BeforeApply, []byte("UPDATE iceberg_tables")) })
	both.Go(func() { p.pipe(client, server, AfterApply, []byte("UPDATE 1\x00")) })
	both.Wait()
}

// pipe copies until it meets the text at which the connection is to break, and ends both directions.
func (p *Proxy) pipe(to, from net.Conn, where Cut, text []byte) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if bytes.Contains(buf[:n], text) && p.take(where) {
			return
		}
		if _, werr := to.Write(buf[:n]); werr != nil || err != nil {
			return
		}
	}
}
