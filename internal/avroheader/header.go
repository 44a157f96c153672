// Package avroheader reads and writes the header of Avro object container files (Avro specification, "Object Container
// Files"), which Iceberg manifests are, without decoding what follows.
package avroheader

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Header is the start of an object container file: magic and metadata, without the sync marker that follows.
type Header struct {
	Raw  []byte            // as it was read
	Meta map[string][]byte // metadata by key
}

// Magic is how every Avro object container file begins.
const Magic = "Obj\x01"

// MaxSize bounds what a header may claim, in bytes: a manifest's holds the table schema, which is large in wide tables.
const MaxSize = 64 << 20

// Read reads a header and leaves the reader at the sync marker. The memory it takes is bounded by the bytes that are
// really there.
func Read(r *bufio.Reader) (*Header, error) {
	h := &headerReader{r: r}
	magic := h.bytes(int64(len(Magic)))
	meta := map[string][]byte{}
	for h.err == nil {
		n := h.long()
		if n == 0 {
			break
		}
		if n < 0 { // a negative count is followed by the size of the block
			h.long()
			n = -n
		}
		for ; n > 0 && h.err == nil; n-- {
			key := h.bytes(h.long())
			meta[string(key)] = h.bytes(h.long())
		}
	}
	if h.err == nil && string(magic) != Magic {
		h.err = fmt.Errorf("not an Avro file: it begins with %x", magic)
	}
	if h.err != nil {
		return nil, fmt.Errorf("avro header at byte %d: %w", len(h.raw), h.err)
	}
	return &Header{Raw: h.raw, Meta: meta}, nil
}

// headerReader reads the primitives of an Avro header and keeps what it read.
type headerReader struct {
	r   *bufio.Reader
	raw []byte
	err error
}

func (h *headerReader) long() int64 {
	if h.err != nil {
		return 0
	}
	v, err := binary.ReadVarint(h)
	if err != nil {
		h.err = err
	}
	return v
}

// ReadByte implements io.ByteReader.
func (h *headerReader) ReadByte() (byte, error) {
	b, err := h.r.ReadByte()
	if err == nil {
		h.raw = append(h.raw, b)
	}
	return b, err
}

func (h *headerReader) bytes(n int64) []byte {
	if h.err == nil && (n < 0 || int64(len(h.raw))+n > MaxSize) {
		h.err = fmt.Errorf("a length of %d", n)
	}
	if h.err != nil {
		return nil
	}
	start := len(h.raw)
	var buf bytes.Buffer
	if _, h.err = io.CopyN(&buf, h.r, n); h.err != nil {
		return nil
	}
	h.raw = append(h.raw, buf.Bytes()...)
	return h.raw[start:len(h.raw):len(h.raw)]
}

// Encode writes Meta the way a header is written, keys in order.
func (h *Header) Encode() []byte {
	out := []byte(Magic)
	out = binary.AppendVarint(out, int64(len(h.Meta)))
	for _, key := range slices.Sorted(maps.Keys(h.Meta)) {
		out = append(binary.AppendVarint(out, int64(len(key))), key...)
		out = append(binary.AppendVarint(out, int64(len(h.Meta[key]))), h.Meta[key]...)
	}
	return binary.AppendVarint(out, 0)
}
