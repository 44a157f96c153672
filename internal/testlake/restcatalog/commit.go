package restcatalog

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
)

// commitRequest is the body of a commit.
type commitRequest struct {
	Requirements table.Requirements `json:"requirements"`
	Updates      table.Updates      `json:"updates"`
}

// refusal is a commit that is answered with an error.
type refusal struct {
	code          int
	kind, message string
}

func (s *Server) commit(w http.ResponseWriter, r *http.Request) {
	var request commitRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		fail(w, http.StatusBadRequest, "BadRequestException", err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := r.PathValue("namespace") + separator + r.PathValue("table")
	next, no := s.apply(r.Context(), name, request)
	if no != nil {
		fail(w, no.code, no.kind, no.message)
		return
	}
	if r.Context().Value(pretendKey{}) == nil {
		s.tables[name] = next
	}
	reply(w, map[string]any{"metadata-location": next.location, "metadata": next.metadata})
}

// apply makes the next metadata and writes its file. The caller holds the lock.
func (s *Server) apply(ctx context.Context, name string, request commitRequest) (*entry, *refusal) {
	e := s.tables[name]
	if e == nil {
		return nil, &refusal{http.StatusNotFound, "NoSuchTableException", "no such table"}
	}
	current, err := table.ParseMetadataBytes(e.metadata)
	if err != nil {
		return nil, &refusal{http.StatusInternalServerError, "InternalServerError", err.Error()}
	}
	for _, q := range request.Requirements {
		if err := q.Validate(current); err != nil {
			return nil, &refusal{http.StatusConflict, "CommitFailedException", err.Error()}
		}
	}
	next, err := table.UpdateTableMetadata(current, request.Updates, e.location)
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, "ValidationException", err.Error()}
	}
	data, err := json.Marshal(next)
	if err != nil {
		return nil, &refusal{http.StatusInternalServerError, "InternalServerError", err.Error()}
	}
	location := fmt.Sprintf("%s/metadata/%05d-%s.metadata.json", next.Location(), len(metadataLog(next)), uuid.NewString())
	if err := s.store.WriteFile(context.WithoutCancel(ctx), location, data); err != nil {
		return nil, &refusal{http.StatusServiceUnavailable, "ServiceUnavailable", err.Error()}
	}
	return &entry{location: location, metadata: data}, nil
}

func metadataLog(m table.Metadata) []table.MetadataLogEntry {
	var out []table.MetadataLogEntry
	for e := range m.PreviousFiles() {
		out = append(out, e)
	}
	return out
}
