package forge

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/apache/iceberg-go/table/dv"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
)

// puffinMagic begins and ends a Puffin file, and begins its footer.
const puffinMagic = "PFA1"

// Part is a blob of a Puffin file, of any bytes, and what its footer says of it.
type Part struct {
	Blob  []byte
	Of    string               // referenced data file
	Count int64                // cardinality
	Said  func(map[string]any) // changes its entry in the footer
}

// Puffin is a Puffin file that is made byte by byte, right or wrong. Parts follow each other from offset 4 on.
type Puffin struct {
	Parts []Part
	Flags uint32
	LZ4   bool                // the footer is compressed
	Bare  bool                // there is nothing around the parts, which begin at offset 0
	Edit  func([]byte) []byte // changes the whole file at last
}

// Encode returns the file and the offsets of its parts.
func (c Puffin) Encode(t require.TestingT) (file []byte, offsets []int64) {
	if !c.Bare {
		file = []byte(puffinMagic)
	}
	blobs := []any{}
	for _, p := range c.Parts {
		offsets = append(offsets, int64(len(file)))
		blobs = append(blobs, p.entry(len(file)))
		file = append(file, p.Blob...)
	}
	if !c.Bare {
		file = append(file, c.footer(t, blobs)...)
	}
	if c.Edit != nil {
		file = c.Edit(file)
	}
	return file, offsets
}

// entry is what the footer says of a part at an offset.
func (p Part) entry(offset int) map[string]any {
	entry := map[string]any{
		"type": "deletion-vector-v1", "fields": []int{}, "snapshot-id": -1, "sequence-number": -1, "offset": offset, "length": len(p.Blob),
		"properties": map[string]string{"referenced-data-file": p.Of, "cardinality": fmt.Sprint(p.Count)},
	}
	if p.Said != nil {
		p.Said(entry)
	}
	return entry
}

func (c Puffin) footer(t require.TestingT, blobs []any) []byte {
	payload, err := json.Marshal(map[string]any{"blobs": blobs, "properties": map[string]string{"created-by": "a writer 1.0"}})
	require.NoError(t, err)
	flags := c.Flags
	if c.LZ4 {
		payload, flags = compress(t, payload), flags|1
	}
	out := append([]byte(puffinMagic), payload...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(payload)))
	return append(binary.LittleEndian.AppendUint32(out, flags), puffinMagic...)
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

// EncodeVector returns the blob of a deletion vector, as iceberg-go writes it.
func EncodeVector(t require.TestingT, positions ...int64) []byte {
	b := dv.NewRoaringPositionBitmap()
	for _, p := range positions {
		b.Set(uint64(p))
	}
	b.RunLengthEncode()
	blob, err := dv.SerializeDV(b)
	require.NoError(t, err)
	return blob
}
