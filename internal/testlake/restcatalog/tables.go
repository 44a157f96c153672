package restcatalog

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
)

func (s *Server) listNamespaces(w http.ResponseWriter, r *http.Request) {
	parent := r.FormValue("parent")
	s.mu.Lock()
	defer s.mu.Unlock()
	if parent != "" && !s.namespaces[parent] {
		fail(w, http.StatusNotFound, "NoSuchNamespaceException", "no such namespace")
		return
	}
	if s.options.IgnoreParent {
		parent = ""
	}
	page, next := s.page(r, below(s.namespaces, parent))
	out := make([][]string, 0, len(page))
	for _, k := range page {
		out = append(out, levels(k))
	}
	reply(w, withToken(map[string]any{"namespaces": out}, next))
}

func (s *Server) listTables(w http.ResponseWriter, r *http.Request) {
	namespace := r.PathValue("namespace")
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.namespaces[namespace] {
		fail(w, http.StatusNotFound, "NoSuchNamespaceException", "no such namespace")
		return
	}
	page, next := s.page(r, below(s.tables, namespace))
	out := make([]map[string]any, 0, len(page))
	for _, k := range page {
		l := levels(k)
		out = append(out, map[string]any{"namespace": l[:len(l)-1], "name": l[len(l)-1]})
	}
	reply(w, withToken(map[string]any{"identifiers": out}, next))
}

// page cuts one page out of all keys. The token is the last key of the page before.
func (s *Server) page(r *http.Request, all []string) (page []string, next string) {
	size, err := strconv.Atoi(r.FormValue("pageSize"))
	if err != nil || s.options.PageSize > 0 && size > s.options.PageSize {
		size = s.options.PageSize
	}
	after := r.FormValue("pageToken")
	start, _ := slices.BinarySearchFunc(all, after, func(k, after string) int {
		if k <= after {
			return -1
		}
		return 1
	})
	page = all[start:]
	if size > 0 && len(page) > size {
		page = page[:size]
		next = page[size-1]
	}
	return page, next
}

func withToken(reply map[string]any, next string) map[string]any {
	if next != "" {
		reply["next-page-token"] = next
	}
	return reply
}

func (s *Server) load(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.tables[r.PathValue("namespace")+separator+r.PathValue("table")]
	if e == nil {
		fail(w, http.StatusNotFound, "NoSuchTableException", "no such table")
		return
	}
	metadata := e.metadata
	if r.FormValue("snapshots") == "refs" {
		metadata = referenced(metadata)
	}
	access := s.access()
	reply(w, map[string]any{
		"metadata-location": e.location, "metadata": metadata, "config": access.Config, "storage-credentials": access.storageCredentials(),
	})
}

// referenced leaves only the snapshots that a branch or tag points to.
func referenced(metadata json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	var known struct {
		Refs map[string]struct {
			ID json.Number `json:"snapshot-id"`
		} `json:"refs"`
		Snapshots []map[string]json.RawMessage `json:"snapshots"`
	}
	if err := errors.Join(json.Unmarshal(metadata, &all), json.Unmarshal(metadata, &known)); err != nil {
		return metadata
	}
	ids := map[string]bool{}
	for _, ref := range known.Refs {
		ids[ref.ID.String()] = true
	}
	known.Snapshots = slices.DeleteFunc(known.Snapshots, func(s map[string]json.RawMessage) bool { return !ids[string(s["snapshot-id"])] })
	snapshots, err := json.Marshal(known.Snapshots)
	if err != nil {
		return metadata
	}
	all["snapshots"] = snapshots
	if metadata, err = json.Marshal(all); err != nil {
		return nil
	}
	return metadata
}
