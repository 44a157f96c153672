package orcfile_test

import (
	"bytes"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// num is a field of a message with a number, and part one with bytes.
func num(id protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, id, protowire.VarintType), v)
}

func part(id protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, id, protowire.BytesType), b)
}

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

// built is an uncompressed file of one stripe with the columns "path" and "pos", every part of which can be changed.
type built struct {
	rows, stripeRows uint64
	streams          []builtStream
	encodings        []byte // of the stripe's footer
	offset           uint64 // of the stripe
	types            []byte
	more             []byte // of the footer
	postscript       []byte // instead of the right one
	compression      uint64
}

type builtStream struct {
	kind, column uint64
	data         []byte
	claims       uint64 // its length when it is not that of data
}

// Two rows, ("a", 5) and ("bc", 6), stored directly.
func sound() built {
	return built{
		rows: 2, stripeRows: 2, offset: 3,
		streams: []builtStream{
			{kind: 1, column: 1, data: []byte("abc")},
			{kind: 2, column: 1, data: direct(1, 2)},
			{kind: 1, column: 2, data: direct(10, 12)},
		},
		encodings: join(part(2, num(1, 0)), part(2, num(1, 2)), part(2, num(1, 2))),
		types: join(
			part(4, join(num(1, 12), part(2, []byte{1, 2}), part(3, []byte("path")), part(3, []byte("pos")))),
			part(4, join(num(1, 7), part(7, join(part(1, []byte("iceberg.id")), part(2, []byte("77")))))),
			part(4, num(1, 4)),
		),
	}
}

// direct is a run of numbers of eight bits.
func direct(values ...byte) []byte {
	return append([]byte{0x40 | 7<<1, byte(len(values) - 1)}, values...)
}

func (b built) file() []byte {
	var out bytes.Buffer
	out.WriteString("ORC")
	footer := b.encodings
	var streams []byte
	length := 0
	for _, s := range b.streams {
		out.Write(s.data)
		length += len(s.data)
		claims := s.claims
		if claims == 0 {
			claims = uint64(len(s.data))
		}
		streams = append(streams, part(1, join(num(1, s.kind), num(2, s.column), num(3, claims)))...)
	}
	footer = join(streams, footer)
	out.Write(footer)
	stripe := part(3, join(num(1, b.offset), num(3, uint64(length)), num(4, uint64(len(footer))), num(5, b.stripeRows)))
	tail := join(stripe, b.types, num(6, b.rows), b.more)
	out.Write(tail)
	ps := b.postscript
	if ps == nil {
		ps = join(num(1, uint64(len(tail))), num(2, b.compression), part(8000, []byte("ORC")))
	}
	out.Write(ps)
	out.WriteByte(byte(len(ps)))
	return out.Bytes()
}
