package orcfile

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is a field of a message: a number, or bytes.
type field struct {
	number uint64
	bytes  []byte
}

// message calls use with the fields of a message. Fields of other types than numbers and bytes are left out: nothing here
// has one.
func message(b []byte, use func(id protowire.Number, f field) error) error {
	for len(b) > 0 {
		id, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var f field
		switch kind {
		case protowire.VarintType:
			f.number, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(id, kind, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if kind != protowire.VarintType && kind != protowire.BytesType {
			continue
		}
		if err := use(id, f); err != nil {
			return err
		}
	}
	return nil
}

// numbers appends the numbers of a repeated field, which is packed or not.
func (f field) numbers(out []uint64) ([]uint64, error) {
	if f.bytes == nil {
		return append(out, f.number), nil
	}
	for b := f.bytes; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		out, b = append(out, v), b[n:]
	}
	return out, nil
}

// within returns a number as a size in bytes or a count of up to limit.
func (f field) within(limit int64, what string) (int64, error) {
	if f.number > uint64(limit) {
		return 0, fmt.Errorf("%s of %d, where %d is the most", what, f.number, limit)
	}
	return int64(f.number), nil
}
