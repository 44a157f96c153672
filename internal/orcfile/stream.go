package orcfile

import (
	"fmt"
	"io"
)

const (
	// maxBlock bounds what a chunk may hold, in bytes: the three bytes before it cannot say more.
	maxBlock = 1 << 23
	// window is how much of an uncompressed stream is read at once, in bytes.
	window = 256 << 10
	// fetch is how much of a stream is asked of the store with one request, in bytes.
	fetch = 1 << 20
)

// stream gives the bytes of a stream, decompressed.
type stream struct {
	in     *io.LimitedReader // what is left of the stream, as stored
	decode decompress        // nil for none
	block  int               // most bytes of a chunk
	rest   []byte            // of the current chunk
	raw    []byte
	out    []byte
}

// ReadByte implements io.ByteReader.
func (s *stream) ReadByte() (byte, error) {
	if len(s.rest) == 0 {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	b := s.rest[0]
	s.rest = s.rest[1:]
	return b, nil
}

// appendTo appends the next n bytes to out, whose memory grows as they come. A stream that ends before has been cut.
func (s *stream) appendTo(out []byte, n int64) ([]byte, error) {
	for n > 0 {
		if len(s.rest) == 0 {
			if err := s.fill(); err == io.EOF {
				return nil, io.ErrUnexpectedEOF
			} else if err != nil {
				return nil, err
			}
		}
		take := min(n, int64(len(s.rest)))
		out = append(out, s.rest[:take]...)
		s.rest, n = s.rest[take:], n-take
	}
	return out, nil
}

// ended tells whether there is nothing more.
func (s *stream) ended() (bool, error) {
	if len(s.rest) > 0 {
		return false, nil
	}
	err := s.fill()
	if err == io.EOF {
		return true, nil
	}
	return false, err
}

// fill gets the next chunk that holds something. Its error is io.EOF behind the last one.
func (s *stream) fill() error {
	for len(s.rest) == 0 {
		if s.in.N <= 0 {
			return io.EOF
		}
		if s.decode == nil {
			if err := s.read(min(window, s.in.N)); err != nil {
				return err
			}
			s.rest = s.raw
			continue
		}
		if err := s.chunk(); err != nil {
			return err
		}
	}
	return nil
}

// chunk reads a chunk and the three bytes before it.
func (s *stream) chunk() error {
	if err := s.read(3); err != nil {
		return err
	}
	head := int64(s.raw[0]) | int64(s.raw[1])<<8 | int64(s.raw[2])<<16
	length, original := head>>1, head&1 == 1
	if length > int64(s.block) || length > s.in.N {
		return fmt.Errorf("a chunk of %d bytes in a stream with %d left and chunks of %d", length, s.in.N, s.block)
	}
	if err := s.read(length); err != nil {
		return err
	}
	if original {
		s.rest = s.raw
		return nil
	}
	if s.out == nil {
		s.out = make([]byte, s.block)
	}
	var err error
	s.rest, err = s.decode(s.out, s.raw)
	return err
}

// read gets the next n bytes as stored, of which there are as many as the stream is long.
func (s *stream) read(n int64) error {
	if n > s.in.N {
		return io.ErrUnexpectedEOF
	}
	if int64(cap(s.raw)) < n {
		s.raw = make([]byte, n)
	}
	s.raw = s.raw[:n]
	_, err := io.ReadFull(s.in, s.raw)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}
