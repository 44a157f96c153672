package storage_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
)

// healthyReply is what the healthy server answers to r.
func healthyReply(r *http.Request, healthy http.Handler) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	healthy.ServeHTTP(rec, r)
	return rec
}

func send(w http.ResponseWriter, rec *httptest.ResponseRecorder, body []byte) {
	for name, values := range rec.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(body)
}

// ignoresRange answers 200 with the whole object and no Content-Range.
func ignoresRange(w http.ResponseWriter, r *http.Request, healthy http.Handler) {
	r.Header.Del("Range")
	healthy.ServeHTTP(w, r)
}

// otherRange answers 206 with another range of the same length, and says so.
func otherRange(w http.ResponseWriter, r *http.Request, healthy http.Handler) {
	r.Header.Set("Range", "bytes=0-99")
	healthy.ServeHTTP(w, r)
}

// shorterRange answers 206 with the start of the range, and says so.
func shorterRange(w http.ResponseWriter, r *http.Request, healthy http.Handler) {
	r.Header.Set("Range", "bytes=100-149")
	healthy.ServeHTTP(w, r)
}

// unannouncedRange sends the right bytes as 206 with a Content-Range that cannot be understood.
func unannouncedRange(w http.ResponseWriter, r *http.Request, healthy http.Handler) {
	rec := healthyReply(r, healthy)
	rec.Header().Set("Content-Range", "bytes some of them")
	send(w, rec, rec.Body.Bytes())
}

// shortBody announces everything and sends half.
func shortBody(w http.ResponseWriter, r *http.Request, healthy http.Handler) {
	rec := healthyReply(r, healthy)
	body := rec.Body.Bytes()
	rec.Header().Set("Content-Length", fmt.Sprint(len(body)))
	send(w, rec, body[:len(body)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// shortChunks sends half without announcing a length, as a well-formed reply.
func shortChunks(w http.ResponseWriter, r *http.Request, healthy http.Handler) {
	rec := healthyReply(r, healthy)
	rec.Header().Del("Content-Length")
	body := rec.Body.Bytes()
	send(w, rec, nil)
	_ = http.NewResponseController(w).Flush()
	_, _ = w.Write(body[:len(body)/2])
}

// wrongSize sends the right range and claims that it is from a smaller object.
func wrongSize(w http.ResponseWriter, r *http.Request, healthy http.Handler) {
	rec := healthyReply(r, healthy)
	rec.Header().Set("Content-Range", "bytes 100-199/150")
	send(w, rec, rec.Body.Bytes())
}

// emptySuccess answers 200 with nothing.
func emptySuccess(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.WriteHeader(http.StatusOK)
}

func passingFaults() map[string]fault {
	return map[string]fault{
		"200 with the whole object":           ignoresRange,
		"206 with another range":              otherRange,
		"206 with a shorter range":            shorterRange,
		"206 with a garbage Content-Range":    unannouncedRange,
		"206 of an impossible size":           wrongSize,
		"fewer bytes than announced":          shortBody,
		"fewer bytes, no length announced":    shortChunks,
		"200 with nothing":                    emptySuccess,
		"connection closed without an answer": hangUp,
		"500 InternalError":                   status(http.StatusInternalServerError, "InternalError"),
		"502 from a proxy":                    status(http.StatusBadGateway, ""),
		"503 SlowDown":                        status(http.StatusServiceUnavailable, "SlowDown"),
		"429":                                 status(http.StatusTooManyRequests, "TooManyRequests"),
		"400 RequestTimeout":                  status(http.StatusBadRequest, "RequestTimeout"),
	}
}

// emptyHalf announces everything and sends nothing.
func emptyHalf(w http.ResponseWriter, r *http.Request, healthy http.Handler) {
	rec := healthyReply(r, healthy)
	rec.Header().Set("Content-Length", fmt.Sprint(rec.Body.Len()))
	send(w, rec, nil)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}
