package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"
)

// ErrExists tells that there is an object already; it is also an fs.ErrExist.
var ErrExists error = &mark{"object exists already", fs.ErrExist}

// ErrPermission tells that the store refuses the request or that there are no usable credentials for it; it is also an
// fs.ErrPermission.
var ErrPermission error = &mark{"access denied", fs.ErrPermission}

// ErrBeyondEnd tells that the object is there but ends before the range does. It is a fact about the object, not a
// fault of the transport; it is also an io.ErrUnexpectedEOF.
var ErrBeyondEnd error = &mark{"object ends before the range does", io.ErrUnexpectedEOF}

// ErrWrongReply tells that the store answered something else than what was asked for, for instance the whole object
// instead of a range. The object itself may be healthy.
var ErrWrongReply = errors.New("store answered something else than was asked")

// ErrInvalidLocation tells that a location cannot be the location of an object.
var ErrInvalidLocation = errors.New("not the location of an object")

// ErrUnknownScheme tells that nothing configured can open the location.
var ErrUnknownScheme = errors.New("no store for this location")

// mark is an error value that is also a more general one.
type mark struct {
	text string
	also error
}

// Error implements error.
func (m *mark) Error() string { return m.text }

// Unwrap returns the more general error.
func (m *mark) Unwrap() error { return m.also }

// Error is the error of every operation of this package.
type Error struct {
	// Op is the operation, for instance OpGetRange.
	Op Op
	// Location is the location as it was given.
	Location string
	// Version is the version that was to be read; empty for the current one.
	Version string
	// Offset and Length are the range in bytes of an OpGetRange, else 0.
	Offset, Length int64
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	what := Shown(e.Location)
	if e.Version != "" {
		what += " version " + Shown(e.Version)
	}
	if e.Op == OpGetRange {
		what += fmt.Sprintf(" [offset %d, length %d]", e.Offset, e.Length)
	}
	return fmt.Sprintf("%s %s: %s", e.Op, what, text(e.Err))
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// kindError gives a cause one of the kinds of the package documentation.
type kindError struct {
	kind, cause error
}

// Error implements error. A missing object needs no further explanation.
func (e *kindError) Error() string {
	if errors.Is(e.kind, fs.ErrNotExist) {
		return "object does not exist"
	}
	return e.kind.Error() + ": " + e.cause.Error()
}

// Unwrap returns the kind and the cause.
func (e *kindError) Unwrap() []error { return []error{e.kind, e.cause} }

// text is the text of err without the query of a request URL, which may hold a signature.
func text(err error) string {
	s := err.Error()
	if ue := (*url.Error)(nil); errors.As(err, &ue) {
		if base, _, found := strings.Cut(ue.URL, "?"); found {
			s = strings.ReplaceAll(s, ue.URL, base)
		}
	}
	return s
}
