package cloudserver

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// The one account of the server; its key is not looked at.
const (
	account = "lakes"
	key     = "c2VjcmV0"
)

// Azure is Azure Blob Storage.
type Azure struct{ *Server }

// NewAzure starts a server for the time of a test.
func NewAzure(t testing.TB) *Azure { return &Azure{serve(t, answerAzure)} }

// Base returns the location of a container with a slash at its end.
func (*Azure) Base(container string) string {
	return "abfss://" + container + "@" + account + ".dfs.core.windows.net/"
}

// Place returns the FileIO properties that say where the server is, without credentials.
func (a *Azure) Place() map[string]string {
	return map[string]string{"adls.endpoint": strings.TrimPrefix(a.URL, "http://"), "adls.protocol": "http"}
}

// Properties returns the FileIO properties of a table on the server.
func (a *Azure) Properties() map[string]string {
	p := a.Place()
	p["adls.auth.shared-key.account.name"], p["adls.auth.shared-key.account.key"] = account, key
	return p
}

// MountURL returns the URL of a container for a storage mount; its credentials are Properties'.
func (a *Azure) MountURL(container string) string {
	return "azblob://" + container + "?protocol=http&localemu=true&storage_account=" + account + "&domain=" + strings.TrimPrefix(a.URL, "http://")
}

// Refuse answers a request like Azure.
func (*Azure) Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("X-Ms-Error-Code", code)
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>on purpose</Message></Error>", code)
}

func answerAzure(s *Server, w http.ResponseWriter, r *http.Request) {
	escaped := strings.TrimPrefix(r.URL.EscapedPath(), "/"+account+"/")
	container, blob, _ := strings.Cut(escaped, "/")
	name, err := url.PathUnescape(blob)
	if err != nil {
		(*Azure)(nil).Refuse(w, http.StatusBadRequest, "InvalidUri")
		return
	}
	switch {
	case r.URL.Query().Get("comp") == "list":
		s.listAzure(w, r, container)
	case r.Method == http.MethodPut:
		s.putAzure(w, r, container+"/"+name)
	default:
		s.readAzure(w, r, container+"/"+name)
	}
}

// readAzure answers GET, HEAD and DELETE.
func (s *Server) readAzure(w http.ResponseWriter, r *http.Request, name string) {
	o, found := s.get(name)
	switch {
	case !found:
		(*Azure)(nil).Refuse(w, http.StatusNotFound, "BlobNotFound")
	case r.Method == http.MethodDelete:
		s.remove(name)
		w.WriteHeader(http.StatusAccepted)
	case r.Method == http.MethodHead:
		w.Header().Set("Last-Modified", o.written.UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Length", fmt.Sprint(len(o.data)))
	default:
		if !sendRange(w, o, r.Header.Get("X-Ms-Range")) {
			(*Azure)(nil).Refuse(w, http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
		}
	}
}

// putAzure takes an object, a block, or the list of the blocks that make an object.
func (s *Server) putAzure(w http.ResponseWriter, r *http.Request, name string) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		(*Azure)(nil).Refuse(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	switch query := r.URL.Query(); query.Get("comp") {
	case "block":
		s.keep(name+"#"+query.Get("blockid"), data)
		w.WriteHeader(http.StatusCreated)
		return
	case "blocklist":
		var list struct {
			Latest []string
		}
		if err := xml.Unmarshal(data, &list); err != nil {
			(*Azure)(nil).Refuse(w, http.StatusBadRequest, "InvalidXmlDocument")
			return
		}
		data = nil
		for _, id := range list.Latest {
			data = append(data, s.part(name+"#"+id)...)
		}
	}
	if !s.put(name, data, r.Header.Get("If-None-Match") == "*") {
		(*Azure)(nil).Refuse(w, http.StatusConflict, "BlobAlreadyExists")
		return
	}
	w.WriteHeader(http.StatusCreated)
}

func (s *Server) listAzure(w http.ResponseWriter, r *http.Request, container string) {
	type properties struct {
		LastModified  string `xml:"Last-Modified"`
		ContentLength int    `xml:"Content-Length"`
	}
	type blob struct {
		Name       string
		Properties properties
	}
	var reply struct {
		XMLName    xml.Name `xml:"EnumerationResults"`
		Blobs      []blob   `xml:"Blobs>Blob"`
		NextMarker string
	}
	names, more := s.list(container+"/"+r.URL.Query().Get("prefix"), r.URL.Query().Get("marker"))
	for _, name := range names {
		if o, found := s.get(name); found {
			reply.Blobs = append(reply.Blobs, blob{strings.TrimPrefix(name, container+"/"), properties{o.written.UTC().Format(http.TimeFormat), len(o.data)}})
		}
	}
	if more {
		reply.NextMarker = names[len(names)-1]
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(reply) // the client may hang up
}
