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

	server  string
	running sync.WaitGroup

	mu       sync.Mutex
	cut      Cut
	listener net.Listener
	clients  map[net.Conn]bool
}

// NewProxy starts a proxy for the time of a test.
func (s *Server) NewProxy(t testing.TB) *Proxy {
	dir, err := os.MkdirTemp("", "pg") // t.TempDir is too long for a socket
	require.NoError(t, err)
	p := &Proxy{Socket: dir, server: filepath.Join(s.Socket, socketName), clients: map[net.Conn]bool{}}
	p.Resume(t)
	t.Cleanup(func() {
		p.mu.Lock()
		listener := p.listener
		p.mu.Unlock()
		_ = listener.Close() // it is closed already after Stop
		p.running.Wait()     // the connections end with the clients
		require.NoError(t, os.RemoveAll(dir))
	})
	return p
}

// Stop breaks all connections and refuses new ones.
func (p *Proxy) Stop(t testing.TB) {
	p.mu.Lock()
	defer p.mu.Unlock()
	require.NoError(t, p.listener.Close())
	for client := range p.clients {
		_ = client.Close() // it may have ended by itself
	}
}

// Resume takes connections again after Stop.
func (p *Proxy) Resume(t testing.TB) {
	listener, err := net.Listen("unix", filepath.Join(p.Socket, socketName))
	require.NoError(t, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener = listener
	p.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.serve(client) })
		}
	})
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

func (p *Proxy) note(client net.Conn, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if open {
		p.clients[client] = true
	} else {
		delete(p.clients, client)
	}
}

func (p *Proxy) serve(client net.Conn) {
	p.note(client, true)
	defer p.note(client, false)
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
