package daemon

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hook is a webhook that keeps what it is told.
type hook struct {
	*httptest.Server
	mu   sync.Mutex
	told []Alert
}

func newHook(t *testing.T, answer http.HandlerFunc) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		var a Alert
		assert.NoError(t, json.Unmarshal(body, &a))
		h.mu.Lock()
		h.told = append(h.told, a)
		h.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) events() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, a := range h.told {
		out = append(out, a.Table+" "+a.Event)
	}
	slices.Sort(out)
	return out
}

func fine(http.ResponseWriter, *http.Request) {}

func TestAWebhookIsToldOfHaltsBeforeTheDaemonEnds(t *testing.T) {
	t.Parallel()
	s, h := newStage(t), newHook(t, fine)
	s.config.Daemon.Webhook = h.URL + "/hunter2"
	s.runs(func(_ context.Context, j Job) Run {
		if j.Table == "c.db.a" {
			return Run{Result: ResultHalted, Error: "proof failed"}
		}
		return Run{Result: ResultFailed, Error: "503"}
	})
	_, err := s.once()
	require.NoError(t, err)
	require.Equal(t, []string{"c.db.a halted"}, h.events(), "one failure is no reason to wake somebody")
	assert.Equal(t, "dvcompactor: halted: c.db.a (policy p): proof failed", h.told[0].Text)
	_, err = s.once()
	require.NoError(t, err)
	assert.Len(t, h.events(), 1, "it is not run again, and not told again")
}

func TestTheSameDamageIsToldOnce(t *testing.T) {
	t.Parallel()
	found := func(issue string) Run { return Run{Result: ResultDamaged, Findings: map[string]int{issue: 1}} }
	a, b := found("dv-corrupt"), found("dv-incomplete")
	assert.Equal(t, "corruption", event(a, Record{Runs: []Run{a}}))
	assert.Empty(t, event(a, Record{Runs: []Run{a, a}}))
	assert.Equal(t, "corruption", event(b, Record{Runs: []Run{a, b}}))
	assert.Equal(t, "corruption", event(a, Record{Runs: []Run{a, {Result: ResultDone}, a}}))
}

func TestConflictsAreToldWhenTheyGoOn(t *testing.T) {
	t.Parallel()
	lost := Run{Result: ResultConflict}
	told := 0
	r := Record{}
	for range 6 {
		r.judge(lost, 3)
		if event(lost, r) == "conflicts" {
			told++
		}
	}
	assert.Equal(t, 2, told)
}

func TestAPauseAfterFailuresIsToldOnce(t *testing.T) {
	t.Parallel()
	failed := Run{Result: ResultFailed, Error: "503"}
	r := Record{}
	var told []string
	for range 3 {
		r.judge(failed, 3)
		if e := event(failed, r); e != "" {
			told = append(told, e)
		}
	}
	assert.Equal(t, []string{"paused"}, told)
}

func TestTheAddressOfAWebhookIsInNoLog(t *testing.T) {
	t.Parallel()
	moved := newHook(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/hunter2")
		w.WriteHeader(http.StatusFound)
	})
	refusing := newHook(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	gone := newHook(t, fine)
	gone.Close()
	for name, c := range map[string]struct{ address, want string }{
		"moved": {moved.URL + "/hunter2", "302"}, "refusing": {refusing.URL + "/hunter2", "403"}, "gone": {gone.URL + "/hunter2", "connection refused"},
		"no URL": {"http://x/hunter2\n", "no URL"}, "another scheme": {"ftp://127.0.0.1/hunter2", "unsupported protocol"},
	} {
		s := newStage(t)
		s.config.Daemon.Webhook = c.address
		s.runs(func(context.Context, Job) Run { return Run{Result: ResultHalted, Error: "no"} })
		_, err := s.once()
		require.NoError(t, err)
		lines := s.log.FilterMessage("the webhook was not told").All()
		require.Len(t, lines, 2, name)
		assert.Contains(t, lines[0].ContextMap()["error"], c.want, name)
		for _, line := range s.log.All() {
			for _, field := range line.ContextMap() {
				text, _ := field.(string)
				assert.False(t, strings.Contains(text, "hunter2"), "%s: %s", name, text)
			}
		}
	}
	assert.Len(t, moved.events(), 2, "a redirection is not followed")
}
