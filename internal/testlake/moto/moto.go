// Package moto starts a server that answers as AWS Glue does, for tests: moto, with the check of versions in front of it
// that moto does not have.
package moto

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/testlake/politely"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
	"github.com/stretchr/testify/require"
)

// ProgramEnv is the environment variable that names the program moto_server.
const ProgramEnv = "DVC_MOTO_SERVER"

// Start starts a server for the time of a test and returns its address. The test is skipped when no program is named.
func Start(t testing.TB) string {
	program := os.Getenv(ProgramEnv)
	if program == "" {
		t.Skipf("%s does not name the program moto_server: see interop/requirements/moto.txt", ProgramEnv)
	}
	cmd := exec.Command(program, "-H", "127.0.0.1", "-p", "0")
	said, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(said)
	address, log := "", strings.Builder{}
	for address == "" && lines.Scan() {
		log.WriteString(lines.Text() + "\n")
		address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(lines.Text())
	}
	var rest sync.WaitGroup
	rest.Go(func() {
		for lines.Scan() { // so that it never waits for a reader of its log
		}
	})
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Kill())
		rest.Wait()
		_ = cmd.Wait() // it was killed
	})
	require.NotEmpty(t, address, "%s", log.String())
	return address
}

// Glue is a Data Catalog.
type Glue struct {
	URL string

	server  *httptest.Server
	behind  http.Handler
	address string
	account string

	update sync.Mutex // held from the check of a version to the update

	mu     sync.Mutex
	faults []restcatalog.Fault
}

// NewGlue starts a Data Catalog for the time of a test: that of an account, of twelve digits, of the server.
func NewGlue(t testing.TB, address, account string) *Glue {
	target, err := url.Parse(address)
	require.NoError(t, err)
	g := &Glue{address: address, account: account}
	g.behind = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Set("X-Moto-Account-Id", account)
	}}
	g.listen(t, "127.0.0.1:0")
	t.Cleanup(func() { g.server.Close() })
	g.URL = g.server.URL
	return g
}

func (g *Glue) listen(t testing.TB, address string) {
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	g.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: politely.Handler(g)}}
	g.server.Start()
}

// Stop makes it unreachable.
func (g *Glue) Stop() { g.server.Close() }

// Resume makes it reachable again after Stop, at the same address.
func (g *Glue) Resume(t testing.TB) { g.listen(t, g.server.Listener.Addr().String()) }

// Break plans faults for the next updates of tables, one each.
func (g *Glue) Break(faults ...restcatalog.Fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = append(g.faults, faults...)
}

func (g *Glue) next() restcatalog.Fault {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.faults) == 0 {
		return nil
	}
	f := g.faults[0]
	g.faults = g.faults[1:]
	return f
}

// ServeHTTP implements http.Handler.
func (g *Glue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Amz-Target") != "AWSGlue.UpdateTable" {
		g.behind.ServeHTTP(w, r)
		return
	}
	if f := g.next(); f != nil {
		f(w, r, http.HandlerFunc(g.updateTable))
		return
	}
	g.updateTable(w, r)
}

// updateTable refuses an update that was not made for the newest version.
func (g *Glue) updateTable(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var asked struct {
		DatabaseName, VersionID string
		TableInput              struct{ Name string }
	}
	if err != nil || json.Unmarshal(body, &asked) != nil {
		Refuse("InvalidInputException")(w, r, nil)
		return
	}
	g.update.Lock()
	defer g.update.Unlock()
	var now struct{ Table struct{ VersionID string } }
	if err := g.Call(r.Context(), "GetTable", map[string]any{"DatabaseName": asked.DatabaseName, "Name": asked.TableInput.Name}, &now); err == nil && now.Table.VersionID != asked.VersionID {
		Refuse("ConcurrentModificationException")(w, r, nil)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.behind.ServeHTTP(w, r)
}

// Refuse answers with an error of Glue.
func Refuse(kind string) restcatalog.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": kind, "Message": "on purpose"})
	}
}

// Call asks the server itself and decodes what it says, unless out is nil.
func (g *Glue) Call(ctx context.Context, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.address+"/", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("X-Amz-Target", "AWSGlue."+operation)
	r.Header.Set("X-Moto-Account-Id", g.account)
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/glue/aws4_request, SignedHeaders=host, Signature=none")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := client.Do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	said, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("%s: status %d %s", operation, reply.StatusCode, said), err)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(said, out)
}
