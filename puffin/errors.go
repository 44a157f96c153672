package puffin

import (
	"errors"
	"fmt"
	"strings"
)

// ErrCorrupt marks every error that says bytes are not what the Puffin or Iceberg spec requires.
// The error itself is a [*CorruptionError].
var ErrCorrupt = errors.New("corrupt")

// ErrUnsupported marks every error that says bytes may be right but mean something this package does not know.
// The error itself is an [*UnsupportedError].
var ErrUnsupported = errors.New("unsupported")

// ErrFinished is returned by a [Writer] that is used after Finish.
var ErrFinished = errors.New("puffin file is finished")

// CorruptionKind says which rule of the format a [CorruptionError] found broken.
type CorruptionKind string

// Kinds of corruption. The first group concerns the container, the second a deletion vector.
const (
	// KindContainer is a magic, size or cut of the file around its blobs.
	KindContainer CorruptionKind = "container"
	// KindFooter is a payload that is not the JSON or the LZ4 frame it has to be.
	KindFooter CorruptionKind = "footer"
	// KindBlobMetadata is an entry of the footer that lacks something or holds a wrong type.
	KindBlobMetadata CorruptionKind = "blob-metadata"
	// KindRange is an offset and length that lie outside the file, overlap another blob or cannot hold one.
	KindRange CorruptionKind = "range"
	// KindCompression is a blob whose compressed frame does not decode or decodes to too much.
	KindCompression CorruptionKind = "compression"

	// KindLength is a length field that differs from the size of the blob less 8.
	KindLength CorruptionKind = "length"
	// KindMagic is a deletion vector without D1 D3 39 64.
	KindMagic CorruptionKind = "magic"
	// KindCRC is a checksum that does not match.
	KindCRC CorruptionKind = "crc"
	// KindCRCComplement is a checksum that is the one's complement of the right one.
	KindCRCComplement CorruptionKind = "crc-complement"
	// KindKeyOrder is a key of the 64-bit layout that does not ascend.
	KindKeyOrder CorruptionKind = "key-order"
	// KindKeyCount is a number of keys that the bytes cannot hold or do not use up.
	KindKeyCount CorruptionKind = "key-count"
	// KindPosition is a key above [MaxKey] or a position above [MaxPosition].
	KindPosition CorruptionKind = "position"
	// KindRoaring is a 32-bit Roaring bitmap that breaks its own format.
	KindRoaring CorruptionKind = "roaring"
	// KindCardinality is a number of positions that differs from the record count of the manifest entry.
	KindCardinality CorruptionKind = "cardinality"
	// KindTrailingBytes is data after the last bitmap where no record count proves that nothing is missing.
	KindTrailingBytes CorruptionKind = "trailing-bytes"
)

// CorruptionError names a wrong byte: where it is, what it should be and what it is.
// It matches [ErrCorrupt] with [errors.Is].
type CorruptionError struct {
	// Kind is the rule that is broken.
	Kind CorruptionKind
	// Location is the file, as the caller named it; empty when it did not.
	Location string
	// Offset is where in the file the wrong bytes begin, -1 when no byte can be named.
	// For bytes inside a compressed part it is where that part begins.
	Offset int64
	// What is the thing that is wrong, as in "CRC-32".
	What string
	// Expected and Found are the two values as text; either may be empty.
	Expected, Found string
	// ReferencedDataFile is the data file whose deletion vector is concerned, empty when unknown.
	ReferencedDataFile string
	// Err is the error of the library that found it, or nil.
	Err error
}

// Error gives one line with everything the error holds.
func (e *CorruptionError) Error() string {
	var s strings.Builder
	if e.Location != "" {
		fmt.Fprintf(&s, "%s: ", e.Location)
	}
	fmt.Fprintf(&s, "corrupt %s", e.What)
	if e.Offset >= 0 {
		fmt.Fprintf(&s, " at offset %d", e.Offset)
	}
	switch {
	case e.Expected != "" && e.Found != "":
		fmt.Fprintf(&s, ": expected %s, found %s", e.Expected, e.Found)
	case e.Expected != "":
		fmt.Fprintf(&s, ": expected %s", e.Expected)
	case e.Found != "":
		fmt.Fprintf(&s, ": found %s", e.Found)
	}
	if e.ReferencedDataFile != "" {
		fmt.Fprintf(&s, " (deletion vector of %s)", e.ReferencedDataFile)
	}
	if e.Err != nil {
		fmt.Fprintf(&s, ": %v", e.Err)
	}
	return s.String()
}

// Is reports whether target is [ErrCorrupt].
func (e *CorruptionError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap gives the error of the library that found the corruption, or nil.
func (e *CorruptionError) Unwrap() error { return e.Err }

// UnsupportedError names something this package cannot interpret: a footer flag, a codec.
// It matches [ErrUnsupported] with [errors.Is].
type UnsupportedError struct {
	// Location is the file, as the caller named it; empty when it did not.
	Location string
	// Offset is where in the file the thing is, -1 when it is in no file.
	Offset int64
	// What is the thing, as in "footer flags"; Found is its value.
	What, Found string
}

// Error gives one line with everything the error holds.
func (e *UnsupportedError) Error() string {
	var s strings.Builder
	if e.Location != "" {
		fmt.Fprintf(&s, "%s: ", e.Location)
	}
	fmt.Fprintf(&s, "unsupported %s %s", e.What, e.Found)
	if e.Offset >= 0 {
		fmt.Fprintf(&s, " at offset %d", e.Offset)
	}
	return s.String()
}

// Is reports whether target is [ErrUnsupported].
func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }
