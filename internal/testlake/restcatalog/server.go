package restcatalog

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/stretchr/testify/require"
)

// separator joins namespace levels in paths and queries, as the REST specification has it.
const separator = "\x1f"

// Options describe a catalog.
type Options struct {
	Prefix        string             // of all paths after /v1, announced by the configuration endpoint
	Credential    string             // "id:secret"; empty means that no token is needed
	TokenLifetime time.Duration      // as announced with a token; default an hour
	PageSize      int                // largest page of a listing; default unlimited
	Config        map[string]string  // handed out with every table
	Vend          func(n int) Access // handed out with a table that is loaded for the nth time, counted from 1; replaces Config
	TLS           *tls.Config        // of the server; nil for plain HTTP
	Mounts        []storage.Mount    // where locations are, for the catalog itself
	Properties    map[string]string  // credentials of Mounts
	IgnoreParent  bool               // lists the top namespaces whatever parent is asked for, as catalogs without levels may
}

// Server is a running catalog.
type Server struct {
	URL string

	server  *httptest.Server
	options Options
	store   *storage.Store
	faults  faults
	front   atomic.Pointer[http.Handler]

	mu         sync.Mutex
	tables     map[string]*entry
	views      map[string]bool
	namespaces map[string]bool
	tokens     map[string]bool
	issued     int
	loads      int
}

// entry is the current metadata of a table.
type entry struct {
	location string
	metadata json.RawMessage
}

// New starts a catalog for the time of a test.
func New(t testing.TB, o Options) *Server {
	store, err := storage.Open(t.Context(), storage.Options{Mounts: o.Mounts, Properties: o.Properties})
	require.NoError(t, err)
	if o.TokenLifetime == 0 {
		o.TokenLifetime = time.Hour
	}
	s := &Server{options: o, store: store, tables: map[string]*entry{}, views: map[string]bool{}, namespaces: map[string]bool{}, tokens: map[string]bool{}}
	s.Use(nil)
	s.listen(t, "127.0.0.1:0")
	t.Cleanup(func() {
		s.server.Close()
		require.NoError(t, store.Close())
	})
	s.URL = s.server.URL
	return s
}

// Use puts something in front of the catalog from the next request on, and nothing when it is nil.
func (s *Server) Use(middleware func(healthy http.Handler) http.Handler) {
	front := s.routes()
	if middleware != nil {
		front = middleware(front)
	}
	s.front.Store(&front)
}

// ServeHTTP answers a request, also one that came to another server.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*s.front.Load()).ServeHTTP(w, r) }

func (s *Server) routes() http.Handler {
	base := "/v1"
	if s.options.Prefix != "" {
		base += "/" + s.options.Prefix
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/oauth/tokens", func(w http.ResponseWriter, r *http.Request) {
		if f := s.faults.next("token"); f != nil {
			f(w, r, http.HandlerFunc(s.token))
			return
		}
		s.token(w, r)
	})
	mux.Handle("GET /v1/config", s.guard("config", s.config))
	mux.Handle("GET "+base+"/namespaces", s.guard("list", s.listNamespaces))
	mux.Handle("GET "+base+"/namespaces/{namespace}/tables", s.guard("list", s.listTables))
	mux.Handle("GET "+base+"/namespaces/{namespace}/tables/{table}", s.guard("load", s.load))
	mux.Handle("POST "+base+"/namespaces/{namespace}/tables/{table}", s.guard("commit", s.commit))
	return mux
}

// guard asks for a valid token and lets faults happen.
func (s *Server) guard(kind string, healthy http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := s.faults.next(kind); f != nil {
			f(w, r, healthy)
			return
		}
		if !s.authorized(r) {
			fail(w, http.StatusUnauthorized, "NotAuthorizedException", "no valid token")
			return
		}
		healthy(w, r)
	})
}

func (s *Server) config(w http.ResponseWriter, _ *http.Request) {
	overrides := map[string]string{}
	if s.options.Prefix != "" {
		overrides["prefix"] = s.options.Prefix
	}
	reply(w, map[string]any{"defaults": map[string]string{}, "overrides": overrides})
}

// Put makes a namespace and a table whose current metadata is in a file that exists.
func (s *Server) Put(t testing.TB, identifier []string, metadataLocation string) {
	data, err := s.store.ReadFile(t.Context(), metadataLocation)
	require.NoError(t, err)
	s.CreateNamespace(identifier[:len(identifier)-1]...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables[key(identifier)] = &entry{location: metadataLocation, metadata: data}
}

// Drop removes a table from the catalog.
func (s *Server) Drop(identifier []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tables, key(identifier))
}

// CreateNamespace makes a namespace and those above it.
func (s *Server) CreateNamespace(levels ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range levels {
		s.namespaces[key(levels[:i+1])] = true
	}
}

// PutView makes a view.
func (s *Server) PutView(identifier []string) {
	s.CreateNamespace(identifier[:len(identifier)-1]...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views[key(identifier)] = true
}

func key(levels []string) string { return strings.Join(levels, separator) }

// levels reverses key.
func levels(key string) []string {
	if key == "" {
		return nil
	}
	return strings.Split(key, separator)
}

// below returns the keys that are one level below a namespace, sorted.
func below[V any](m map[string]V, namespace string) []string {
	want := levels(namespace)
	var out []string
	for k := range m {
		if l := levels(k); len(l) == len(want)+1 && slices.Equal(l[:len(want)], want) {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// fail answers with an error in the form of the REST specification.
func fail(w http.ResponseWriter, code int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "type": kind, "code": code}})
}
