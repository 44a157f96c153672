package crash

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dvcompactor/dvcompactor/internal/daemon"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake/faults"
)

// rare is a schedule with a run that is due when the table was last seen years ago, and then none for long.
const rare = "0 0 29 2 *"

// patience is how long a condition is waited for, on a machine with much else to do.
const patience = 90 * time.Second

// compacting is a policy that compacts every table.
func compacting(schedule string) string {
	return fmt.Sprintf("  - {name: p, tables: [\"*\"], action: compact, schedule: %q}\n", schedule)
}

// scheduled writes a configuration for daemons, with what they remember in a folder and more settings, and returns its path.
func (l *lab) scheduled(t *testing.T, name, config, policies, state string, more ...string) string {
	text, err := os.ReadFile(config)
	require.NoError(t, err)
	path := filepath.Join(l.dir, name)
	text = fmt.Appendf(text, "policies:\n%sdaemon: {listen: \"127.0.0.1:0\", discovery: 1s, state: %q, parallelism: 1, parallelism_per_catalog: 1%s}\n", policies, state, strings.Join(more, ""))
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// states are what daemons remember in a folder.
func states(t *testing.T, folder string) daemon.States {
	store, err := storage.Open(t.Context(), storage.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return daemon.NewObjects(store, folder)
}

// due makes a run of each table due, as if it had last been due years ago.
func due(t *testing.T, s daemon.States, tables ...string) {
	for _, table := range tables {
		require.NoError(t, s.Save(t.Context(), daemon.Key{Table: table}, daemon.Record{Slot: time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC)}))
	}
}

// results are how the runs of a table ended that are remembered.
func results(t *testing.T, s daemon.States, table string) []daemon.Result {
	r, _, err := s.Load(t.Context(), daemon.Key{Table: table})
	require.NoError(t, err)
	out := []daemon.Result{}
	for _, run := range r.Runs {
		out = append(out, run.Result)
	}
	return out
}

// served is a daemon that is a process of its own.
type served struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string

	mu    sync.Mutex
	lines []map[string]any // of its log
	ended chan struct{}
}

// serve starts a daemon and waits until it listens. Nothing of the environment of the tests is left to it.
func serve(t *testing.T, binary, config string) *served {
	s := &served{t: t, cmd: exec.CommandContext(t.Context(), binary, "serve", "-c", config), ended: make(chan struct{})}
	s.cmd.Env = []string{"HOME=" + filepath.Dir(config), "AWS_EC2_METADATA_DISABLED=true"}
	stderr, err := s.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	go s.follow(stderr)
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it may be gone
		<-s.ended
	})
	s.eventually("it listens", func() bool { return len(s.said("listening")) > 0 })
	s.address = "http://" + s.said("listening")[0]["address"].(string)
	return s
}

// follow reads the log to its end.
func (s *served) follow(stderr io.Reader) {
	defer close(s.ended)
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		var line map[string]any
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			line = map[string]any{"msg": lines.Text()}
		}
		s.mu.Lock()
		s.lines = append(s.lines, line)
		s.mu.Unlock()
	}
	_ = s.cmd.Wait() // how it ended is in its state
}

// said returns the lines of the log with a message.
func (s *served) said(message string) (out []map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		if line["msg"] == message {
			out = append(out, line)
		}
	}
	return out
}

// runs counts the runs that ended with a result.
func (s *served) runs(result daemon.Result) (n int) {
	for _, line := range s.said("run finished") {
		if line["result"] == string(result) {
			n++
		}
	}
	return n
}

func (s *served) eventually(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.t.Fatalf("not so after %v: %s; the log: %v", patience, what, s.lines)
		}
	}
}

// ask asks with GET; 0 when there was no answer.
func (s *served) ask(path string) (code int, body string) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := client.Get(s.address + path)
	if err != nil {
		return 0, ""
	}
	defer reply.Body.Close()
	data, err := io.ReadAll(reply.Body)
	if err != nil {
		return 0, ""
	}
	return reply.StatusCode, string(data)
}

func (s *served) isReady() bool {
	code, _ := s.ask("/-/ready")
	return code == http.StatusOK
}

func (s *served) signal(signal syscall.Signal) { require.NoError(s.t, s.cmd.Process.Signal(signal)) }

// stopping tells the daemon to stop and waits until it has heard.
func (s *served) stopping() {
	s.signal(syscall.SIGTERM)
	s.eventually("it stops", func() bool { return !s.isReady() })
}

// exit waits for the end of the daemon and returns its exit code, -1 when a signal ended it.
func (s *served) exit() int {
	s.t.Helper()
	s.eventually("it ends", func() bool {
		select {
		case <-s.ended:
			return true
		default:
			return false
		}
	})
	return s.cmd.ProcessState.ExitCode()
}

// stop is a SIGTERM to a daemon that does nothing.
func (s *served) stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	require.Zero(s.t, s.exit())
}

// gate holds back the requests of one daemon to the lake.
type gate struct {
	op, part string // of the requests that are held back: put or commit, and a part of the name
	after    bool   // they are done first, and only the reply is held back
	reached  chan struct{}
	opened   chan struct{}
	reach    sync.Once
	let      sync.Once
}

// gated starts servers before those of the lab with a gate in them, and returns the configuration that leads there.
func (l *lab) gated(t *testing.T, op, part string, after bool) (config string, g *gate) {
	g = &gate{op: op, part: part, after: after, reached: make(chan struct{}), opened: make(chan struct{})}
	s3, rest := httptest.NewServer(g.before(l.s3, faults.S3)), httptest.NewServer(g.before(l.rest, faults.REST))
	t.Cleanup(func() {
		g.open()
		rest.Close()
		s3.Close()
	})
	storageURL := strings.ReplaceAll(l.s3.MountURL("lake"), url.QueryEscape(l.s3.URL), url.QueryEscape(s3.URL))
	return l.configure(t, "gated.yaml", rest.URL, storageURL), g
}

func (g *gate) before(healthy http.Handler, classify func(*http.Request) (op, name string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if op, name := classify(r); op != g.op || !strings.Contains(name, g.part) {
			healthy.ServeHTTP(w, r)
			return
		}
		g.hold(w, r, healthy)
	})
}

// hold lets a request wait until the gate is opened. One whose client went away meanwhile is not done.
func (g *gate) hold(w http.ResponseWriter, r *http.Request, healthy http.Handler) {
	body, err := io.ReadAll(r.Body) // else nobody notices that the client goes away
	if err != nil {
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	answer := httptest.NewRecorder()
	if g.after {
		healthy.ServeHTTP(answer, r)
	}
	g.reach.Do(func() { close(g.reached) })
	select {
	case <-g.opened:
	case <-r.Context().Done():
		panic(http.ErrAbortHandler)
	}
	if !g.after {
		healthy.ServeHTTP(w, r)
		return
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func (g *gate) open() { g.let.Do(func() { close(g.opened) }) }

// wait waits until a request is held back.
func (g *gate) wait(s *served) {
	s.t.Helper()
	s.eventually("the daemon comes to "+g.op+" "+g.part, func() bool {
		select {
		case <-g.reached:
			return true
		default:
			return false
		}
	})
}
