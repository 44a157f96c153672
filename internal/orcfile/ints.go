package orcfile

import (
	"encoding/binary"
	"fmt"
	"io"
)

// maxRun is the most values that a run has (ORC specification, "Run Length Encoding").
const maxRun = 512

// ints decodes run-length encoded whole numbers.
type ints struct {
	in     *stream
	signed bool
	v1     bool // version 1 of the encoding
	buf    [maxRun]int64
	values []int64 // of the current run that were not taken yet
	packed []byte
}

// next returns the next number. The error is io.EOF behind the last one.
func (r *ints) next() (int64, error) {
	if len(r.values) == 0 {
		if err := r.run(); err != nil {
			return 0, err
		}
	}
	v := r.values[0]
	r.values = r.values[1:]
	return v, nil
}

// ended tells whether all numbers were taken.
func (r *ints) ended() (bool, error) {
	if len(r.values) > 0 {
		return false, nil
	}
	return r.in.ended()
}

// run decodes a run. What is cut within one is io.ErrUnexpectedEOF.
func (r *ints) run() error {
	head, err := r.in.ReadByte()
	if err != nil {
		return err
	}
	switch {
	case r.v1:
		err = r.runV1(int(int8(head)))
	case head>>6 == 0:
		err = r.shortRepeat(head)
	default:
		err = r.packedRun(head)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// runV1 decodes a run of version 1: a sequence with a fixed step, or numbers one by one.
func (r *ints) runV1(control int) error {
	if control < 0 {
		r.values = r.buf[:-control]
		for i := range r.values {
			v, err := r.varint(r.signed)
			if err != nil {
				return err
			}
			r.values[i] = v
		}
		return nil
	}
	step, err := r.in.ReadByte()
	if err != nil {
		return err
	}
	base, err := r.varint(r.signed)
	if err != nil {
		return err
	}
	r.values = r.buf[:control+3]
	for i := range r.values {
		r.values[i] = base + int64(i)*int64(int8(step))
	}
	return nil
}

func (r *ints) shortRepeat(head byte) error {
	v, err := r.bigEndian(int(head>>3&7) + 1)
	if err != nil {
		return err
	}
	r.values = r.buf[:head&7+3]
	for i := range r.values {
		r.values[i] = r.plain(v)
	}
	return nil
}

// packedRun decodes the kinds of runs with a width and a length of nine bits.
func (r *ints) packedRun(head byte) error {
	low, err := r.in.ReadByte()
	if err != nil {
		return err
	}
	code, length := head>>1&31, int(head&1)<<8|int(low)
	switch head >> 6 {
	case 1:
		return r.direct(widthOf(code), length+1)
	case 2:
		return r.patched(widthOf(code), length+1)
	}
	if code == 0 {
		return r.fixedDelta(length)
	}
	return r.delta(widthOf(code), length)
}

func (r *ints) direct(width, length int) error {
	r.values = r.buf[:length]
	if err := r.unpack(r.values, width); err != nil {
		return err
	}
	for i, v := range r.values {
		r.values[i] = r.plain(uint64(v))
	}
	return nil
}

// fixedDelta decodes a sequence with a fixed step.
func (r *ints) fixedDelta(length int) error {
	first, step, err := r.firstAndStep()
	if err != nil {
		return err
	}
	r.values = r.buf[:length+1]
	for i := range r.values {
		r.values[i] = first + int64(i)*step
	}
	return nil
}

// delta decodes a sequence that goes into the direction of its first step.
func (r *ints) delta(width, length int) error {
	if length < 1 {
		return fmt.Errorf("a sequence of steps of %d numbers", length+1)
	}
	first, step, err := r.firstAndStep()
	if err != nil {
		return err
	}
	r.values = r.buf[:length+1]
	if err := r.unpack(r.values[2:], width); err != nil {
		return err
	}
	r.values[0], r.values[1] = first, first+step
	for i := 2; i < len(r.values); i++ {
		if step < 0 {
			r.values[i] = r.values[i-1] - r.values[i]
		} else {
			r.values[i] += r.values[i-1]
		}
	}
	return nil
}

func (r *ints) firstAndStep() (first, step int64, err error) {
	if first, err = r.varint(r.signed); err != nil {
		return 0, 0, err
	}
	step, err = r.varint(true)
	return first, step, err
}

// patched decodes numbers above a base, of which some have further bits in a list: each entry says how many numbers
// behind the one before it, and which bits.
func (r *ints) patched(width, length int) error {
	head, err := r.bigEndian(2)
	if err != nil {
		return err
	}
	baseBytes, patchWidth := int(head>>13&7)+1, widthOf(byte(head>>8&31))
	gapWidth, patches := int(head>>5&7)+1, int(head&31)
	if patchWidth+gapWidth > 64 {
		return fmt.Errorf("a patch of %d bits and a gap of %d", patchWidth, gapWidth)
	}
	raw, err := r.bigEndian(baseBytes)
	if err != nil {
		return err
	}
	base := int64(raw)
	if sign := uint64(1) << (baseBytes*8 - 1); raw&sign != 0 {
		base = -int64(raw &^ sign)
	}
	r.values = r.buf[:length]
	if err := r.unpack(r.values, width); err != nil {
		return err
	}
	var list [31]int64
	if err := r.unpack(list[:patches], closestWidth(patchWidth+gapWidth)); err != nil {
		return err
	}
	at := 0
	for _, entry := range list[:patches] {
		at += int(uint64(entry) >> patchWidth)
		if at < 0 || at >= length {
			return fmt.Errorf("a patch of number %d of %d", at, length)
		}
		r.values[at] |= int64(uint64(entry)&(1<<patchWidth-1)) << width
	}
	for i := range r.values {
		r.values[i] += base
	}
	return nil
}

// unpack reads numbers of width bits, most significant first.
func (r *ints) unpack(out []int64, width int) error {
	var err error
	if r.packed, err = r.in.appendTo(r.packed[:0], int64(len(out)*width+7)/8); err != nil {
		return err
	}
	bit := 0
	for i := range out {
		var v uint64
		for left := width; left > 0; {
			have := 8 - bit&7
			take := min(have, left)
			v = v<<take | uint64(r.packed[bit>>3]>>(have-take))&(1<<take-1)
			bit, left = bit+take, left-take
		}
		out[i] = int64(v)
	}
	return nil
}

// bigEndian reads a number of n bytes.
func (r *ints) bigEndian(n int) (v uint64, err error) {
	for range n {
		b, err := r.in.ReadByte()
		if err != nil {
			return 0, err
		}
		v = v<<8 | uint64(b)
	}
	return v, nil
}

// varint reads a number of base 128.
func (r *ints) varint(signed bool) (int64, error) {
	if signed {
		return binary.ReadVarint(r.in)
	}
	v, err := binary.ReadUvarint(r.in)
	return int64(v), err
}

// plain undoes the zigzag of signed numbers.
func (r *ints) plain(v uint64) int64 {
	if r.signed {
		return int64(v>>1) ^ -int64(v&1)
	}
	return int64(v)
}

// widthOf returns how many bits a code of five bits means.
func widthOf(code byte) int {
	if code < 24 {
		return int(code) + 1
	}
	return [...]int{26, 28, 30, 32, 40, 48, 56, 64}[code-24]
}

// closestWidth returns the smallest width that has a code and holds n bits.
func closestWidth(n int) int {
	for code := byte(0); code < 31; code++ {
		if w := widthOf(code); w >= n {
			return w
		}
	}
	return 64
}
