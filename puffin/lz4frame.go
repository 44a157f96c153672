package puffin

import (
	"encoding/binary"
	"fmt"
)

// Constants of the LZ4 frame format 1.6.
const (
	lz4Magic            = 0x184d2204
	lz4FlagDictionary   = 1 << 0
	lz4FlagContentCheck = 1 << 2
	lz4FlagContentSize  = 1 << 3
	lz4FlagBlockCheck   = 1 << 4
	lz4StoredBlock      = 1 << 31
)

// emptyLZ4Frame is a frame with the content size 0, its header checksum and an end mark.
const emptyLZ4Frame = "\x04\x22\x4d\x18\x68\x40\x00\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00"

// lz4Frame is what the header of a frame says.
type lz4Frame struct{ contentSize uint64 }

// parseLZ4Frame checks that data is one whole frame and nothing more, by walking over its blocks. Checksums and the
// content of blocks are left to the library.
func parseLZ4Frame(data []byte) (lz4Frame, error) {
	var f lz4Frame
	if len(data) < 15 {
		return f, fmt.Errorf("LZ4 frame: %d bytes are too few for a header with a content size", len(data))
	}
	if got := binary.LittleEndian.Uint32(data); got != lz4Magic {
		return f, fmt.Errorf("LZ4 frame: expected magic %#x, found %#x", uint32(lz4Magic), got)
	}
	flags := data[4]
	switch {
	case flags>>6 != 1:
		return f, fmt.Errorf("LZ4 frame: version %d", flags>>6)
	case flags&lz4FlagContentSize == 0:
		return f, fmt.Errorf("LZ4 frame: no content size, which Puffin requires")
	case flags&lz4FlagDictionary != 0:
		return f, fmt.Errorf("LZ4 frame: needs a dictionary")
	}
	f.contentSize = binary.LittleEndian.Uint64(data[6:])
	end, err := walkLZ4Blocks(data, flags)
	if err != nil {
		return f, err
	}
	if end != len(data) {
		return f, fmt.Errorf("LZ4 frame: %d bytes after it", len(data)-end)
	}
	return f, nil
}

// walkLZ4Blocks steps from block to block to the end mark and gives the end of the frame.
func walkLZ4Blocks(data []byte, flags byte) (int, error) {
	at := 15 // magic, flags, block descriptor, content size, header checksum
	for {
		if len(data)-at < 4 {
			return 0, fmt.Errorf("LZ4 frame: no end mark")
		}
		word := binary.LittleEndian.Uint32(data[at:])
		at += 4
		if word == 0 {
			break
		}
		size := int64(word &^ lz4StoredBlock)
		if flags&lz4FlagBlockCheck != 0 {
			size += 4
		}
		if size > int64(len(data)-at) {
			return 0, fmt.Errorf("LZ4 frame: block of %d bytes, %d are left", size, len(data)-at)
		}
		at += int(size)
	}
	if flags&lz4FlagContentCheck != 0 {
		if len(data)-at < 4 {
			return 0, fmt.Errorf("LZ4 frame: no content checksum")
		}
		at += 4
	}
	return at, nil
}
