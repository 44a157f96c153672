package daemon

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ask sends one request and returns the code and the body.
func ask(t *testing.T, h http.Handler, method, path string, header http.Header) (int, string, http.Header) {
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	r.Header = header
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return w.Code, string(body), w.Result().Header
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

func TestEveryPathButHealthWantsTheToken(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	h := New(s.o).Handler(HandlerOptions{Token: "hunter2", Reload: func() error { return nil }})
	for _, path := range []string{"/", "/metrics", "/status", "/nowhere"} {
		for name, header := range map[string]http.Header{
			"none": {}, "wrong": bearer("hunter3"), "a part": bearer("hunter"), "empty": bearer(""), "another scheme": {"Authorization": {"Basic hunter2"}}, "in the address": {"Cookie": {"token=hunter2"}},
		} {
			code, body, reply := ask(t, h, http.MethodGet, path, header)
			assert.Equal(t, http.StatusUnauthorized, code, "%s %s", path, name)
			assert.Equal(t, "Bearer", reply.Get("WWW-Authenticate"))
			assert.NotContains(t, body, "hunter2")
		}
	}
	code, _, _ := ask(t, h, http.MethodPost, "/-/reload", http.Header{})
	assert.Equal(t, http.StatusUnauthorized, code)
	for _, path := range []string{"/", "/metrics", "/status"} {
		code, _, _ := ask(t, h, http.MethodGet, path, bearer("hunter2"))
		assert.Equal(t, http.StatusOK, code, path)
	}
	code, _, _ = ask(t, h, http.MethodGet, "/-/healthy", http.Header{})
	assert.Equal(t, http.StatusOK, code)
}

func TestWhatIsNotThereIsNotFoundAndNothingIsChangedByReading(t *testing.T) {
	t.Parallel()
	reloads := 0
	h := New(newStage(t).o).Handler(HandlerOptions{Reload: func() error { reloads++; return nil }})
	for _, path := range []string{"/nowhere", "/-/", "/-/quit", "/debug/pprof/", "/metrics/x"} {
		code, _, _ := ask(t, h, http.MethodGet, path, http.Header{})
		assert.Equal(t, http.StatusNotFound, code, path)
	}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete} {
		code, _, _ := ask(t, h, method, "/-/reload", http.Header{})
		assert.GreaterOrEqual(t, code, http.StatusBadRequest, method)
	}
	for _, path := range []string{"/metrics", "/status", "/"} {
		code, _, _ := ask(t, h, http.MethodPost, path, http.Header{})
		assert.Equal(t, http.StatusMethodNotAllowed, code, path)
	}
	assert.Zero(t, reloads)
}

func TestEveryAnswerHasTheHeadersThatKeepBrowsersFromDoingThings(t *testing.T) {
	t.Parallel()
	h := New(newStage(t).o).Handler(HandlerOptions{Token: "x", Reload: func() error { return nil }})
	for _, path := range []string{"/", "/status", "/metrics", "/-/healthy", "/nowhere"} {
		for _, header := range []http.Header{{}, bearer("x")} {
			_, _, reply := ask(t, h, http.MethodGet, path, header)
			assert.Contains(t, reply.Get("Content-Security-Policy"), "default-src 'none'", path)
			assert.Contains(t, reply.Get("Content-Security-Policy"), "frame-ancestors 'none'", path)
			assert.Equal(t, "nosniff", reply.Get("X-Content-Type-Options"), path)
			assert.Equal(t, "DENY", reply.Get("X-Frame-Options"), path)
			assert.Equal(t, "no-referrer", reply.Get("Referrer-Policy"), path)
			assert.Equal(t, "no-store", reply.Get("Cache-Control"), path)
		}
	}
}

func TestReloadSaysWhetherTheConfigurationIsInEffect(t *testing.T) {
	t.Parallel()
	var result error
	h := New(newStage(t).o).Handler(HandlerOptions{Reload: func() error { return result }})
	code, body, _ := ask(t, h, http.MethodPost, "/-/reload", http.Header{})
	assert.Equal(t, http.StatusOK, code)
	assert.Equal(t, "reloaded\n", body)
	result = errors.New("dvc.yaml:3: policies: no")
	code, body, _ = ask(t, h, http.MethodPost, "/-/reload", http.Header{})
	assert.Equal(t, http.StatusUnprocessableEntity, code)
	assert.Contains(t, body, "dvc.yaml:3")
}

func TestAPageOfAnotherSiteCannotReload(t *testing.T) {
	t.Parallel()
	h := New(newStage(t).o).Handler(HandlerOptions{Reload: func() error { t.Error("reloaded"); return nil }})
	for _, header := range []http.Header{{"Sec-Fetch-Site": {"cross-site"}}, {"Origin": {"https://evil.example"}}} {
		code, _, _ := ask(t, h, http.MethodPost, "/-/reload", header)
		assert.Equal(t, http.StatusForbidden, code)
	}
}

func TestADaemonIsReadyWhenItKnowsTablesAndHealthyWhileItsClockTicks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	now := time.Now()
	s.o.Now = func() time.Time { return now }
	d := New(s.o)
	h := d.Handler(HandlerOptions{})
	code, body, _ := ask(t, h, http.MethodGet, "/-/ready", http.Header{})
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Equal(t, "not ready\n", body)
	require.NoError(t, d.discover(t.Context()))
	code, _, _ = ask(t, h, http.MethodGet, "/-/ready", http.Header{})
	assert.Equal(t, http.StatusOK, code)
	d.pause()
	now = now.Add(time.Minute)
	code, _, _ = ask(t, h, http.MethodGet, "/-/healthy", http.Header{})
	assert.Equal(t, http.StatusOK, code)
	now = now.Add(time.Hour)
	code, _, _ = ask(t, h, http.MethodGet, "/-/healthy", http.Header{})
	assert.Equal(t, http.StatusServiceUnavailable, code)
}

func TestTheStatusIsOneDocument(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.o.Once = true
	d := New(s.o)
	_, err := d.Run(t.Context(), t.Context())
	require.NoError(t, err)
	_, body, reply := ask(t, d.Handler(HandlerOptions{Version: "1.2.3"}), http.MethodGet, "/status", http.Header{})
	assert.Equal(t, "application/json", reply.Get("Content-Type"))
	var doc StatusDocument
	require.NoError(t, json.Unmarshal([]byte(body), &doc))
	assert.Equal(t, "1.2.3", doc.Version)
	assert.True(t, doc.Ready)
	require.Len(t, doc.Tables, 2)
	assert.Equal(t, "c.db.a", doc.Tables[0].Table)
	assert.Equal(t, "policy p: * matches", doc.Tables[0].Why)
	require.NotNil(t, doc.Tables[0].Next)
	require.Len(t, doc.Tables[0].Runs, 1)
	assert.Equal(t, ResultDone, doc.Tables[0].Runs[0].Result)
}
