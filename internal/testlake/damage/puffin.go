package damage

import (
	"encoding/binary"
	"hash/crc32"
)

const (
	magicSize = 4  // of a Puffin file
	tailSize  = 12 // payload size, flags and magic at the end of a Puffin file
	crcSize   = 4  // after a vector
)

// withoutFooter cuts a Puffin file after its last blob.
func withoutFooter(file []byte) []byte {
	payload := int(binary.LittleEndian.Uint32(file[len(file)-tailSize:]))
	return file[:len(file)-tailSize-payload-magicSize]
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
