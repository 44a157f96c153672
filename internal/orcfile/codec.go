package orcfile

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// decompress decodes a chunk to no more than the length of out and returns the part of out that it fills.
type decompress func(out, chunk []byte) ([]byte, error)

// codecOf returns the decoder of a kind of compression, nil for none.
func codecOf(kind uint64) (decompress, error) {
	switch kind {
	case 0:
		return nil, nil
	case 1:
		return inflate, nil
	case 2:
		return decodeSnappy, nil
	case 4:
		return decodeLZ4, nil
	case 5:
		return newZstd()
	case 3:
		return nil, errors.New("it is compressed with LZO")
	case 6:
		return nil, errors.New("it is compressed with Brotli")
	}
	return nil, fmt.Errorf("it is compressed with a codec of number %d", kind)
}

func inflate(out, chunk []byte) ([]byte, error) {
	w := bytes.NewBuffer(out[:0])
	n, err := io.Copy(w, io.LimitReader(flate.NewReader(bytes.NewReader(chunk)), int64(len(out))+1))
	if err == nil && n > int64(len(out)) {
		err = fmt.Errorf("a chunk of more than %d bytes", len(out))
	}
	return w.Bytes(), err
}

func decodeSnappy(out, chunk []byte) ([]byte, error) {
	n, err := snappy.DecodedLen(chunk)
	if err != nil {
		return nil, err
	}
	if n > len(out) {
		return nil, fmt.Errorf("a chunk of %d bytes where %d is the most", n, len(out))
	}
	return snappy.Decode(out, chunk)
}

func decodeLZ4(out, chunk []byte) ([]byte, error) {
	n, err := lz4.UncompressBlock(chunk, out)
	if err != nil {
		return nil, err
	}
	return out[:n], nil
}

func newZstd() (decompress, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(maxBlock))
	if err != nil {
		return nil, err
	}
	return func(out, chunk []byte) ([]byte, error) { return d.DecodeAll(chunk, out[:0:len(out)]) }, nil
}
