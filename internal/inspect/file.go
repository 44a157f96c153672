package inspect

import (
	"context"
	"encoding/json"
	"io"

	"github.com/dvcompactor/dvcompactor/puffin"
)

// Object is one object that can be read by ranges and knows its size.
type Object interface {
	puffin.RangeReader
	puffin.Sizer
	Location() string
}

// File is what a Puffin file says about itself.
type File struct {
	Footer Footer `json:"footer"`
	Blobs  []Blob `json:"blobs"`

	location string
	size     int64
	blobs    []puffin.BlobMetadata
}

// Footer is the state of the footer.
type Footer struct {
	Verdict
	Compressed bool              `json:"compressed"`
	Properties map[string]string `json:"properties"`
}

// Blob is an entry of the footer.
type Blob struct {
	Type             string            `json:"type"`
	Fields           []int32           `json:"fields"`
	SnapshotID       int64             `json:"snapshot_id"`
	SequenceNumber   int64             `json:"sequence_number"`
	Offset           int64             `json:"offset"`
	Length           int64             `json:"length"`
	CompressionCodec *string           `json:"compression_codec"` // null when the blob is stored as it is
	Properties       map[string]string `json:"properties"`
}

// ReadFile reads the footer of a Puffin file.
func ReadFile(ctx context.Context, o Object) (*File, error) {
	size, err := o.Size(ctx)
	if err != nil {
		return nil, err
	}
	f := &File{Footer: Footer{Properties: map[string]string{}}, Blobs: []Blob{}, location: o.Location(), size: size}
	opened, err := puffin.Open(ctx, o, puffin.OpenOptions{Location: o.Location(), Size: size})
	if f.Footer.Verdict, err = judge(err); err != nil {
		return nil, err
	}
	if opened == nil {
		return f, nil
	}
	f.blobs = opened.Blobs
	f.Footer.Compressed = opened.FooterCompressed
	f.Footer.Properties = properties(opened.Properties)
	for _, b := range opened.Blobs {
		f.Blobs = append(f.Blobs, blob(b))
	}
	return f, nil
}

func blob(b puffin.BlobMetadata) Blob {
	out := Blob{
		Type: b.Type, Fields: b.Fields, SnapshotID: b.SnapshotID, SequenceNumber: b.SequenceNumber, Offset: b.Offset, Length: b.Length,
		Properties: properties(b.Properties),
	}
	if out.Fields == nil {
		out.Fields = []int32{}
	}
	if b.CompressionCodec != puffin.CodecNone {
		out.CompressionCodec = &b.CompressionCodec
	}
	return out
}

func properties(p map[string]string) map[string]string {
	if p == nil {
		return map[string]string{}
	}
	return p
}

// WriteJSON prints the file as one JSON document.
func (f *File) WriteJSON(w io.Writer) error { return writeJSON(w, f) }

func writeJSON(w io.Writer, doc any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}
