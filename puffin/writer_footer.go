package puffin

import (
	"bytes"
	"encoding/json"
)

// footerJSON and blobJSON give the keys the order in which the reference implementation writes them.
type footerJSON struct {
	Blobs      []blobJSON        `json:"blobs"`
	Properties map[string]string `json:"properties,omitempty"`
}

type blobJSON struct {
	Type             string            `json:"type"`
	Fields           []int32           `json:"fields"`
	SnapshotID       int64             `json:"snapshot-id"`
	SequenceNumber   int64             `json:"sequence-number"`
	Offset           int64             `json:"offset"`
	Length           int64             `json:"length"`
	CompressionCodec string            `json:"compression-codec,omitempty"`
	Properties       map[string]string `json:"properties,omitempty"`
}

// FooterJSON is the FileMetadata of what was written so far (Puffin spec, "FileMetadata"), not compressed: compact, keys
// in the order of the reference implementation, properties sorted.
func (w *Writer) FooterJSON() ([]byte, error) {
	footer := footerJSON{Blobs: make([]blobJSON, len(w.blobs)), Properties: w.properties}
	for i, b := range w.blobs {
		footer.Blobs[i] = blobJSON(b)
	}
	for key, value := range w.properties {
		if err := validText(key, value); err != nil {
			return nil, err
		}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	// Paths hold & and the like, which readers should see as they are.
	enc.SetEscapeHTML(false)
	if err := enc.Encode(footer); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}
