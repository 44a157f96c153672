package daemon

import (
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// element is a part of a page. Pages are well-formed XML, too, so that a tag that is not closed is noticed.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []element  `xml:",any"`
	Own      string     `xml:",chardata"`
}

func (e *element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// text is that of the element, then that of its children, with single blanks.
func (e *element) text() string {
	parts := strings.Fields(e.Own)
	for i := range e.Children {
		parts = append(parts, e.Children[i].text())
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// all returns the elements of a name at any depth; every one for the empty name.
func (e *element) all(name string) (out []*element) {
	for i := range e.Children {
		c := &e.Children[i]
		if name == "" || c.XMLName.Local == name {
			out = append(out, c)
		}
		out = append(out, c.all(name)...)
	}
	return out
}

// tables are the names in the rows of the page.
func (e *element) tables() (out []string) {
	for _, th := range e.all("th") {
		if th.attr("scope") == "row" {
			out = append(out, th.text())
		}
	}
	return out
}

var pageTime = time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)

// site serves the pages of a status.
func site(s Status) http.Handler {
	if s.Now.IsZero() {
		s.Now, s.Started, s.Ready, s.Healthy = pageTime, pageTime.Add(-48*time.Hour), true, true
	}
	mux := http.NewServeMux()
	newPages(func() Status { return s }, "v1.2.3", zap.NewNop()).register(mux)
	return mux
}

// get returns the body and the code at an address, which may be relative to the root.
func get(t *testing.T, h http.Handler, address string) (string, int) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/"+strings.TrimPrefix(strings.TrimPrefix(address, "."), "/"), nil))
	body, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return string(body), w.Code
}

// look returns the page at an address.
func look(t *testing.T, h http.Handler, address string) *element {
	body, _ := get(t, h, address)
	var e element
	require.NoError(t, xml.Unmarshal([]byte(body), &e), "%s", body)
	return &e
}

func compacting() *config.Policy {
	return &config.Policy{
		Name: "nightly", Action: config.ActionCompact, Schedule: "15 2 * * *", Timezone: berlin, Jitter: 10 * time.Minute,
		Window: &config.Window{Start: 120, End: 360}, Budget: config.Budget{Bytes: 50 * config.GiB, Commits: 20, Duration: time.Hour},
	}
}

func checking() *config.Policy {
	return &config.Policy{Name: "weekly-check", Action: config.ActionCheck, Schedule: "@weekly"}
}

// maintained is a table of which these runs are remembered.
func maintained(name string, runs ...Run) State {
	for i := range runs {
		runs[i].Policy, runs[i].Action, runs[i].Started = "nightly", config.ActionCompact, pageTime.Add(time.Duration(i-len(runs))*time.Hour)
	}
	return State{Key: Key{Table: name}, Policy: compacting(), Why: "the only one", Next: pageTime.Add(11 * time.Hour), Record: Record{Runs: runs}}
}

// checked is a table of which these checks are remembered.
func checked(name string, runs ...Run) State {
	s := maintained(name, runs...)
	s.Check, s.Policy = true, checking()
	return s
}

// merged is a run that merged position delete files into vectors.
func merged(files, puffinFiles, dvs int) Run {
	return Run{
		Forecast: &maintenance.Forecast{Before: maintenance.Reading{Requests: 1200}, After: maintenance.Reading{Requests: 10}},
		Result:   ResultDone, Committed: true, Seconds: 1.5, Why: "min_delete_files 120 >= 100",
		Before: &maintenance.Counts{PositionDeleteFiles: files, DeletionVectors: dvs, DeletedRows: 4000},
		After:  &maintenance.Counts{PuffinFiles: puffinFiles, DeletionVectors: dvs + 1, DeletedRows: 4000},
	}
}

func found(issues map[string]int) Run {
	r := Run{Result: ResultDone, Findings: issues, Before: &maintenance.Counts{}}
	if len(issues) > 0 {
		r.Result = ResultDamaged
	}
	return r
}

func TestTablesWithProblemsComeFirstWorstAtTheTopThenAllByName(t *testing.T) {
	t.Parallel()
	halted := maintained("l.db.t9", merged(1, 1, 1))
	halted.Record.Halted = "proof failed"
	running := maintained("l.db.t2")
	running.Running = true
	s := Status{Tables: []State{
		maintained("l.db.t0", merged(1, 1, 1)), maintained("l.db.t1"), running, maintained("l.db.t3", Run{Result: ResultFailed, Error: "x"}),
		maintained("l.db.t4"), checked("l.db.t4", found(map[string]int{"dv-duplicate": 1})), halted,
	}}
	assert.Equal(t, []string{"l.db.t9", "l.db.t4", "l.db.t3", "l.db.t0", "l.db.t1", "l.db.t2"}, look(t, site(s), "/").tables())
}

func TestHowATableStandsIsSaidInWordsWithTheReason(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*State)
		runs   []Run
		want   []string
	}{
		"halted":        {func(s *State) { s.Record.Halted = "the proof of x failed" }, nil, []string{"halted", "the proof of x failed", "dvcompactor resume", "not until it is resumed"}},
		"unread":        {func(s *State) { s.Record.Unread = "connection refused" }, nil, []string{"unread", "connection refused", "may be paused or halted", "not until what is remembered can be read"}},
		"paused":        {func(s *State) { s.Record.Paused = "backfill of June" }, nil, []string{"paused", "backfill of June", "dvcompactor resume"}},
		"failed":        {nil, []Run{{Result: ResultFailed, Error: "no space left"}}, []string{"failed", "no space left", "tried again"}},
		"conflicts":     {nil, []Run{{Result: ResultConflict, Error: "5 attempts lost"}}, []string{"conflicts", "5 attempts lost"}},
		"running":       {func(s *State) { s.Running = true }, []Run{merged(1, 1, 1)}, []string{"running", "running now"}},
		"not run yet":   {nil, nil, []string{"not run yet"}},
		"left alone":    {nil, []Run{{Result: ResultSkipped, Error: "opted out"}}, []string{"left alone"}},
		"healthy":       {nil, []Run{merged(120, 1, 24)}, []string{"healthy", "done", "120 → 1", "2026-12-01 02:00", "11 hours from now"}},
		"waits":         {func(s *State) { s.Next = pageTime }, []Run{merged(120, 1, 24)}, []string{"due, waits for its turn"}},
		"never":         {func(s *State) { s.Next = time.Time{} }, []Run{merged(120, 1, 24)}, []string{"never"}},
		"failed before": {nil, []Run{{Result: ResultFailed, Error: "gone"}, merged(2, 1, 1)}, []string{"healthy"}},
	}
	for name, c := range cases {
		s := maintained("l.db.t", c.runs...)
		if c.change != nil {
			c.change(&s)
		}
		row := look(t, site(Status{Tables: []State{s}}), "/").all("tr")[1].text()
		for _, want := range c.want {
			assert.Contains(t, row, want, name)
		}
	}
}

