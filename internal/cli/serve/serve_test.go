package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/cli/runs"
	"github.com/dvcompactor/dvcompactor/internal/daemon"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

func TestMain(m *testing.M) { os.Exit(testlake.Main(m)) }

const nightly = "  - {name: nightly, tables: [\"lake.*\"], action: compact, schedule: \"@every 1s\"}\n"

// running is a daemon on a copy of a lake.
type running struct {
	t       *testing.T
	config  string
	lake    *testlake.Lake
	log     *observer.ObservedLogs
	address string
	cancel  context.CancelCauseFunc
	ended   chan error
}

func start(t *testing.T, more string) *running {
	r := &running{t: t, lake: testlake.Copy(t, "v3-many-puffins"), ended: make(chan error, 1)}
	r.config = filepath.Join(r.lake.Dir, "dvc.yaml")
	r.write(nightly, more)
	core, log := observer.New(zap.InfoLevel)
	r.log = log
	ctx, cancel := context.WithCancelCause(t.Context())
	r.cancel = cancel
	listening := make(chan net.Addr, 1)
	o := Options{Output: runs.Output{Out: io.Discard, Log: zap.New(core)}, Source: lake.Source{Config: r.config, LookupEnv: os.LookupEnv}, Version: "1.2.3", Now: time.Now,
		Listening: func(a net.Addr) { listening <- a }}
	go func() { r.ended <- Run(ctx, o) }()
	select {
	case a := <-listening:
		r.address = "http://" + a.String()
	case err := <-r.ended:
		require.NoError(t, err)
	}
	t.Cleanup(func() { r.stop() })
	return r
}

// write writes the configuration with policies and more about the daemon.
func (r *running) write(policies, more string) {
	text := fmt.Sprintf(`version: 1
catalogs: {lake: {type: sql, uri: "sqlite://%[1]s/catalog.db"}}
storage: [{prefix: "s3://lake/", url: "file://%[1]s"}]
policies:
%[2]s
daemon: {listen: "127.0.0.1:0", state: "%[1]s/state", discovery: 1s, token: hunter2%[3]s}
`, r.lake.Dir, policies, more)
	require.NoError(r.t, os.WriteFile(r.config, []byte(text), 0o600))
}

// stop is what SIGTERM does. It returns how the daemon ended; the second time nothing.
func (r *running) stop() error {
	r.cancel(&exit.Signal{Signal: syscall.SIGTERM})
	err, ok := <-r.ended
	if ok {
		close(r.ended)
	}
	return err
}

func (r *running) ask(method, path string) (int, string) {
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.address+path, nil)
	require.NoError(r.t, err)
	request.Header.Set("Authorization", "Bearer hunter2")
	transport := &http.Transport{DisableKeepAlives: true}
	reply, err := (&http.Client{Transport: transport}).Do(request)
	require.NoError(r.t, err)
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	require.NoError(r.t, err)
	return reply.StatusCode, string(body)
}

func (r *running) eventually(what string, is func() bool) {
	r.t.Helper()
	require.Eventually(r.t, is, 30*time.Second, 20*time.Millisecond, what)
}

func (r *running) finished(result string) bool {
	for _, line := range r.log.FilterMessage("run finished").All() {
		if line.ContextMap()["result"] == result {
			return true
		}
	}
	return false
}

func TestADaemonCompactsARealTableAndSaysSoEverywhere(t *testing.T) {
	t.Parallel()
	r := start(t, "")
	r.eventually("the table is compacted", func() bool { return r.finished("done") })
	r.eventually("it is counted", func() bool {
		_, metrics := r.ask(http.MethodGet, "/metrics")
		return strings.Contains(metrics, `dvcompactor_runs_total{action="compact",result="done"} 1`)
	})
	_, metrics := r.ask(http.MethodGet, "/metrics")
	assert.Contains(t, metrics, `dvcompactor_puffin_files{policy="nightly",table="lake.db.t"} 1`)
	assert.NotContains(t, metrics, `dvcompactor_bucket_operations_total{op="put"} 0`)
	_, status := r.ask(http.MethodGet, "/status")
	assert.Contains(t, status, `"table": "lake.db.t"`)
	code, _ := r.ask(http.MethodGet, "/-/ready")
	assert.Equal(t, http.StatusOK, code)
	require.NoError(t, r.stop(), "a daemon that was told to stop, and did, is done")
}

