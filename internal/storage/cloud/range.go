package cloud

import (
	"fmt"
	"strconv"
	"strings"
)

// UnknownSize is the size of an object that the store did not tell.
const UnknownSize = -1

// ParseContentRange parses "bytes 10-14/27" and "bytes 10-14/*" into the first and last byte and the size of the object,
// which is [UnknownSize] in the second. It returns false for everything else, also for a range that cannot be.
func ParseContentRange(header string) (first, last, size int64, ok bool) {
	spec, isBytes := strings.CutPrefix(header, "bytes ")
	bounds, total, hasTotal := strings.Cut(spec, "/")
	from, to, isRange := strings.Cut(bounds, "-")
	if !isBytes || !hasTotal || !isRange {
		return 0, 0, 0, false
	}
	first, err1 := strconv.ParseInt(strings.TrimSpace(from), 10, 64)
	last, err2 := strconv.ParseInt(strings.TrimSpace(to), 10, 64)
	if err1 != nil || err2 != nil || first < 0 || last < first {
		return 0, 0, 0, false
	}
	if total == "*" {
		return first, last, UnknownSize, true
	}
	size, err := strconv.ParseInt(strings.TrimSpace(total), 10, 64)
	return first, last, size, err == nil && size > last
}

// CheckRange compares what a store says it sent with what was asked for: length bytes at offset, or everything from
// there on when length is negative. size is that of the object, sent the number of bytes of the body.
func CheckRange(offset, length, size, sentOffset, sent int64) error {
	want := max(size-offset, 0)
	if length >= 0 {
		want = min(want, length)
	}
	if sentOffset == offset && sent == want {
		return nil
	}
	return &Error{Kind: WrongReply, Err: fmt.Errorf("it sent %d bytes at offset %d of an object of %d", sent, sentOffset, size)}
}
