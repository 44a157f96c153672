package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// browse opens an address in a headless browser, and returns what it made of the page and what it complained about.
func browse(t *testing.T, address string) (page, complaints string) {
	path, err := exec.LookPath("chromium")
	if err != nil || testing.Short() {
		t.Skip("no chromium, or a short run")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out, log strings.Builder
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--user-data-dir="+t.TempDir(), "--enable-logging=stderr", "--dump-dom", address)
	cmd.Stdout, cmd.Stderr = &out, &log
	require.NoError(t, cmd.Run(), "%s", &log)
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "CONSOLE") {
			complaints += line
		}
	}
	return out.String(), complaints
}

// crowded are tables that take much room.
func crowded() Status {
	long := maintained("lake.namespace."+strings.Repeat("very_long_name_", 20), merged(123456, 789, 4567))
	long.Record.Halted = "s3://bucket/" + strings.Repeat("x", 400) + ": the proof failed"
	failed := checked("lake.db.t", Run{Result: ResultFailed, Error: strings.Repeat("no space left ", 40)})
	return Status{Tables: []State{maintained("lake.db.t", merged(1, 2, 3), merged(5, 6, 7)), failed, long}, Missing: map[string]string{"prod": strings.Repeat("refused/", 60)}, Now: pageTime, Started: pageTime}
}

// probe shows a page in a frame of some width and measures it there.
const probe = `<!DOCTYPE html><title>probe</title><pre id="out"></pre><script>
const q = new XMLHttpRequest(); q.open('GET', %q, false); q.send();
const f = document.createElement('iframe'); f.style.width = '%dpx'; f.srcdoc = q.responseText;
f.onload = () => { const d = f.contentDocument, of = e => getComputedStyle(d.querySelector(e)); out.textContent = JSON.stringify({
  scroll: d.documentElement.scrollWidth, width: d.documentElement.clientWidth, row: of('tbody tr').display, cell: of('tbody td').display, head: of('thead').position}) };
document.body.append(f);
</script>`

// probed is what a probe found.
type probed struct {
	Scroll, Width   int
	Row, Cell, Head string
}

func measure(t *testing.T, s Status, address string, width int) (m probed) {
	mux := http.NewServeMux()
	mux.Handle("/", site(s))
	mux.HandleFunc("/probe", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, probe, address, width) })
	server := httptest.NewServer(mux)
	defer server.Close()
	page, complaints := browse(t, server.URL+"/probe")
	_, out, found := strings.Cut(page, `<pre id="out">`)
	out, _, _ = strings.Cut(out, "</pre>")
	require.True(t, found && out != "", "%s\n%s", page, complaints)
	require.NoError(t, json.Unmarshal([]byte(html.UnescapeString(out)), &m))
	return m
}

func TestNothingIsWiderThanAPhoneWhereRowsAreCards(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"/", "/table?name=lake.db.t"} {
		m := measure(t, crowded(), address, 360)
		assert.LessOrEqual(t, m.Scroll, m.Width, address)
		assert.Equal(t, "block grid absolute", m.Row+" "+m.Cell+" "+m.Head, address)
	}
}

func TestOnADeskRowsAreRows(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"/", "/table?name=lake.db.t"} {
		m := measure(t, crowded(), address, 1280)
		assert.LessOrEqual(t, m.Scroll, m.Width, address)
		assert.Equal(t, "table-row table-cell static", m.Row+" "+m.Cell+" "+m.Head, address)
	}
}

func TestABrowserThatKeepsToThePolicyOfThePageShowsAllOfIt(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]bool{}
	pages := secured(site(crowded()))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path] = true
		mu.Unlock()
		pages.ServeHTTP(w, r)
	}))
	defer server.Close()
	page, complaints := browse(t, server.URL)
	assert.Contains(t, page, "lake.db.t")
	assert.NotContains(t, complaints, "Policy")
	mu.Lock()
	defer mu.Unlock()
	assert.True(t, asked["/style.css"])
}
