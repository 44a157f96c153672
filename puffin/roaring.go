package puffin

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Constants of the portable 32-bit Roaring format.
const (
	cookieNoRuns      = 12346
	cookieRuns        = 12347
	maxArray          = 4096 // values of an array container
	bitsetSize        = 8192 // bytes
	containerRange    = 65536
	noOffsetThreshold = 4  // with run containers, fewer containers than this have no offset header
	minBitmapSize     = 8  // cookie and a container count of zero
	minKeySize        = 12 // key and the smallest bitmap
)

// maxLowOfMaxKey is the largest lower half under MaxKey, the low half of MaxPosition.
const maxLowOfMaxKey = uint32(MaxPosition & 0xffffffff)

// scan walks one serialised 32-bit bitmap and checks every rule of the format before any library sees the bytes,
// because the Roaring libraries of Java and Go accept unsorted values, runs that leave their container and
// cardinalities that lie, and then give wrong positions.
type scan struct {
	fault       *fault
	cardinality int64
	last        uint32 // largest value; meaningful when cardinality > 0
	touching    bool   // two runs touch: legal bits, but not what the library expects
	arrays      int
	bitsets     int
	runs        int
	flagsOdd    bool // padding bits of the run flags are set
	offsetsOdd  bool // the offset header is wrong
	cardOdd     bool // the header's cardinality of a run container is not that of its runs
}

// fault is a broken rule, at an offset of the scanned bytes.
type fault struct {
	kind                  CorruptionKind
	at                    int
	what, expected, found string
}

func newFault(kind CorruptionKind, at int, what, expected string, found any) *fault {
	return &fault{kind: kind, at: at, what: what, expected: expected, found: fmt.Sprint(found)}
}

// fail keeps the fault and gives the length of nothing.
func (s *scan) fail(at int, what, expected string, found any) int {
	s.fault = newFault(KindRoaring, at, what, expected, found)
	return 0
}

// bytesOf is a size for an error.
func bytesOf(n int) string { return fmt.Sprintf("%d bytes", n) }

// bitmap checks the bitmap data starts with and gives its length in bytes; 0 with s.fault set when it is broken.
func (s *scan) bitmap(data []byte) int {
	h, ok := s.header(data)
	if !ok {
		return 0
	}
	at, key := h.end, -1
	for i := range h.count {
		k := int(binary.LittleEndian.Uint16(data[h.keys+4*i:]))
		card := int(binary.LittleEndian.Uint16(data[h.keys+4*i+2:])) + 1
		if k <= key {
			return s.fail(h.keys+4*i, "Roaring container key", fmt.Sprintf("more than %d", key), k)
		}
		key = k
		if h.offsets > 0 && int64(binary.LittleEndian.Uint32(data[h.offsets+4*i:])) != int64(at) {
			s.offsetsOdd = true
		}
		n := s.container(data, at, card, h.isRun(data, i))
		if s.fault != nil {
			return 0
		}
		at += n
		s.last = uint32(k)<<16 | s.last&0xffff
	}
	return at
}

// header is where the parts of a bitmap's header are.
type header struct {
	count   int
	flags   int // of the run flags, 0 when there are none
	keys    int
	offsets int // 0 when there are none
	end     int
}

func (h header) isRun(data []byte, i int) bool {
	return h.flags > 0 && data[h.flags+i/8]&(1<<(i%8)) != 0
}

