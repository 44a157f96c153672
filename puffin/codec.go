package puffin

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// errTooLarge is a compressed part that passes its limit.
var errTooLarge = errors.New("decompresses to more than the limit")

// decompress undoes a codec; limit bounds the result in bytes. Errors are the library's or errTooLarge; the codec is
// one that known accepts.
func decompress(codec string, data []byte, limit int64) ([]byte, error) {
	switch codec {
	case CodecLZ4:
		return decompressLZ4(data, limit)
	case CodecZstd:
		return decompressZstd(data, limit)
	default:
		return data, nil
	}
}

// known reports whether this package can undo a codec.
func known(codec string) bool {
	return codec == CodecNone || codec == CodecLZ4 || codec == CodecZstd
}

func decompressZstd(data []byte, limit int64) ([]byte, error) {
	d, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return readLimited(d, len(data), limit)
}

// readLimited reads all of r, with memory that grows as data really comes.
func readLimited(r io.Reader, compressed int, limit int64) ([]byte, error) {
	var buf bytes.Buffer
	buf.Grow(int(min(int64(compressed)*4, limit)) + bytes.MinRead)
	n, err := buf.ReadFrom(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, fmt.Errorf("%w of %d bytes", errTooLarge, limit)
	}
	return buf.Bytes(), nil
}

// compressLZ4 makes a single frame with its content size present, the same bytes each time.
func compressLZ4(data []byte) ([]byte, error) {
	if len(data) == 0 {
		// The library takes a content size of 0 for none.
		return []byte(emptyLZ4Frame), nil
	}
	var buf bytes.Buffer
	w := lz4.NewWriter(&buf)
	if err := w.Apply(lz4.SizeOption(uint64(len(data))), lz4.BlockSizeOption(lz4.Block64Kb), lz4.ConcurrencyOption(1)); err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// decompressLZ4 takes exactly one LZ4 frame with a content size that is right, as the Puffin spec asks. The library
// would accept frames one after another, frames to skip and a content size that lies.
func decompressLZ4(data []byte, limit int64) ([]byte, error) {
	frame, err := parseLZ4Frame(data)
	if err != nil {
		return nil, err
	}
	if frame.contentSize > uint64(limit) {
		return nil, fmt.Errorf("%w of %d bytes: content size %d", errTooLarge, limit, frame.contentSize)
	}
	out, err := readLimited(lz4.NewReader(bytes.NewReader(data)), len(data), int64(frame.contentSize))
	if err != nil {
		return nil, err
	}
	if uint64(len(out)) != frame.contentSize {
		return nil, fmt.Errorf("LZ4 content size %d, content %d bytes", frame.contentSize, len(out))
	}
	return out, nil
}
