package snapshot

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/avroheader"
)

// fieldJudge says whether the entries of a manifest can be written again with every field that they have. A writer may
// have added fields that neither the spec nor the library knows.
type fieldJudge struct {
	mu      sync.Mutex
	written map[int]bool    // ids of the fields that are written, beside those of partition tuples; nil when not yet known
	judged  map[string]bool // by Avro schema: most manifests of a table have the same
}

// whole judges by the Avro schema of a manifest, of which partition has the ids of the fields of its spec.
func (j *fieldJudge) whole(schema []byte, spec *iceberg.PartitionSpec) bool {
	if spec == nil {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	key := fmt.Sprintf("%d %s", spec.ID(), schema)
	if known, ok := j.judged[key]; ok {
		return known
	}
	if j.judged == nil {
		j.judged = map[string]bool{}
	}
	j.judged[key] = j.judge(schema, spec)
	return j.judged[key]
}

func (j *fieldJudge) judge(schema []byte, spec *iceberg.PartitionSpec) bool {
	if j.written == nil {
		written, err := writtenFields()
		if err != nil {
			return false
		}
		j.written = written
	}
	var parsed any
	if json.Unmarshal(schema, &parsed) != nil {
		return false
	}
	partition := map[int]bool{}
	for _, f := range spec.Fields() {
		partition[f.FieldID] = true
	}
	return eachFieldID(parsed, func(id int) bool { return j.written[id] || partition[id] })
}

// writtenFields returns the ids of the fields of the entries that the library writes for an unpartitioned table.
func writtenFields() (map[int]bool, error) {
	var manifest bytes.Buffer
	w, err := iceberg.NewManifestWriter(entryVersion, &manifest, *iceberg.UnpartitionedSpec, iceberg.NewSchema(0), 1, iceberg.WithManifestWriterContent(iceberg.ManifestContentDeletes))
	if err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil && !errors.Is(err, iceberg.ErrEmptyManifest) {
		return nil, err
	}
	header, err := avroheader.Read(bufio.NewReader(&manifest))
	if err != nil {
		return nil, err
	}
	var parsed any
	if err := json.Unmarshal(header.Meta["avro.schema"], &parsed); err != nil {
		return nil, err
	}
	out := map[int]bool{}
	eachFieldID(parsed, func(id int) bool {
		out[id] = true
		return true
	})
	return out, nil
}

// eachFieldID goes over the fields of every record of a parsed Avro schema, until one has no id or is not known, which it
// tells.
func eachFieldID(v any, known func(id int) bool) bool {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if !eachFieldID(e, known) {
				return false
			}
		}
	case map[string]any:
		if fields, ok := v["fields"].([]any); ok && !fieldsKnown(fields, known) {
			return false
		}
		for _, e := range v {
			if !eachFieldID(e, known) {
				return false
			}
		}
	}
	return true
}

func fieldsKnown(fields []any, known func(id int) bool) bool {
	for _, f := range fields {
		field, _ := f.(map[string]any)
		id, ok := field["field-id"].(float64)
		if !ok || !known(int(id)) {
			return false
		}
	}
	return true
}
