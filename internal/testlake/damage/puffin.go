package damage

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"

	"github.com/apache/iceberg-go/table/dv"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
)

const (
	magic     = "PFA1"
	tailSize  = 12 // payload size, flags and magic at the end of a Puffin file
	frameSize = 4  // length before a vector and its magic, checksum after them
)

// part is a blob of a Puffin file and what its footer says of it beyond the obvious.
type part struct {
	blob  []byte
	of    string
	count int64
	said  func(map[string]any)
}

// container is a Puffin file. Parts follow each other from offset 4 on.
type container struct {
	parts    []part
	flags    uint32
	lz4      bool // the footer is compressed
	bare     bool // there is no Puffin file around the parts
	finished func([]byte) []byte
}

// encode returns the file and the offsets of its parts.
func (c container) encode(t require.TestingT) (file []byte, offsets []int64) {
	if !c.bare {
		file = []byte(magic)
	}
	blobs := []any{}
	for _, p := range c.parts {
		offsets = append(offsets, int64(len(file)))
		blobs = append(blobs, p.entry(len(file)))
		file = append(file, p.blob...)
	}
	if !c.bare {
		file = append(file, c.footer(t, blobs)...)
	}
	if c.finished != nil {
		file = c.finished(file)
	}
	return file, offsets
}

// entry is what the footer says of a part at an offset.
func (p part) entry(offset int) map[string]any {
	entry := map[string]any{
		"type": "deletion-vector-v1", "fields": []int{}, "snapshot-id": -1, "sequence-number": -1, "offset": offset, "length": len(p.blob),
		"properties": map[string]string{"referenced-data-file": p.of, "cardinality": fmt.Sprint(p.count)},
	}
	if p.said != nil {
		p.said(entry)
	}
	return entry
}

func (c container) footer(t require.TestingT, blobs []any) []byte {
	payload, err := json.Marshal(map[string]any{"blobs": blobs, "properties": map[string]string{"created-by": "a writer 1.0"}})
	require.NoError(t, err)
	flags := c.flags
	if c.lz4 {
		payload, flags = compress(t, payload), flags|1
	}
	out := append([]byte(magic), payload...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(payload)))
	return append(binary.LittleEndian.AppendUint32(out, flags), magic...)
}

// compress returns one LZ4 frame with the content size.
func compress(t require.TestingT, payload []byte) []byte {
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	require.NoError(t, w.Apply(lz4.SizeOption(uint64(len(payload)))))
	_, err := w.Write(payload)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// withoutFooter cuts a Puffin file after its last blob.
func withoutFooter(file []byte) []byte {
	payload := int(binary.LittleEndian.Uint32(file[len(file)-tailSize:]))
	return file[:len(file)-tailSize-payload-len(magic)]
}

// encodeVector returns the blob of a deletion vector.
func encodeVector(t require.TestingT, positions ...int64) []byte {
	b := dv.NewRoaringPositionBitmap()
	for _, p := range positions {
		b.Set(uint64(p))
	}
	b.RunLengthEncode()
	blob, err := dv.SerializeDV(b)
	require.NoError(t, err)
	return blob
}

// keyed is a key of a vector and the low halves of its positions, which all share their upper 16 bits.
type keyed struct {
	key  uint32
	high uint16
	lows []uint16
}

// split returns the keys of sorted positions.
func split(positions []int64) []keyed {
	var out []keyed
	for _, p := range positions {
		key, high := uint32(p>>32), uint16(p>>16)
		if n := len(out); n == 0 || out[n-1].key != key || out[n-1].high != high {
			out = append(out, keyed{key: key, high: high})
		}
		last := &out[len(out)-1]
		last.lows = append(last.lows, uint16(p))
	}
	return out
}

// frame returns the blob of keys as they are, in any order and number, with the right length and checksum. What is claimed is how
// many there are; trailing bytes follow the last.
func frame(keys []keyed, claimed int, trailing ...byte) []byte {
	body := binary.LittleEndian.AppendUint64([]byte{0xd1, 0xd3, 0x39, 0x64}, uint64(claimed))
	for _, k := range keys {
		body = binary.LittleEndian.AppendUint32(body, k.key)
		for _, v := range []uint32{12346, 1} { // no run containers, one container
			body = binary.LittleEndian.AppendUint32(body, v)
		}
		body = binary.LittleEndian.AppendUint16(body, k.high)
		body = binary.LittleEndian.AppendUint16(body, uint16(len(k.lows)-1))
		body = binary.LittleEndian.AppendUint32(body, 16) // offset of the container
		for _, low := range k.lows {
			body = binary.LittleEndian.AppendUint16(body, low)
		}
	}
	body = append(body, trailing...)
	out := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	return binary.BigEndian.AppendUint32(append(out, body...), crc32.ChecksumIEEE(body))
}
