package faults

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
)

// Handler returns a handler in front of next. classify names the operation of a request and what it is about, as [S3] and
// [REST] do; a request without an operation passes, unless everything has ended. What is different from the faults in the
// process: a connection that is reset or a client that crashes gets no answer; a stale list or load is answered as the
// same request was answered before; a put is never stored in part, nor with other bytes.
//
// Writes are done one after the other, so that it does not depend on luck which of them were done at a crash.
func (s *Script) Handler(next http.Handler, classify func(*http.Request) (op, name string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op, name := classify(r)
		switch {
		case op == "" && s.Crashed():
			panic(http.ErrAbortHandler)
		case op == "":
			next.ServeHTTP(w, r)
		default:
			e := &exchange{script: s, op: op, name: name, w: w, r: r, next: next}
			e.serve()
		}
	})
}

// exchange is a request that the script decides about.
type exchange struct {
	script   *Script
	op, name string
	w        http.ResponseWriter
	r        *http.Request
	next     http.Handler

	damage damage
	reply  *httptest.ResponseRecorder // of the server; nil when it was not asked
}

// said is an answer in place of that of the server.
type said struct{ answer }

// Error implements error.
func (s said) Error() string { return string(s.answer) }

func (e *exchange) serve() {
	if slices.Contains(operations(opWrite), e.op) {
		e.script.order.Lock()
		defer e.script.order.Unlock()
	}
	err := e.script.run(e.r.Context(), call{op: e.op, name: e.name, do: e.do, say: func(a answer) error { return said{a} }})
	var instead said
	switch {
	case errors.As(err, &instead):
		e.say(instead.answer)
	case err != nil:
		panic(http.ErrAbortHandler)
	case e.reply == nil:
		e.pretend()
	default:
		e.send()
	}
}

// do lets the server answer, and keeps what it says.
func (e *exchange) do(d damage) error {
	e.damage = d
	switch {
	case d == torn:
		_, _ = io.CopyN(io.Discard, e.r.Body, e.r.ContentLength/2) // the client may be gone already
		return nil
	case d == garbage && e.op == opPut:
		return said{refused}
	case d == stale && (e.op == opList || e.op == opLoad):
		if e.reply = e.script.earlier(e.request()); e.reply != nil {
			return nil
		}
	case d == stale && e.script.fresh(e.name):
		return said{missing}
	}
	e.reply = httptest.NewRecorder()
	e.next.ServeHTTP(e.reply, e.r)
	e.note()
	return nil
}

// note remembers what a stale server does not show.
func (e *exchange) note() {
	switch {
	case e.op == opPut && e.reply.Code < http.StatusMultipleChoices:
		e.script.noteWritten(e.name)
	case e.op == opList, e.op == opLoad:
		e.script.keep(e.request(), e.reply)
	}
}

func (e *exchange) request() string { return e.r.Method + " " + e.r.URL.String() }

func (s *Script) earlier(request string) *httptest.ResponseRecorder {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replies[request]
}

func (s *Script) keep(request string, reply *httptest.ResponseRecorder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies[request] = reply
}

// send passes the server's answer on, with damage.
func (e *exchange) send() {
	body := slices.Clone(e.reply.Body.Bytes())
	for name, values := range e.reply.Header() {
		e.w.Header()[name] = values
	}
	switch e.damage {
	case garbage:
		invert(body)
	case short:
		e.w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		body = body[:len(body)/2]
	}
	e.w.WriteHeader(e.reply.Code)
	_, _ = e.w.Write(body)
	if e.damage == short {
		_ = http.NewResponseController(e.w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// pretend acknowledges what was not done.
func (e *exchange) pretend() {
	switch e.op {
	case opCommit:
		restcatalog.Pretend(e.w, e.r, e.next)
	case opDelete:
		e.w.WriteHeader(http.StatusNoContent)
	default:
		_, _ = io.Copy(io.Discard, e.r.Body)
		e.w.Header().Set("ETag", `"d41d8cd98f00b204e9800998ecf8427e"`)
	}
}

// say answers with an error.
func (e *exchange) say(a answer) {
	if a == reset {
		panic(http.ErrAbortHandler)
	}
	if e.op == opLoad || e.op == opCommit {
		restcatalog.Status(restStatus(a))(e.w, e.r, e.next)
		return
	}
	status, code := s3Status(a)
	e.w.Header().Set("Content-Type", "application/xml")
	e.w.WriteHeader(status)
	_, _ = fmt.Fprintf(e.w, "<Error><Code>%s</Code><Message>%v</Message></Error>", code, errOnPurpose)
}

func restStatus(a answer) int {
	switch a {
	case conflict:
		return http.StatusConflict
	case refused:
		return http.StatusBadRequest
	case unknown:
		return http.StatusInternalServerError
	default:
		status, _ := s3Status(a)
		return status
	}
}

// S3 names the operation of a request to an S3 server with addresses /BUCKET/KEY. An upload in parts is one put for each
// of its requests, and a delete when it is given up.
func S3(r *http.Request) (op, name string) {
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	query := r.URL.Query()
	switch r.Method {
	case http.MethodPut:
		return opPut, key
	case http.MethodPost:
		if query.Has("delete") {
			return opDelete, key
		}
		return opPut, key
	case http.MethodDelete:
		return opDelete, key
	case http.MethodHead:
		return opHead, key
	case http.MethodGet:
		switch {
		case key == "":
			return opList, query.Get("prefix")
		case strings.HasPrefix(r.Header.Get("Range"), "bytes=") && !strings.HasSuffix(r.Header.Get("Range"), "-"):
			return opGetRange, key
		}
		return opGet, key
	}
	return "", key
}

// REST names the operation of a request to a REST catalog and the table, as "namespace.name".
func REST(r *http.Request) (op, name string) {
	_, rest, ok := strings.Cut(r.URL.Path, "/namespaces/")
	namespace, table, ok2 := strings.Cut(rest, "/tables/")
	if !ok || !ok2 || strings.Contains(table, "/") {
		return "", ""
	}
	name = strings.ReplaceAll(namespace, "\x1f", ".") + "." + table
	switch r.Method {
	case http.MethodPost:
		return opCommit, name
	case http.MethodGet:
		return opLoad, name
	}
	return "", ""
}
