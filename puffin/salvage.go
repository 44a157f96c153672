package puffin

import (
	"encoding/binary"
	"hash/crc32"
)

// Proof says how sure it is that a [Salvage] holds the positions that were written.
type Proof int

// Proofs, from none to certain.
const (
	// ProofNone: nothing could be made of the bytes.
	ProofNone Proof = iota
	// ProofPartial: the checksum is right, so every position was written, but some may be missing or beyond the format.
	ProofPartial
	// ProofBitmap: the bitmaps decode to the end of the vector and the cardinality is the record count, but checksum or
	// frame are wrong: positions may have been changed. To be offered to a person, never used unasked.
	ProofBitmap
	// ProofChecksum: length and magic are right, the checksum or its one's complement matches, the bitmaps decode to the end
	// of the vector, no key that was counted is missing, and the cardinality is the record count.
	ProofChecksum
)

// Salvage is what the bytes of a damaged deletion vector still hold.
type Salvage struct {
	// Bitmap holds the positions; empty with ProofNone.
	Bitmap *Bitmap
	// Proof is how far it can be trusted.
	Proof Proof
	// Damage is the first thing that is wrong, nil when nothing is.
	Damage error
}

// SalvageDeletionVector gets positions out of a blob that [DecodeDeletionVector] refuses. It goes on where that stops
// at a wrong length, magic, checksum or record count, at keys that do not ascend or come twice (their positions are
// united), at a wrong number of keys, at a blob without a frame and at bytes after the blob. It never mends a 32-bit
// bitmap and drops keys above [MaxKey]. at.RecordCount is what a [ProofBitmap] rests on.
func SalvageDeletionVector(blob []byte, at DeletionVectorRange) Salvage {
	bitmap, err := DecodeDeletionVector(blob, at)
	if err == nil {
		return Salvage{Bitmap: bitmap, Proof: ProofChecksum}
	}
	best := Salvage{Bitmap: NewBitmap(), Damage: err}
	for _, c := range salvageCandidates(blob) {
		s := walkVector(c.vector)
		if p := c.proof(s, at.RecordCount); p > best.Proof {
			best.Proof, best.Bitmap = p, s.bitmap
		}
	}
	return best
}

// candidate is a part of a blob that may be the vector.
type candidate struct {
	vector   []byte
	framed   bool // length and magic are right
	checksum bool // CRC-32 or its complement is right
}

// salvageCandidates are the vector where it belongs, where its length field says it ends, and a blob without a frame.
func salvageCandidates(blob []byte) []candidate {
	candidates := []candidate{{vector: blob}}
	if len(blob) < minDVSize {
		return nil
	}
	length := int64(binary.BigEndian.Uint32(blob))
	for _, size := range []int64{int64(len(blob)), length + dvLengthSize + dvCRCSize} {
		if size < minDVSize || size > int64(len(blob)) {
			continue
		}
		body := blob[dvLengthSize : size-dvCRCSize]
		crc, stored := crc32.ChecksumIEEE(body), binary.BigEndian.Uint32(blob[size-dvCRCSize:])
		candidates = append(candidates, candidate{
			vector:   body[MagicSize:],
			framed:   length == int64(len(blob)-dvLengthSize-dvCRCSize) && string(body[:MagicSize]) == DeletionVectorMagic,
			checksum: crc == stored || ^crc == stored,
		})
	}
	return candidates
}

// proof judges what walkVector found in c.
func (c candidate) proof(s salvagedVector, records int64) Proof {
	n := s.bitmap.Cardinality()
	counted := records < 0 || n == records
	switch {
	case c.framed && c.checksum && s.atEnd && counted && !s.dropped && s.claimed <= uint64(s.keys):
		return ProofChecksum
	case s.atEnd && records >= 0 && counted && !s.dropped && s.keys > 0:
		return ProofBitmap
	case c.framed && c.checksum && n > 0:
		return ProofPartial
	default:
		return ProofNone
	}
}

// salvagedVector is what walkVector got through.
type salvagedVector struct {
	bitmap  *Bitmap
	claimed uint64 // keys that the count claims
	keys    int    // keys that are there
	atEnd   bool   // the last bitmap ends with the bytes
	dropped bool   // a key or position is beyond the format
}

// walkVector takes keys in any order for as long as there are bytes that make a bitmap.
func walkVector(data []byte) salvagedVector {
	s := salvagedVector{bitmap: NewBitmap()}
	if len(data) < vectorCountSize {
		return s
	}
	s.claimed = binary.LittleEndian.Uint64(data)
	at := vectorCountSize
	for len(data)-at >= minKeySize {
		var one scan
		n := one.bitmap(data[at+4:])
		if one.fault != nil {
			break
		}
		s.take(binary.LittleEndian.Uint32(data[at:]), data[at+4:at+4+n], &one)
		at += 4 + n
	}
	s.atEnd = at == len(data)
	return s
}

// take unites the bitmap of key with what is there.
func (s *salvagedVector) take(key uint32, data []byte, one *scan) {
	s.keys++
	switch {
	case one.cardinality == 0:
		return
	case key > MaxKey, key == MaxKey && one.last > maxLowOfMaxKey:
		s.dropped = true
		return
	}
	m, err := load(data, one.touching)
	if err != nil {
		s.dropped = true
		return
	}
	s.bitmap.unite(key, m)
}
