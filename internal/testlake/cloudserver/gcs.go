package cloudserver

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// GCS is Google Cloud Storage.
type GCS struct{ *Server }

// NewGCS starts a server for the time of a test.
func NewGCS(t testing.TB) *GCS { return &GCS{serve(t, answerGCS)} }

// Properties returns the FileIO properties of a table on the server, without credentials.
func (g *GCS) Properties() map[string]string {
	return map[string]string{"gcs.service.host": g.URL, "gcs.no-auth": "true"}
}

// Refuse answers a request like Google Cloud Storage.
func (*GCS) Refuse(w http.ResponseWriter, status int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"error":{"code":%d,"message":%q,"errors":[{"reason":%q,"message":"on purpose"}]}}`, status, reason, reason)
}

func answerGCS(s *Server, w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	if rest, upload := strings.CutPrefix(path, "/upload/storage/v1/b/"); upload {
		bucket, _, _ := strings.Cut(rest, "/")
		s.uploadGCS(w, r, bucket)
		return
	}
	if rest, found := strings.CutPrefix(path, "/storage/v1/b/"); found {
		bucket, rest, _ := strings.Cut(rest, "/")
		key, err := url.PathUnescape(strings.TrimPrefix(strings.TrimPrefix(rest, "o"), "/"))
		if err != nil {
			(*GCS)(nil).Refuse(w, http.StatusBadRequest, "invalid")
			return
		}
		s.answerJSON(w, r, bucket, key)
		return
	}
	(*GCS)(nil).Refuse(w, http.StatusNotFound, "notFound")
}

func (s *Server) answerJSON(w http.ResponseWriter, r *http.Request, bucket, key string) {
	name := bucket + "/" + key
	o, found := s.get(name)
	switch {
	case key == "" && r.Method == http.MethodGet:
		s.listGCS(w, r, bucket)
	case !found:
		(*GCS)(nil).Refuse(w, http.StatusNotFound, "notFound")
	case r.Method == http.MethodDelete:
		s.remove(name)
		w.WriteHeader(http.StatusNoContent)
	case r.URL.Query().Get("alt") == "media":
		w.Header().Set("X-Goog-Generation", fmt.Sprint(o.version))
		if !sendRange(w, o, r.Header.Get("Range")) {
			(*GCS)(nil).Refuse(w, http.StatusRequestedRangeNotSatisfiable, "requestedRangeNotSatisfiable")
		}
	default:
		writeJSON(w, describe(bucket, key, o))
	}
}

func (s *Server) listGCS(w http.ResponseWriter, r *http.Request, bucket string) {
	start := bucket + "/"
	names, more := s.list(start+r.URL.Query().Get("prefix"), r.URL.Query().Get("pageToken"))
	items := []any{}
	for _, name := range names {
		if o, found := s.get(name); found {
			items = append(items, describe(bucket, strings.TrimPrefix(name, start), o))
		}
	}
	reply := map[string]any{"kind": "storage#objects", "items": items}
	if more {
		reply["nextPageToken"] = names[len(names)-1]
	}
	writeJSON(w, reply)
}

func describe(bucket, key string, o object) map[string]any {
	sum := binary.BigEndian.AppendUint32(nil, crc32.Checksum(o.data, crc32.MakeTable(crc32.Castagnoli)))
	return map[string]any{
		"crc32c": base64.StdEncoding.EncodeToString(sum),
		"bucket": bucket, "name": key, "size": fmt.Sprint(len(o.data)), "generation": fmt.Sprint(o.version),
		"updated": o.written.UTC().Format(time.RFC3339Nano), "contentType": "application/octet-stream",
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may hang up
}

// uploadGCS takes an object in one request, or in chunks whose last one makes it.
func (s *Server) uploadGCS(w http.ResponseWriter, r *http.Request, bucket string) {
	query := r.URL.Query()
	ifAbsent := query.Get("ifGenerationMatch") == "0"
	switch {
	case query.Get("upload_id") != "":
		s.chunkGCS(w, r, bucket, query.Get("upload_id"), query.Get("name"), ifAbsent)
	case query.Get("uploadType") == "resumable":
		query.Set("name", keyOf(r.Body, query))
		query.Set("upload_id", fmt.Sprint(time.Now().UnixNano()))
		w.Header().Set("Location", s.URL+r.URL.Path+"?"+query.Encode())
	default:
		key, data, err := parts(r)
		if err != nil {
			(*GCS)(nil).Refuse(w, http.StatusBadRequest, "parseError")
			return
		}
		s.finishGCS(w, bucket, key, data, ifAbsent)
	}
}

func (s *Server) chunkGCS(w http.ResponseWriter, r *http.Request, bucket, upload, key string, ifAbsent bool) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		(*GCS)(nil).Refuse(w, http.StatusBadRequest, "parseError")
		return
	}
	s.keep(upload, data)
	if strings.HasSuffix(r.Header.Get("Content-Range"), "/*") {
		w.Header().Set("X-Http-Status-Code-Override", "308")
		w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", len(s.part(upload))-1))
		return
	}
	s.finishGCS(w, bucket, key, s.part(upload), ifAbsent)
}

func (s *Server) finishGCS(w http.ResponseWriter, bucket, key string, data []byte, ifAbsent bool) {
	if !s.put(bucket+"/"+key, data, ifAbsent) {
		(*GCS)(nil).Refuse(w, http.StatusPreconditionFailed, "conditionNotMet")
		return
	}
	o, _ := s.get(bucket + "/" + key)
	writeJSON(w, describe(bucket, key, o))
}

// keyOf returns the name that the description of an upload gives, or else its URL.
func keyOf(description io.Reader, query url.Values) string {
	var told struct{ Name string }
	if json.NewDecoder(description).Decode(&told) == nil && told.Name != "" {
		return told.Name
	}
	return query.Get("name")
}

// parts returns the key and the content of an upload in one request.
func parts(r *http.Request) (key string, data []byte, err error) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return "", nil, err
	}
	body := multipart.NewReader(r.Body, params["boundary"])
	description, err := body.NextPart()
	if err != nil {
		return "", nil, err
	}
	key = keyOf(description, r.URL.Query())
	content, err := body.NextPart()
	if err != nil {
		return "", nil, err
	}
	data, err = io.ReadAll(content)
	return key, data, err
}
