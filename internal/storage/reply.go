package storage

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"gocloud.dev/blob"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
)

// unknownSize is the size of an object that the store did not tell.
const unknownSize = cloud.UnknownSize

// replyRange says which bytes of an object of what size the body of a reply holds.
type replyRange struct {
	offset, length, size int64
}

// checkReply returns how many bytes the body of r holds and how large the object is, after comparing what the store
// says it sent with what was asked for: length bytes at offset, or everything from offset on when length is negative.
func checkReply(r *blob.Reader, offset, length int64) (replyRange, error) {
	out, ok := s3Reply(r)
	if !ok {
		return wanted(offset, length, r.Size()), nil
	}
	body := int64(unknownSize)
	if out.ContentLength != nil {
		body = *out.ContentLength
	}
	if out.ContentRange == nil {
		return checkWhole(body, offset, length)
	}
	got, err := parseContentRange(aws.ToString(out.ContentRange))
	if err != nil {
		return replyRange{}, err
	}
	return checkRange(got, body, offset, length)
}

// wanted is the part of an object of the given size that a conforming store sends.
func wanted(offset, length, size int64) replyRange {
	rest := max(size-offset, 0)
	if length < 0 || length > rest {
		length = rest
	}
	return replyRange{offset: offset, length: length, size: size}
}

// checkWhole judges a reply with the whole object.
func checkWhole(size, offset, length int64) (replyRange, error) {
	if offset == 0 && length < 0 {
		return replyRange{length: size, size: size}, nil
	}
	// Asking for no less than the whole object may be answered with the whole object.
	if offset == 0 && size != unknownSize && size <= length {
		return replyRange{length: size, size: size}, nil
	}
	return replyRange{}, fmt.Errorf("%w: it sent the whole object instead of the range", ErrWrongReply)
}

// checkRange judges a reply with a Content-Range.
func checkRange(got replyRange, body, offset, length int64) (replyRange, error) {
	if length < 0 && offset == 0 {
		return replyRange{}, fmt.Errorf("%w: it sent a range instead of the whole object", ErrWrongReply)
	}
	want := replyRange{offset: offset, length: length, size: got.size}
	if got.size != unknownSize {
		want = wanted(offset, length, got.size)
	}
	if length < 0 && got.size == unknownSize {
		return replyRange{}, fmt.Errorf("%w: it does not tell the size of the object", ErrWrongReply)
	}
	if got != want {
		return replyRange{}, fmt.Errorf("%w: it sent %d bytes at offset %d", ErrWrongReply, got.length, got.offset)
	}
	if body != unknownSize && body != got.length {
		return replyRange{}, fmt.Errorf("%w: it announces %d bytes for a range of %d", ErrWrongReply, body, got.length)
	}
	return got, nil
}

// parseContentRange parses "bytes 10-14/27" and "bytes 10-14/*".
func parseContentRange(header string) (replyRange, error) {
	first, last, size, ok := cloud.ParseContentRange(header)
	if !ok {
		return replyRange{}, fmt.Errorf("%w: it sent Content-Range %q", ErrWrongReply, header)
	}
	return replyRange{offset: first, length: last - first + 1, size: size}, nil
}
