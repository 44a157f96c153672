package snapshot

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
)

// Entries streams the live entries of a manifest without column statistics. The entries are for planning: a manifest
// writer refuses them. The first error ends the stream.
func Entries(ctx context.Context, fs iceio.IO, m iceberg.ManifestFile) func(yield func(iceberg.ManifestEntry, error) bool) {
	return entries(ctx, fs, m, func(r io.Reader) (*iceberg.ManifestReader, error) {
		return iceberg.NewManifestReaderWithProjection(m, r, iceberg.ManifestEntryProjection{})
	})
}

// wholeEntries streams the live entries of a manifest with everything they hold.
func wholeEntries(ctx context.Context, fs iceio.IO, m iceberg.ManifestFile) func(yield func(iceberg.ManifestEntry, error) bool) {
	return entries(ctx, fs, m, func(r io.Reader) (*iceberg.ManifestReader, error) { return iceberg.NewManifestReader(m, r) })
}

func entries(ctx context.Context, fs iceio.IO, m iceberg.ManifestFile, read func(io.Reader) (*iceberg.ManifestReader, error)) func(yield func(iceberg.ManifestEntry, error) bool) {
	return func(yield func(iceberg.ManifestEntry, error) bool) {
		err := withManifest(fs, m, func(r io.Reader) error {
			mr, err := read(r)
			if err != nil {
				return err
			}
			defer mr.Close()
			return eachLive(ctx, mr, yield)
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// errStopped says that the consumer of a stream wants no more.
var errStopped = errors.New("stopped")

func eachLive(ctx context.Context, r *iceberg.ManifestReader, yield func(iceberg.ManifestEntry, error) bool) error {
	for {
		e, err := r.ReadEntry()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if e.Status() != iceberg.EntryStatusDELETED && !yield(e, nil) {
			return errStopped
		}
	}
}

// withManifest opens a manifest for the time of a function. Some writers leave "data" in the header of delete
// manifests; the manifest list decides what a manifest holds, so the header is corrected on the way.
func withManifest(fs iceio.IO, m iceberg.ManifestFile, f func(io.Reader) error) (err error) {
	if len(m.KeyMetadata()) > 0 {
		return fmt.Errorf("encrypted manifest: %w", ErrFormat)
	}
	file, err := fs.Open(m.FilePath())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	r := bufio.NewReaderSize(file, 64<<10)
	header, err := readAvroHeader(r)
	if err != nil {
		return err
	}
	if want := m.ManifestContent().String(); string(header.meta["content"]) != want && (len(header.meta["content"]) > 0 || want == "deletes") {
		header.meta["content"] = []byte(want)
		header.raw = header.encode()
	}
	return f(io.MultiReader(bytes.NewReader(header.raw), r))
}

// avroHeader is the start of an Avro object container file: magic and metadata, without the sync marker.
type avroHeader struct {
	raw  []byte
	meta map[string][]byte
}

// maxAvroHeader bounds what a header may claim: it holds the table schema, which is large in wide tables.
const maxAvroHeader = 64 << 20

const avroMagic = "Obj\x01"

func readAvroHeader(r *bufio.Reader) (*avroHeader, error) {
	h := &headerReader{r: r}
	magic := h.bytes(int64(len(avroMagic)))
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
	if h.err == nil && string(magic) != avroMagic {
		h.err = fmt.Errorf("not an Avro file: it begins with %x", magic)
	}
	if h.err != nil {
		return nil, fmt.Errorf("avro header at byte %d: %w", len(h.raw), h.err)
	}
	return &avroHeader{raw: h.raw, meta: meta}, nil
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
	if h.err == nil && (n < 0 || int64(len(h.raw))+n > maxAvroHeader) {
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

func (h *avroHeader) encode() []byte {
	out := []byte(avroMagic)
	out = binary.AppendVarint(out, int64(len(h.meta)))
	for _, key := range slices.Sorted(maps.Keys(h.meta)) {
		out = append(binary.AppendVarint(out, int64(len(key))), key...)
		out = append(binary.AppendVarint(out, int64(len(h.meta[key]))), h.meta[key]...)
	}
	return binary.AppendVarint(out, 0)
}
