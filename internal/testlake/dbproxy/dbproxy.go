// Package dbproxy is a socket in front of a database server that breaks connections, for tests.
package dbproxy

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Cut says where a connection breaks that changes the row of a table in a catalog.
type Cut int

// The places.
const (
	Nowhere     Cut = iota
	BeforeApply     // the statement does not reach the server
	AfterApply      // the statement is done, the reply does not reach the client
)

// Options describe a proxy.
type Options struct {
	Server string // the path of the server's socket
	Name   string // of the proxy's socket, in a folder of its own
	// Sent is in what a client sends with the statement, Done in the answer that it is done.
	Sent, Done string
}

// Proxy is a running proxy.
type Proxy struct {
	Folder string // of the socket

	options Options
	running sync.WaitGroup

	mu       sync.Mutex
	cut      Cut
	listener net.Listener
	clients  map[net.Conn]bool
}

// New starts a proxy for the time of a test.
func New(t testing.TB, o Options) *Proxy {
	dir, err := os.MkdirTemp("", "db") // t.TempDir is too long for a socket
	require.NoError(t, err)
	p := &Proxy{Folder: dir, options: o, clients: map[net.Conn]bool{}}
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
	listener, err := net.Listen("unix", filepath.Join(p.Folder, p.options.Name))
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

// CutNext breaks the next connection that carries the statement, once.
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
	server, err := net.Dial("unix", p.options.Server)
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { p.pipe(server, client, BeforeApply, p.options.Sent) })
	both.Go(func() { p.pipe(client, server, AfterApply, p.options.Done) })
	both.Wait()
}

// pipe copies until it meets the text at which the connection is to break, and ends both directions.
func (p *Proxy) pipe(to, from net.Conn, where Cut, text string) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if bytes.Contains(buf[:n], []byte(text)) && p.take(where) {
			return
		}
		if _, werr := to.Write(buf[:n]); werr != nil || err != nil {
			return
		}
	}
}
