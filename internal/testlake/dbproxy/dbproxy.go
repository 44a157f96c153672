// Package dbproxy stands in front of a database server and breaks connections, for tests.
package dbproxy

import (
	"bytes"
	"io"
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

// Effect is what comes of a connection at such a place. It gets the message that is held back, and the connection breaks
// when it returns.
type Effect func(client net.Conn, message []byte)

// Break does nothing more.
func Break(net.Conn, []byte) {}

// Stall lets the client wait until it gives up.
func Stall(client net.Conn, _ []byte) { _, _ = io.Copy(io.Discard, client) }

// Options describe a proxy.
type Options struct {
	Server string // the path of the server's socket, or its address as host:port
	Name   string // of the proxy's socket, in a folder of its own; empty when the server has an address, as the proxy then has
	// Sent is in what a client sends with the statement, Done in the answer that it is done.
	Sent, Done string
}

// Proxy is a running proxy.
type Proxy struct {
	Folder  string // of the socket
	Address string // of a proxy without one

	options Options
	running sync.WaitGroup

	mu       sync.Mutex
	cut      Cut
	effect   Effect
	listener net.Listener
	clients  map[net.Conn]bool
}

// New starts a proxy for the time of a test.
func New(t testing.TB, o Options) *Proxy {
	dir, err := os.MkdirTemp("", "db") // t.TempDir is too long for a socket
	require.NoError(t, err)
	p := &Proxy{Folder: dir, Address: "127.0.0.1:0", options: o, clients: map[net.Conn]bool{}}
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
	listener, err := p.listen()
	require.NoError(t, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener, p.Address = listener, listener.Addr().String()
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

func (p *Proxy) listen() (net.Listener, error) {
	if p.options.Name == "" {
		return net.Listen("tcp", p.Address)
	}
	return net.Listen("unix", filepath.Join(p.Folder, p.options.Name))
}

func (p *Proxy) dial() (net.Conn, error) {
	if p.options.Name == "" {
		return net.Dial("tcp", p.options.Server)
	}
	return net.Dial("unix", p.options.Server)
}

// CutNext lets an effect come over the next connection that carries the statement, once.
func (p *Proxy) CutNext(where Cut, effect Effect) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.effect = where, effect
}

// take returns what is to come over a connection here, and uses that up; nil for nothing.
func (p *Proxy) take(where Cut) Effect {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut != where {
		return nil
	}
	p.cut = Nowhere
	return p.effect
}

// Clients is how many connections there are.
func (p *Proxy) Clients() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.clients)
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
	server, err := p.dial()
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { p.pipe(server, client, client, BeforeApply, p.options.Sent) })
	both.Go(func() { p.pipe(client, server, client, AfterApply, p.options.Done) })
	both.Wait()
}

// pipe copies until it meets the text at which the connection is to break, and ends both directions.
func (p *Proxy) pipe(to, from, client net.Conn, where Cut, text string) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if bytes.Contains(buf[:n], []byte(text)) {
			if effect := p.take(where); effect != nil {
				effect(client, buf[:n])
				return
			}
		}
		if _, werr := to.Write(buf[:n]); werr != nil || err != nil {
			return
		}
	}
}
