package restcatalog

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
)

// Fault answers one request in place of the healthy handler.
type Fault func(w http.ResponseWriter, r *http.Request, healthy http.Handler)

// faults are the planned faults by kind of request: token, config, list, load or commit.
type faults struct {
	mu      sync.Mutex
	planned map[string][]Fault
	seen    map[string]int
}

// next takes the next fault of a kind, nil for none.
func (f *faults) next(kind string) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil {
		f.seen = map[string]int{}
	}
	f.seen[kind]++
	queue := f.planned[kind]
	if len(queue) == 0 {
		return nil
	}
	f.planned[kind] = queue[1:]
	return queue[0]
}

// Break plans faults for the next requests of a kind (token, config, list, load or commit), one each; nil leaves one healthy.
func (s *Server) Break(kind string, planned ...Fault) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	if s.faults.planned == nil {
		s.faults.planned = map[string][]Fault{}
	}
	s.faults.planned[kind] = append(s.faults.planned[kind], planned...)
}

// Seen returns how many requests of a kind came.
func (s *Server) Seen(kind string) int {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	return s.faults.seen[kind]
}

// Status answers with an HTTP status and an error body.
func Status(code int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		fail(w, code, "Broken", "broken on purpose")
	}
}

// Body answers with a status and a body as they are.
func Body(code int, body string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

// HangUp closes the connection without an answer.
func HangUp(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// Stall does not answer until the client gives up. Whether it does is only noticed once the body is read.
func Stall(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// Done does what was asked and then lets the fault answer.
func Done(then Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request, healthy http.Handler) {
		healthy.ServeHTTP(httptest.NewRecorder(), r)
		then(w, r, healthy)
	}
}

// First lets something happen before the healthy answer.
func First(do func()) Fault {
	return func(w http.ResponseWriter, r *http.Request, healthy http.Handler) {
		do()
		healthy.ServeHTTP(w, r)
	}
}

type pretendKey struct{}

// Pretend answers a commit as if it had been stored.
func Pretend(w http.ResponseWriter, r *http.Request, healthy http.Handler) {
	healthy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), pretendKey{}, true)))
}

// Redirect sends the client to the same address with a status after which it asks with GET.
func Redirect(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	http.Redirect(w, r, r.URL.String(), http.StatusFound)
}

// Trickle begins an answer that never ends.
func Trickle(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	for r.Context().Err() == nil {
		if _, err := w.Write([]byte("  ")); err != nil {
			return
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
	}
}

// Cut does what was asked and closes the connection in the middle of the answer.
func Cut(w http.ResponseWriter, r *http.Request, healthy http.Handler) {
	answer := httptest.NewRecorder()
	healthy.ServeHTTP(answer, r)
	w.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()))
	_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}
