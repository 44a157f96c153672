package maintenance

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"

	"github.com/dvcompactor/dvcompactor/puffin"
)

// Digest is the SHA-256 of the deleted positions of one data file.
type Digest [sha256.Size]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// digest hashes the positions of a bitmap in an encoding that does not depend on how they are stored: for each 32-bit
// key that holds positions, ascending, the key as u32 LE, then its runs of adjacent low halves, each as the varint of
// the distance from the end of the run before (from -1 for the first) and the varint of its length, ended by a 0.
//
// The distance of two runs is never 0, so the encoding is unambiguous.
func digest(b *puffin.Bitmap) Digest {
	e := digester{hash: sha256.New(), key: -1}
	for first, last := range b.Ranges() {
		for first>>32 != last>>32 { // a run may cross keys; each key is encoded on its own
			e.run(first, first|0xffffffff)
			first = first | 0xffffffff + 1
		}
		e.run(first, last)
	}
	return e.sum()
}

// digester encodes runs into a buffer and hashes the buffer when it is full: this is done for every deleted position of
// a run of the program, twice.
type digester struct {
	hash hash.Hash
	buf  [8 << 10]byte
	n    int
	key  int64 // -1 before the first
	next int64 // position before which the last run ended
}

// maxRunBytes is what one run can add to the buffer: the end of a key, a key, two varints.
const maxRunBytes = 1 + 4 + 2*binary.MaxVarintLen64

func (e *digester) run(first, last int64) {
	if e.n+maxRunBytes > len(e.buf) {
		e.flush()
	}
	if key := first >> 32; key != e.key {
		e.startKey(key)
	}
	e.uvarint(uint64(first - e.next))
	e.uvarint(uint64(last - first + 1))
	e.next = last
}

func (e *digester) startKey(key int64) {
	e.endKey()
	binary.LittleEndian.PutUint32(e.buf[e.n:], uint32(key))
	e.n += 4
	e.key, e.next = key, key<<32-1
}

func (e *digester) endKey() {
	if e.key >= 0 {
		e.buf[e.n] = 0
		e.n++
	}
}

func (e *digester) uvarint(v uint64) {
	for ; v >= 0x80; v >>= 7 {
		e.buf[e.n] = byte(v) | 0x80
		e.n++
	}
	e.buf[e.n] = byte(v)
	e.n++
}

func (e *digester) flush() {
	e.hash.Write(e.buf[:e.n])
	e.n = 0
}

func (e *digester) sum() (d Digest) {
	e.flush()
	e.endKey()
	e.flush()
	e.hash.Sum(d[:0])
	return d
}

// tableDigest combines the digests of data files: SHA-256 over the lines "path digest", sorted by path.
func tableDigest(files []held) string {
	sorted := slices.SortedFunc(slices.Values(files), func(a, b held) int { return strings.Compare(a.path, b.path) })
	h := sha256.New()
	for _, f := range sorted {
		fmt.Fprintf(h, "%s %s\n", f.path, f.digest)
	}
	return hex.EncodeToString(h.Sum(nil))
}
