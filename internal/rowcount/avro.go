package rowcount

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/dvcompactor/dvcompactor/internal/avroheader"
	"github.com/dvcompactor/dvcompactor/internal/objectfile"
)

const (
	// window is how many bytes of an Avro file are fetched with one request.
	window = 4 << 20
	// syncBytes is the size of the marker after the header and after each block.
	syncBytes = 16
)

// ofAvro adds up what the blocks say they have (Avro specification, "Object Container Files"). None is decoded.
func ofAvro(in *objectfile.Reader, least int64) (int64, error) {
	r := bufio.NewReaderSize(in, int(min(window, max(in.Size(), syncBytes))))
	rows, err := blocks(r)
	if err != nil {
		return 0, fmt.Errorf("%w: no Parquet and no ORC file, and as an Avro file: %w", ErrDamaged, err)
	}
	if rows < least {
		return 0, fmt.Errorf("%w: an Avro file with %d rows, its manifest entry says %d: it may have been cut", ErrDamaged, rows, least)
	}
	return rows, nil
}

// blocks reads a header and how many rows the blocks after it have.
func blocks(r *bufio.Reader) (rows int64, err error) {
	if _, err := avroheader.Read(r); err != nil {
		return 0, err
	}
	marker := make([]byte, syncBytes)
	if _, err := io.ReadFull(r, marker); err != nil {
		return 0, fmt.Errorf("the sync marker: %w", err)
	}
	for n := 0; ; n++ {
		if _, err := r.Peek(1); errors.Is(err, io.EOF) {
			return rows, nil
		}
		count, err := block(r, marker)
		if err == nil && count > math.MaxInt64-rows {
			err = errors.New("more rows than there are numbers")
		}
		if err != nil {
			return 0, fmt.Errorf("block %d: %w", n, err)
		}
		rows += count
	}
}

// block passes over a block: the number of its rows, of its bytes, its bytes, the marker.
func block(r *bufio.Reader, marker []byte) (rows int64, err error) {
	rows, err = binary.ReadVarint(r)
	if err != nil {
		return 0, err
	}
	size, err := binary.ReadVarint(r)
	if err != nil {
		return 0, err
	}
	if rows < 0 || size < 0 {
		return 0, fmt.Errorf("%d rows in %d bytes", rows, size)
	}
	if _, err := io.CopyN(io.Discard, r, size); err != nil {
		return 0, fmt.Errorf("%d bytes: %w", size, err)
	}
	end := make([]byte, syncBytes)
	if _, err := io.ReadFull(r, end); err != nil {
		return 0, fmt.Errorf("the sync marker: %w", err)
	}
	if !bytes.Equal(end, marker) {
		return 0, errors.New("it does not end with the sync marker")
	}
	return rows, nil
}
