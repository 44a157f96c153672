package maintenance

import (
	"bufio"
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

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// digest hashes the positions of a bitmap in an encoding that does not depend on how they are stored: for each 32-bit
// key that holds positions, ascending, the key as u32 LE, then its runs of adjacent low halves, each as the varint of
// the distance from the end of the run before (from -1 for the first) and the varint of its length, ended by a 0.
//
// The distance of two runs is never 0, so the encoding is unambiguous.
func digest(b *puffin.Bitmap) Digest {
	h := sha256.New()
	e := digester{w: bufio.NewWriterSize(h, 32<<10), hash: h}
	for first, last := range b.Ranges() {
		for first>>32 != last>>32 { // a run may cross keys; each key is encoded on its own
			e.run(first, first|0xffffffff)
			first = first | 0xffffffff + 1
		}
		e.run(first, last)
	}
	return e.sum()
}

type digester struct {
	w    *bufio.Writer
	hash hash.Hash
	open bool
	key  int64
	next int64 // low half after the last run
}

func (e *digester) run(first, last int64) {
	if key := first >> 32; !e.open || key != e.key {
		if e.open {
			e.w.WriteByte(0)
		}
		buf := binary.LittleEndian.AppendUint32(e.w.AvailableBuffer(), uint32(key))
		e.w.Write(buf)
		e.open, e.key, e.next = true, key, -1
	}
	low := first & 0xffffffff
	buf := binary.AppendUvarint(e.w.AvailableBuffer(), uint64(low-e.next))
	buf = binary.AppendUvarint(buf, uint64(last-first+1))
	e.w.Write(buf)
	e.next = last & 0xffffffff
}

func (e *digester) sum() (d Digest) {
	if e.open {
		e.w.WriteByte(0)
	}
	e.w.Flush() // a hash never fails
	e.hash.Sum(d[:0])
	return d
}

// tableDigest combines the digests of data files: SHA-256 over the lines "path digest", sorted by path.
func tableDigest(files map[string]Digest) string {
	h := sha256.New()
	paths := make([]string, 0, len(files))
	for p := range files {
		paths = append(paths, p)
	}
	slices.SortFunc(paths, strings.Compare)
	for _, p := range paths {
		fmt.Fprintf(h, "%s %s\n", p, files[p])
	}
	return hex.EncodeToString(h.Sum(nil))
}
