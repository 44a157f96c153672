package daemon

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// HandlerOptions of the HTTP interface.
type HandlerOptions struct {
	Token   string // has to be sent with every request but those about health; empty for none
	Version string
	// Reload reads the configuration again; an error keeps the old one.
	Reload func() error
}

// Handler is the HTTP interface of a daemon. GET never changes anything.
func (d *Daemon) Handler(o HandlerOptions) http.Handler {
	open := http.NewServeMux()
	open.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) { answer(w, d.Status().Healthy, "healthy") })
	open.HandleFunc("GET /-/ready", func(w http.ResponseWriter, _ *http.Request) { answer(w, d.Status().Ready, "ready") })
	closed := http.NewServeMux()
	closed.Handle("GET /metrics", d.o.Metrics.Handler())
	closed.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { d.writeStatus(w, o.Version) })
	newPages(d.Status, o.Version, d.o.Log).register(closed)
	closed.HandleFunc("POST /-/reload", func(w http.ResponseWriter, _ *http.Request) {
		if err := o.Reload(); err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		answer(w, true, "reloaded")
	})
	open.Handle("/", authorised(o.Token, closed))
	return secured(http.NewCrossOriginProtection().Handler(open))
}

func answer(w http.ResponseWriter, ok bool, what string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
		what = "not " + what
	}
	_, _ = w.Write([]byte(what + "\n")) // whoever asked went away
}

// authorised asks for a bearer token, or, of browsers that come to read, for the token as the password of any user. Tokens are
// compared by their hashes, in a time that says nothing about them.
func authorised(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if _, password, basic := r.BasicAuth(); basic && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			sent, is = password, true
		}
		got := sha256.Sum256([]byte(sent))
		if !is || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.Header().Add("WWW-Authenticate", `Basic realm="dvcompactor: the token as password"`)
			http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// secured adds the headers that keep browsers from doing anything with a page but to show it.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// StatusDocument is the JSON at /status, and that of the verb status. Its fields are a contract.
type StatusDocument struct {
	Time     time.Time         `json:"time"`
	Started  *time.Time        `json:"started"` // null when no daemon was asked
	Version  string            `json:"version"`
	Ready    bool              `json:"ready"`
	Stopping bool              `json:"stopping"`
	Missing  map[string]string `json:"catalogs_missing"` // why catalogs cannot be listed
	Tables   []TableStatus     `json:"tables"`
}

// TableStatus is how one table stands under one policy.
type TableStatus struct {
	Table   string     `json:"table"`
	Policy  string     `json:"policy"`
	Why     string     `json:"why"` // it is that policy
	Action  string     `json:"action"`
	Next    *time.Time `json:"next_run"` // null when blocked, or never
	Running bool       `json:"running"`
	Unread  string     `json:"unread,omitempty"` // why nobody knows whether it is halted or paused
	Halted  string     `json:"halted,omitempty"`
	Paused  string     `json:"paused,omitempty"`
	Runs    []Run      `json:"runs"` // newest last
}

// Document makes the JSON of a status.
func (s Status) Document(version string) StatusDocument {
	out := StatusDocument{Time: s.Now.UTC(), Version: version, Ready: s.Ready, Stopping: s.Stopping, Missing: s.Missing, Tables: []TableStatus{}}
	if !s.Started.IsZero() {
		started := s.Started.UTC()
		out.Started = &started
	}
	for _, t := range s.Tables {
		one := TableStatus{
			Table: t.Table, Policy: t.Policy.Name, Why: t.Why, Action: t.Policy.Action, Running: t.Running,
			Unread: t.Record.Unread, Halted: t.Record.Halted, Paused: t.Record.Pause(), Runs: t.Record.Runs,
		}
		if one.Runs == nil {
			one.Runs = []Run{}
		}
		if !t.Next.IsZero() {
			next := t.Next.UTC()
			one.Next = &next
		}
		out.Tables = append(out.Tables, one)
	}
	return out
}

func (d *Daemon) writeStatus(w http.ResponseWriter, version string) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(d.Status().Document(version)) // whoever asked went away
}
