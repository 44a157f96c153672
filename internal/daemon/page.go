package daemon

import (
	"bytes"
	"embed"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/logkey"
	"github.com/dvcompactor/dvcompactor/internal/term"
	"go.uber.org/zap"
)

// pageFiles are the template of the status page and its style sheet.
//
//go:embed page.html page.css
var pageFiles embed.FS

// pages serves the status page: of all tables, and of one.
type pages struct {
	status  func() Status
	version string
	log     *zap.Logger
	html    *template.Template
	broken  error // why there is no template
}

func newPages(status func() Status, version string, log *zap.Logger) *pages {
	p := &pages{status: status, version: version, log: log}
	count := func(n int) string { return term.Count(int64(n)) }
	p.html, p.broken = template.New("page").Funcs(template.FuncMap{"count": count, "safe": term.Safe, "text": safeLines}).ParseFS(pageFiles, "page.html")
	return p
}

// safeLines is [term.Safe] for text of several lines.
func safeLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = term.Safe(lines[i])
	}
	return strings.Join(lines, "\n")
}

// register adds the pages. Their links are relative, so that a proxy may put them below any path.
func (p *pages) register(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", p.overview)
	mux.HandleFunc("GET /table", p.table)
	mux.HandleFunc("GET /style.css", p.style)
}

// frame is what every page shows of the daemon.
type frame struct {
	Title   string
	Version string
	Now     moment
	Started moment
	Status  Status
	Missing []missing
}

// missing is a catalog that cannot be listed.
type missing struct{ Catalog, Why string }

func (p *pages) frame(s Status, title string) frame {
	f := frame{Title: title, Version: p.version, Now: newMoment(s.Now, s.Now), Started: newMoment(s.Started, s.Now), Status: s}
	for _, name := range sortedKeys(s.Missing) {
		f.Missing = append(f.Missing, missing{name, s.Missing[name]})
	}
	return f
}

// perPage is how many tables are on one page.
const perPage = 200

// overviewPage is the page of all tables.
type overviewPage struct {
	frame
	Query    string
	Totals   []total
	Rows     []row
	Tables   int // that there are
	Matching int // that the query is about
	From, To int // which of those are shown, from 1
	Page     int
	Pages    int
	Previous string // address, empty for none
	Next     string
}

// total is how many tables stand in one way.
type total struct {
	Health health
	N      int
}

// overview lists tables: those with problems first, then by name.
func (p *pages) overview(w http.ResponseWriter, r *http.Request) {
	s := p.status()
	groups := group(s.Tables)
	page := overviewPage{frame: p.frame(s, "dvcompactor"), Query: term.Safe(r.FormValue("q")), Totals: totals(groups), Tables: len(groups)}
	groups = matching(groups, page.Query)
	page.Matching = len(groups)
	page.Pages = max(1, (len(groups)+perPage-1)/perPage)
	number, err := strconv.Atoi(r.FormValue("page"))
	if err != nil {
		number = 1
	}
	page.Page = min(max(number, 1), page.Pages)
	first := (page.Page - 1) * perPage
	last := min(first+perPage, len(groups))
	page.From, page.To = first+1, last
	if page.Page > 1 {
		page.Previous = address(page.Query, page.Page-1)
	}
	if page.Page < page.Pages {
		page.Next = address(page.Query, page.Page+1)
	}
	const shown = 200 // characters of a reason; the page of the table has all of it
	for _, g := range groups[first:last] {
		page.Rows = append(page.Rows, newRow(g, s.Now, shown))
	}
	p.write(w, http.StatusOK, "overview", page)
}

// address is that of a page of the overview.
func address(query string, page int) string {
	v := url.Values{}
	if query != "" {
		v.Set("q", query)
	}
	if page > 1 {
		v.Set("page", strconv.Itoa(page))
	}
	return "./?" + v.Encode()
}

// tablePage is the page of one table.
type tablePage struct {
	frame
	Name  string
	Found bool
	Row   row
	More  []trend
	Runs  []run
}

// table shows everything that is remembered of one table.
func (p *pages) table(w http.ResponseWriter, r *http.Request) {
	s := p.status()
	name := r.FormValue("name")
	page := tablePage{frame: p.frame(s, "dvcompactor: "+term.Safe(name)), Name: name}
	for _, g := range group(s.Tables) {
		if g.Table == name {
			page.Found, page.Row, page.More, page.Runs = true, newRow(g, s.Now, math.MaxInt), g.trends(), g.runs(s.Now)
		}
	}
	code := http.StatusOK
	if !page.Found {
		code = http.StatusNotFound
	}
	p.write(w, code, "table", page)
}

// write sends a page once it is complete, so that a mistake in it does not look like half a page.
func (p *pages) write(w http.ResponseWriter, code int, name string, data any) {
	var out bytes.Buffer
	err := p.broken
	if err == nil {
		err = p.html.ExecuteTemplate(&out, name, data)
	}
	if err != nil {
		p.log.Error("the status page cannot be written", zap.String(logkey.Error, config.Redact(err.Error())))
		http.Error(w, "the page cannot be written; /status has the same as JSON, and the log says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(out.Bytes()) // whoever asked went away
}

// style sends the style sheet.
func (p *pages) style(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, pageFiles, "page.css")
}
