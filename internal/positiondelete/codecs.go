package positiondelete

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// BoundCodecs makes the Parquet decoder of this process refuse compressed pages that hold more than their header says.
// The decoder makes room for what the header says, which is bounded, but Snappy and zstd blocks say so once more
// themselves, and the library believes them: five bytes are enough to make it ask for four gigabytes. The codecs belong
// to the process, so a program calls this once, at its start, before anything reads Parquet.
func BoundCodecs() error {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return err
	}
	for codec, decode := range map[compress.Compression]func(dst, src []byte) ([]byte, error){
		compress.Codecs.Snappy: decodeSnappy,
		compress.Codecs.Zstd: func(dst, src []byte) ([]byte, error) {
			return decoder.DecodeAll(src, dst[:0:len(dst)])
		},
	} {
		inner, err := compress.GetCodec(codec)
		if err != nil {
			return err
		}
		streaming, ok := inner.(compress.StreamingCodec)
		if !ok {
			return fmt.Errorf("codec %v is a %T without streams", codec, inner)
		}
		compress.RegisterCodec(codec, bounded{Codec: inner, StreamingCodec: streaming, decode: decode})
	}
	return nil
}

// bounded is a codec whose blocks decode to no more than the room there is.
type bounded struct {
	compress.Codec
	compress.StreamingCodec
	decode func(dst, src []byte) ([]byte, error)
}

// DecodeWithError implements compress.ErrorCodec.
func (b bounded) DecodeWithError(dst, src []byte) ([]byte, error) { return b.decode(dst, src) }

func decodeSnappy(dst, src []byte) ([]byte, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return nil, err
	}
	if n > len(dst) {
		return nil, fmt.Errorf("snappy block of %d bytes in a page of %d", n, len(dst))
	}
	return snappy.Decode(dst, src)
}
