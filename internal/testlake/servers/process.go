package servers

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/testlake/loopback"
	"github.com/stretchr/testify/require"
)

// Env is the variable with the folder of the programs.
const Env = "DVC_STORE_SERVERS"

// program returns the path of a program, or skips the test when there is no folder of them.
func program(t testing.TB, name string) string {
	dir := os.Getenv(Env)
	if dir == "" {
		t.Skipf("%s is not set: it names the folder with the program %s", Env, name)
	}
	path := filepath.Join(dir, name)
	_, err := os.Stat(path)
	require.NoError(t, err, "a program of %s", Env)
	return path
}

// process is a running program.
type process struct {
	address string // host:port
	output  syncBuffer
}

// start runs a program for the time of a test and waits until it answers HTTP requests. arguments get the address.
func start(t testing.TB, path string, env []string, arguments func(host, port string) []string) *process {
	const attempts = 3 // somebody else may take the port before the program does
	for range attempts {
		if p := tryStart(t, path, env, arguments); p != nil {
			return p
		}
	}
	t.Fatalf("%s does not come up", path)
	return nil
}

func tryStart(t testing.TB, path string, env []string, arguments func(host, port string) []string) *process {
	p := &process{address: loopback.FreeAddress(t)}
	host, port, err := net.SplitHostPort(p.address)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, arguments(host, port)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Dir = t.TempDir()
	cmd.Stdout, cmd.Stderr = &p.output, &p.output
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed in the end
	}()
	stop := func() {
		cancel()
		<-ended
	}
	if !p.answers(ended) {
		stop()
		t.Logf("%s: %s", filepath.Base(path), p.output.String())
		return nil
	}
	t.Cleanup(stop)
	return p
}

// answers waits for the first reply of any kind, as long as the program runs, for a minute at most.
func (p *process) answers(ended <-chan struct{}) bool {
	const patience = time.Minute
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	return loopback.Await(ended, patience, func() bool {
		reply, err := client.Get("http://" + p.address + "/")
		if err == nil {
			_ = reply.Body.Close()
		}
		return err == nil
	})
}

// names gives out names of buckets that nobody used yet.
type names struct {
	mu sync.Mutex
	n  int
}

func (n *names) next() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.n++
	return fmt.Sprintf("lake%d", n.n)
}

// syncBuffer keeps the end of what a program prints.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *syncBuffer) Write(p []byte) (int, error) {
	const kept = 64 << 10
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buf.Len() > kept {
		b.buf.Reset()
	}
	return b.buf.Write(p)
}

// String returns what is kept.
func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.TrimSpace(b.buf.String())
}
