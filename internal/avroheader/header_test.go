package avroheader_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/avroheader"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample is the start of a manifest: two metadata entries in one block, then a sync marker.
func sample() []byte {
	return []byte(avroheader.Magic + "\x04" + "\x0econtent\x08data" + "\x14avro.codec\x0edeflate" + "\x00" + "0123456789abcdef")
}

func TestAHeaderIsReadAndWritten(t *testing.T) {
	t.Parallel()
	// the same metadata as one block with its size in bytes, which a negative count announces
	sized := []byte(avroheader.Magic + "\x03\x40" + "\x0econtent\x08data" + "\x14avro.codec\x0edeflate" + "\x00" + "0123456789abcdef")
	for name, data := range map[string][]byte{"plain": sample(), "block with its size": sized} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := bufio.NewReader(bytes.NewReader(data))
			h, err := avroheader.Read(r)
			require.NoError(t, err)
			assert.Equal(t, map[string][]byte{"content": []byte("data"), "avro.codec": []byte("deflate")}, h.Meta)
			rest, err := io.ReadAll(r)
			require.NoError(t, err)
			assert.Equal(t, "0123456789abcdef", string(rest), "the reader is at the sync marker")
			assert.Equal(t, avroheader.Magic+"\x04"+"\x14avro.codec\x0edeflate"+"\x0econtent\x08data"+"\x00", string(h.Encode()))
		})
	}
}

func TestHeadersThatAreNotAvroAreErrors(t *testing.T) {
	t.Parallel()
	good := sample()
	huge := binary.AppendVarint([]byte(avroheader.Magic), 1)
	huge = binary.AppendVarint(huge, 1<<60)
	negative := binary.AppendVarint(binary.AppendVarint([]byte(avroheader.Magic), 1), -5)
	for name, data := range map[string][]byte{
		"nothing":              nil,
		"another magic":        append([]byte("PAR1"), good[4:]...),
		"cut in the header":    good[:30],
		"a key of 2^60 bytes":  huge,
		"a key of -5 bytes":    negative,
		"a varint without end": append([]byte(avroheader.Magic), bytes.Repeat([]byte{0xff}, 20)...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := avroheader.Read(bufio.NewReader(bytes.NewReader(data)))
			require.Error(t, err)
			assert.ErrorContains(t, err, "avro header")
		})
	}
}

func FuzzAvroHeader(f *testing.F) {
	good := sample()
	f.Add(good)
	f.Add(good[:40])
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := avroheader.Read(bufio.NewReader(bytes.NewReader(data)))
		if err != nil {
			return
		}
		if !bytes.HasPrefix(data, h.Raw) {
			t.Fatalf("read %x, which is not how the input begins", h.Raw)
		}
		again, err := avroheader.Read(bufio.NewReader(bytes.NewReader(h.Encode())))
		if err != nil {
			t.Fatalf("encoded header: %v", err)
		}
		assert.Equal(t, h.Meta, again.Meta)
	})
}