func TestWhatHoldsUpMaintenanceAndCheckIsSaidOnce(t *testing.T) {
	t.Parallel()
	a, b, c := maintained("l.db.t"), checked("l.db.t"), checked("l.db.u")
	a.Record.Paused, b.Record.Paused, c.Record.Paused = "backfill", "backfill", "other"
	rows := look(t, site(Status{Tables: []State{a, b, c}}), "/").all("tr")
	assert.Equal(t, 1, strings.Count(rows[1].text(), "backfill"))
	assert.Contains(t, rows[1].text(), "(nightly, weekly-check)")
	assert.NotContains(t, rows[2].text(), "nightly")
}

func TestATableStaysDamagedUntilAnotherCheckComesToItsEnd(t *testing.T) {
	t.Parallel()
	damaged := []Run{found(map[string]int{"dv-duplicate": 2, "dv-misbound": 1}), {Result: ResultFailed, Error: "store away"}}
	row := look(t, site(Status{Tables: []State{checked("l.db.t", damaged...)}}), "/").all("tr")[1].text()
	assert.Contains(t, row, "2 × dv-duplicate, 1 × dv-misbound")
	assert.Contains(t, row, "store away", "that it failed since is said, too")
	mended := append(damaged, found(map[string]int{}))
	row = look(t, site(Status{Tables: []State{checked("l.db.t", mended...)}}), "/").all("tr")[1].text()
	assert.NotContains(t, row, "dv-duplicate")
	assert.Contains(t, row, "healthy")
}

func TestNamesAndErrorsAreTextAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, odd := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='x`, `javascript:alert(1)`, `{{.Now}}`, `a&amp;b&lt;`, `..`, `a/b?c=d#e%2F+ f`,
		"\u202egnp.exe", "\u05d0\u05d1\u05d2", "line\nbreak\x00\x1b[31m", strings.Repeat("very_long_", 100), "%zz", "]]>",
	} {
		name := "lake.db." + odd
		s := maintained(name, Run{Result: ResultFailed, Error: "cannot read " + odd, Why: odd})
		s.Why, s.Record.Paused = odd, odd
		h := site(Status{Tables: []State{s}, Now: pageTime, Healthy: true, Missing: map[string]string{odd: odd}})
		page := look(t, h, "/")
		assert.Empty(t, page.all("script"))
		assert.Empty(t, page.all("img"))
		link := page.all("th")[6].all("a")[0].attr("href")
		body, code := get(t, h, link)
		assert.Equal(t, http.StatusOK, code, "%q leads to the page of the table", link)
		assert.NotContains(t, body, "<script")
		assert.NotContains(t, body, "<img")
		for _, e := range append(page.all(""), look(t, h, link).all("")...) {
			for _, a := range e.Attrs {
				assert.False(t, strings.HasPrefix(a.Name.Local, "on"), "%s of %q", a.Name.Local, odd)
				assert.False(t, a.Name.Local == "href" && strings.HasPrefix(a.Value, "javascript"), "%q", odd)
			}
		}
		queried := look(t, h, "/?q="+url.QueryEscape(odd))
		assert.Equal(t, 1, len(queried.tables()), "%q is found", odd)
		assert.Empty(t, queried.all("script"))
	}
}