// header checks the cookie and that the header it announces is there.
func (s *scan) header(data []byte) (header, bool) {
	var h header
	if len(data) < 4 {
		s.fail(0, "Roaring cookie", "4 bytes", bytesOf(len(data)))
		return h, false
	}
	cookie := binary.LittleEndian.Uint32(data)
	switch {
	case cookie&0xffff == cookieRuns:
		h.count = int(cookie>>16) + 1
		h.flags = 4
		h.keys = 4 + (h.count+7)/8
	case cookie == cookieNoRuns && len(data) >= minBitmapSize:
		n := binary.LittleEndian.Uint32(data[4:])
		if n > containerRange {
			s.fail(4, "Roaring container count", "at most 65536", n)
			return h, false
		}
		h.count, h.keys = int(n), 8
	case cookie == cookieNoRuns:
		s.fail(4, "Roaring container count", "4 bytes", bytesOf(len(data)-4))
		return h, false
	default:
		s.fail(0, "Roaring cookie", "12346 or 12347", cookie)
		return h, false
	}
	h.end = h.keys + 4*h.count
	if h.flags == 0 || h.count >= noOffsetThreshold {
		h.offsets = h.end
		h.end += 4 * h.count
	}
	if h.end > len(data) {
		s.fail(4, "Roaring header", fmt.Sprintf("%d bytes for %d containers", h.end, h.count), bytesOf(len(data)))
		return h, false
	}
	if r := h.count % 8; h.flags > 0 && r != 0 && data[h.keys-1]>>r != 0 {
		s.flagsOdd = true
	}
	return h, true
}

// container checks the container at data[at:] and gives its length.
func (s *scan) container(data []byte, at, card int, run bool) int {
	switch {
	case run:
		return s.runContainer(data, at, card)
	case card > maxArray:
		return s.bitsetContainer(data, at, card)
	default:
		return s.arrayContainer(data, at, card)
	}
}

func (s *scan) arrayContainer(data []byte, at, card int) int {
	if len(data)-at < 2*card {
		return s.fail(at, "Roaring array container", bytesOf(2*card), bytesOf(len(data)-at))
	}
	values := data[at : at+2*card]
	prev := -1
	for i := 0; i+1 < len(values); i += 2 {
		v := int(values[i]) | int(values[i+1])<<8
		if v <= prev {
			return s.fail(at+i, "Roaring array value", fmt.Sprintf("more than %d", prev), v)
		}
		prev = v
	}
	s.arrays++
	s.cardinality += int64(card)
	s.last = uint32(prev)
	return 2 * card
}

func (s *scan) bitsetContainer(data []byte, at, card int) int {
	if len(data)-at < bitsetSize {
		return s.fail(at, "Roaring bitset container", "8192 bytes", bytesOf(len(data)-at))
	}
	words := data[at : at+bitsetSize]
	n, last := 0, 0
	for i := 0; i+8 <= len(words); i += 8 {
		w := binary.LittleEndian.Uint64(words[i:])
		n += bits.OnesCount64(w)
		if w != 0 {
			last = i*8 + 63 - bits.LeadingZeros64(w)
		}
	}
	if n != card {
		return s.fail(at, "Roaring bitset cardinality", fmt.Sprintf("%d as in its header", card), fmt.Sprintf("%d bits", n))
	}
	s.bitsets++
	s.cardinality += int64(card)
	s.last = uint32(last)
	return bitsetSize
}

func (s *scan) runContainer(data []byte, at, card int) int {
	if len(data)-at < 2 {
		return s.fail(at, "Roaring run count", "2 bytes", bytesOf(len(data)-at))
	}
	count := int(binary.LittleEndian.Uint16(data[at:]))
	if count == 0 {
		return s.fail(at, "Roaring run count", "at least 1", 0)
	}
	if len(data)-at-2 < 4*count {
		return s.fail(at, "Roaring run container", fmt.Sprintf("%d bytes for %d runs", 4*count, count), bytesOf(len(data)-at-2))
	}
	total, next := 0, 0
	for i := range count {
		o := at + 2 + 4*i
		start := int(binary.LittleEndian.Uint16(data[o:]))
		length := int(binary.LittleEndian.Uint16(data[o+2:])) + 1
		if start < next {
			return s.fail(o, "Roaring run start", fmt.Sprintf("at least %d", next), start)
		}
		if start+length > containerRange {
			return s.fail(o, "Roaring run", "an end within 65535", fmt.Sprintf("%d+%d", start, length-1))
		}
		s.touching = s.touching || i > 0 && start == next
		next = start + length
		total += length
	}
	s.cardOdd = s.cardOdd || total != card
	s.runs++
	s.cardinality += int64(total)
	s.last = uint32(next - 1)
	return 2 + 4*count
}
