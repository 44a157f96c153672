package daemon

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestABrowserMaySendTheTokenAsAPasswordToReadAndForNothingElse(t *testing.T) {
	t.Parallel()
	reloads := 0
	h := New(newStage(t).o).Handler(HandlerOptions{Token: "hunter2", Reload: func() error { reloads++; return nil }})
	with := func(method, path, password string) int {
		r := httptest.NewRequest(method, path, nil)
		r.SetBasicAuth("anybody", password)
		code, _, _ := ask(t, h, method, path, r.Header)
		return code
	}
	assert.Equal(t, http.StatusOK, with(http.MethodGet, "/", "hunter2"))
	assert.Equal(t, http.StatusOK, with(http.MethodGet, "/style.css", "hunter2"))
	assert.Equal(t, http.StatusUnauthorized, with(http.MethodGet, "/", "hunter3"))
	assert.Equal(t, http.StatusUnauthorized, with(http.MethodGet, "/", ""))
	assert.Equal(t, http.StatusUnauthorized, with(http.MethodPost, "/-/reload", "hunter2"))
	assert.Zero(t, reloads)
}

func TestNoPageShowsASecretOfTheConfiguration(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.config.Daemon.Token, s.config.Daemon.Webhook = "hunter2", "https://hooks.example/T00/hunter3"
	s.away["c"] = fmt.Errorf("get https://user:hunter4@catalog.example/v1?token=hunter5: connection refused")
	d := New(s.o)
	require.Error(t, d.discover(t.Context()))
	delete(s.away, "c")
	require.NoError(t, d.discover(t.Context()))
	s.away["c"] = fmt.Errorf("get https://user:hunter4@catalog.example/v1?token=hunter5: connection refused")
	_ = d.discover(t.Context()) // the tables are kept
	h := d.Handler(HandlerOptions{Token: "hunter2"})
	for _, path := range []string{"/", "/?q=c.db", "/table?name=c.db.a", "/table?name=c.db.none", "/style.css", "/status"} {
		_, body, _ := ask(t, h, http.MethodGet, path, bearer("hunter2"))
		assert.NotContains(t, body, "hunter", path)
	}
	_, body, _ := ask(t, h, http.MethodGet, "/", bearer("hunter2"))
	assert.Contains(t, body, "connection refused")
	assert.Contains(t, body, "c.db.a")
}

func TestThePageIsWhatReadersOfScreensAndItsOwnPolicyAskFor(t *testing.T) {
	t.Parallel()
	h := site(crowded())
	for _, address := range []string{"/", "/?q=nowhere", "/table?name=lake.db.t", "/table?name=none"} {
		page := look(t, h, address)
		assert.Equal(t, "en", page.attr("lang"))
		for name, n := range map[string]int{"header": 1, "main": 1, "footer": 1, "h1": 1, "title": 1, "script": 0, "style": 0, "img": 0} {
			assert.Len(t, page.all(name), n, "%s of %s", name, address)
		}
		ids := map[string]bool{}
		for _, e := range page.all("") {
			checkElement(t, e, address)
			if id := e.attr("id"); id != "" {
				assert.False(t, ids[id], "%s twice on %s", id, address)
				ids[id] = true
			}
		}
		for _, label := range page.all("label") {
			assert.True(t, ids[label.attr("for")], address)
		}
	}
}

// checkElement asserts what has to hold of each element by itself.
func checkElement(t *testing.T, e *element, address string) {
	assert.Empty(t, e.attr("style"), address)
	switch e.XMLName.Local {
	case "th":
		assert.Contains(t, []string{"row", "col"}, e.attr("scope"), address)
	case "svg":
		assert.Equal(t, "img", e.attr("role"), address)
		assert.NotEmpty(t, e.attr("aria-label"), address)
	case "time":
		_, err := time.Parse(time.RFC3339, e.attr("datetime"))
		assert.NoError(t, err, address)
		assert.NotEmpty(t, e.text(), address)
	case "td":
		assert.NotEmpty(t, e.attr("data-label"), address)
	case "a", "form":
		to := e.attr("href") + e.attr("action")
		assert.False(t, to == "" || strings.HasPrefix(to, "/") || strings.Contains(to, ":"), "%s of %s leads out of what a proxy serves", to, address)
	}
}