func TestCharactersThatTurnTextAroundAreShownAsWhatTheyAre(t *testing.T) {
	t.Parallel()
	page := look(t, site(Status{Tables: []State{maintained("l.db.\u202egnp.t")}}), "/")
	assert.Equal(t, []string{`l.db.\xe2\x80\xaegnp.t`}, page.tables())
}

func TestWithoutTablesThePageSaysWhy(t *testing.T) {
	t.Parallel()
	starting := Status{Now: pageTime, Healthy: true}
	assert.Contains(t, look(t, site(starting), "/").text(), "no catalog has been listed, or what is remembered of its tables is still being read")
	assert.Contains(t, look(t, site(Status{}), "/").text(), "No table has a policy.")
	away := Status{Now: pageTime, Healthy: true, Missing: map[string]string{"prod": "connection refused", "dev": "no such host"}}
	text := look(t, site(away), "/").text()
	assert.Less(t, strings.Index(text, "no such host"), strings.Index(text, "connection refused"), "in the order of their names")
	assert.Contains(t, text, "cannot be listed")
}

func TestADaemonThatStopsOrHangsSaysSo(t *testing.T) {
	t.Parallel()
	assert.NotContains(t, look(t, site(Status{}), "/").text(), "The daemon")
	assert.Contains(t, look(t, site(Status{Now: pageTime, Healthy: true, Stopping: true}), "/").text(), "The daemon is stopping.")
	assert.Contains(t, look(t, site(Status{Now: pageTime}), "/").text(), "The daemon hangs.")
}

func TestTheStyleSheetIsOne(t *testing.T) {
	t.Parallel()
	code, body, reply := ask(t, site(Status{}), http.MethodGet, "/style.css", http.Header{})
	assert.Equal(t, http.StatusOK, code)
	assert.Equal(t, "text/css; charset=utf-8", reply.Get("Content-Type"))
	assert.Contains(t, body, "prefers-color-scheme")
}

func TestThePageOfATableHasEveryRunWhatItChangedAndWhy(t *testing.T) {
	t.Parallel()
	id := int64(4162585015578712700)
	last := merged(80, 3, 24)
	last.SnapshotAfter, last.Attempts, last.Dropped, last.Bytes, last.Requests = &id, 3, 2, 1<<20, 17
	h := site(Status{Tables: []State{
		maintained("l.db.t", merged(1200, 1, 0), Run{Result: ResultFailed, Error: "no space left"}, last),
		checked("l.db.t", found(map[string]int{"dv-misbound": 1})),
	}})
	page := look(t, h, "/table?name=l.db.t")
	assert.Equal(t, "l.db.t", page.all("h1")[0].text())
	rows := page.all("tr")
	require.Len(t, rows, 5, "a header, three runs and a check")
	assert.Contains(t, rows[1].text(), "1 × dv-misbound")
	for _, want := range []string{"done", "80 → 0", "0 → 3", "24 → 25", "4,000", "snapshot 4162585015578712700", "min_delete_files 120 >= 100", "1.50 s, 1.0 MiB in 17 requests, 3 attempts to commit", "2 data files left for the next run"} {
		assert.Contains(t, rows[2].text(), want)
	}
	assert.Contains(t, rows[3].text(), "no space left")
	assert.Contains(t, rows[4].text(), "1,200 → 0")
	text := page.text()
	for _, want := range []string{"nightly", "the only one", "15 2 * * * Europe/Berlin from 02:00 to 06:00, up to 10m0s later, 50 GiB a round, 20 commits a round, no table begun after 1h0m0s", "requests for deletes 1,200 → 10", "weekly-check", "@weekly"} {
		assert.Contains(t, text, want)
	}
	_, code := get(t, h, "/table?name=l.db.other")
	assert.Equal(t, http.StatusNotFound, code)
	assert.Contains(t, look(t, h, "/table?name=l.db.other").text(), "There is no such table")
}
