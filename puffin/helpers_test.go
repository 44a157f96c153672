package puffin

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"sync"
)

// frame puts a right length, magic and CRC around a vector.
func frame(vector []byte) []byte {
	blob := binary.BigEndian.AppendUint32(nil, uint32(len(vector)+MagicSize))
	blob = append(blob, DeletionVectorMagic...)
	blob = append(blob, vector...)
	return binary.BigEndian.AppendUint32(blob, crc32.ChecksumIEEE(blob[4:]))
}

// request is one call of ReadRange.
type request struct{ offset, length int64 }

// countingReader remembers requests, and fails those that fail says.
type countingReader struct {
	RangeReader
	fail func(request) error

	mu       sync.Mutex
	requests []request
}

func (c *countingReader) ReadRange(ctx context.Context, offset, length int64) ([]byte, error) {
	r := request{offset, length}
	c.mu.Lock()
	c.requests = append(c.requests, r)
	c.mu.Unlock()
	if c.fail != nil {
		if err := c.fail(r); err != nil {
			return nil, err
		}
	}
	return c.RangeReader.ReadRange(ctx, offset, length)
}

// sizedReader adds a size that is counted too.
type sizedReader struct {
	*countingReader
	size  int64
	asked int
}

func (s *sizedReader) Size(context.Context) (int64, error) {
	s.asked++
	return s.size, nil
}

// asCorruption gives the corruption in err, or nil.
func asCorruption(err error) *CorruptionError {
	var c *CorruptionError
	if errors.As(err, &c) {
		return c
	}
	return nil
}
