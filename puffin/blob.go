package puffin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// BlobOptions tell [ReadBlob] where a blob comes from and how large it may get.
type BlobOptions struct {
	// Location names the file in errors.
	Location string
	// MaxSize bounds the blob after its codec is undone, in bytes; 0 means [MaxBlobSize].
	MaxSize int64
}

// ReadBlob reads the blob that b describes with one request, without the footer, and undoes its codec (Puffin spec,
// "Compression codecs"). Memory grows with what the compressed frame really holds, up to MaxSize.
//
// A codec that is not known is an [*UnsupportedError]; a range the object does not have or a frame that does not decode
// is a [*CorruptionError]; other errors are r's own, wrapped.
func ReadBlob(ctx context.Context, r RangeReader, b BlobMetadata, opts BlobOptions) ([]byte, error) {
	limit := cmp.Or(opts.MaxSize, MaxBlobSize)
	if !known(b.CompressionCodec) {
		return nil, &UnsupportedError{Location: opts.Location, Offset: b.Offset, What: "compression codec",
			Found: fmt.Sprintf("%q", b.CompressionCodec)}
	}
	fail := func(kind CorruptionKind, what, found string, err error) error {
		return &CorruptionError{Kind: kind, Location: opts.Location, Offset: max(b.Offset, -1), What: what,
			Expected: fmt.Sprintf("%d bytes", b.Length), Found: found, ReferencedDataFile: b.ReferencedDataFile(), Err: err}
	}
	if b.Offset < 0 || b.Length < 0 || b.Length > limit || b.end() < b.Offset {
		return nil, fail(KindRange, "range of the blob", fmt.Sprintf("%d+%d of at most %d", b.Offset, b.Length, limit), nil)
	}
	data, err := readRange(ctx, r, b.Offset, b.Length)
	var short *shortObjectError
	switch {
	case errors.As(err, &short):
		return nil, fail(KindRange, "blob", fmt.Sprintf("an object of %d bytes", short.size), err)
	case err != nil:
		return nil, fmt.Errorf("%s: blob at %d+%d: %w", cmp.Or(opts.Location, "puffin file"), b.Offset, b.Length, err)
	}
	plain, err := decompress(b.CompressionCodec, data, limit)
	if err != nil {
		return nil, &CorruptionError{Kind: KindCompression, Location: opts.Location, Offset: b.Offset,
			What: b.CompressionCodec + " frame of the blob", ReferencedDataFile: b.ReferencedDataFile(), Err: err}
	}
	return plain, nil
}