func TestProfilesAreServedOnTheirOwnAddressOnly(t *testing.T) {
	t.Parallel()
	r := start(t, `, pprof: "127.0.0.1:0"`)
	told := r.log.FilterMessage("profiles").All()
	require.Len(t, told, 1)
	own := &running{t: t, address: fmt.Sprint("http://", told[0].ContextMap()["address"])}
	code, body := own.ask(http.MethodGet, "/debug/pprof/goroutine?debug=1")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, body, "goroutine profile")
	code, _ = r.ask(http.MethodGet, "/debug/pprof/")
	assert.Equal(t, http.StatusNotFound, code)
}

func TestAReloadWithAMistakeChangesNothing(t *testing.T) {
	t.Parallel()
	r := start(t, "")
	r.write("  - {name: bad}\n", "")
	code, body := r.ask(http.MethodPost, "/-/reload")
	assert.Equal(t, http.StatusUnprocessableEntity, code)
	assert.Contains(t, body, "dvc.yaml:5")
	_, metrics := r.ask(http.MethodGet, "/metrics")
	assert.Contains(t, metrics, "dvcompactor_config_last_reload_successful 0")
	r.eventually("the old policy goes on", func() bool { return r.finished("done") })

	r.write("  - {name: other, tables: [\"lake.*\"], action: check, schedule: \"@every 1s\"}\n", ", table_label: false")
	code, _ = r.ask(http.MethodPost, "/-/reload")
	assert.Equal(t, http.StatusOK, code)
	assert.Len(t, r.log.FilterMessageSnippet("stay as they were until a restart").All(), 1)
	r.eventually("the new policy is in effect", func() bool {
		_, status := r.ask(http.MethodGet, "/status")
		return strings.Contains(status, `"policy": "other"`) && !strings.Contains(status, `"policy": "nightly"`)
	})
}

func TestAnAddressThatIsTakenEndsTheDaemon(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	r := &running{t: t, lake: testlake.Copy(t, "v3-shared-puffin")}
	r.config = filepath.Join(r.lake.Dir, "dvc.yaml")
	r.write(nightly, "")
	text, err := os.ReadFile(r.config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(r.config, []byte(strings.ReplaceAll(string(text), "127.0.0.1:0", taken.Addr().String())), 0o600))
	once := func() error {
		return Run(t.Context(), Options{Output: runs.Output{Out: io.Discard, Log: zap.NewNop()}, Source: lake.Source{Config: r.config, LookupEnv: os.LookupEnv}, Now: time.Now})
	}
	require.ErrorContains(t, once(), "daemon.listen")
	r.write(nightly, `, pprof: "`+taken.Addr().String()+`"`)
	require.ErrorContains(t, once(), "daemon.pprof")
}

func TestTheExitCodeOfRunsThatWereDue(t *testing.T) {
	t.Parallel()
	run := func(results ...daemon.Result) []daemon.Run {
		var out []daemon.Run
		for _, r := range results {
			out = append(out, daemon.Run{Result: r})
		}
		return out
	}
	away := errors.New("a catalog is away")
	for name, c := range map[string]struct {
		runs []daemon.Run
		away error
		want exit.Code
	}{
		"nothing was due": {nil, nil, exit.OK}, "all went well": {run(daemon.ResultDone, daemon.ResultNothing, daemon.ResultSkipped), nil, exit.OK},
		"some failed": {run(daemon.ResultDone, daemon.ResultFailed), nil, exit.Partial}, "all failed": {run(daemon.ResultFailed, daemon.ResultFailed), nil, exit.Failed},
		"all that were not locked failed": {run(daemon.ResultFailed, daemon.ResultLocked), nil, exit.Failed},
		"refused":                         {run(daemon.ResultHalted), nil, exit.Refused}, "conflicts": {run(daemon.ResultConflict), nil, exit.Conflicts},
		"damage": {run(daemon.ResultDone, daemon.ResultDamaged), nil, exit.Damaged}, "all locked": {run(daemon.ResultLocked, daemon.ResultLocked), nil, exit.Locked},
		"one locked": {run(daemon.ResultLocked, daemon.ResultDone), nil, exit.OK},
		"a catalog":  {run(daemon.ResultDone), away, exit.Partial}, "every catalog": {nil, away, exit.Failed},
	} {
		assert.Equal(t, c.want, exit.Of(verdict(c.runs, c.away)), name)
	}
}
