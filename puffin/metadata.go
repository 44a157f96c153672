package puffin

import (
	"fmt"
	"strconv"
	"strings"
)

// BlobMetadata is one entry of the footer's blobs list (Puffin spec, "BlobMetadata").
type BlobMetadata struct {
	// Type is the blob type, such as [BlobTypeDeletionVector]. Unknown types are listed as they are.
	Type string
	// Fields are field ids of the table schema. For deletion vectors they mean nothing: writers put _pos, _file or
	// nothing there.
	Fields []int32
	// SnapshotID and SequenceNumber are those the blob was computed from; -1 for deletion vectors.
	SnapshotID, SequenceNumber int64
	// Offset and Length are the range of the blob in the file, in bytes, as stored.
	Offset, Length int64
	// CompressionCodec is [CodecNone], [CodecLZ4], [CodecZstd] or one this package does not know.
	CompressionCodec string
	// Properties are arbitrary; nil when there are none.
	Properties map[string]string
}

// Property gives the value of a property, empty when there is none.
func (b BlobMetadata) Property(key string) string { return b.Properties[key] }

// HasProperty reports whether a property is there, empty or not.
func (b BlobMetadata) HasProperty(key string) bool {
	_, ok := b.Properties[key]
	return ok
}

// IsDeletionVector reports whether the blob's type is deletion-vector-v1, by its exact spelling.
func (b BlobMetadata) IsDeletionVector() bool { return b.Type == BlobTypeDeletionVector }

// ReferencedDataFile is the location of the data file that a deletion vector applies to, empty when it is not said.
func (b BlobMetadata) ReferencedDataFile() string { return b.Property(PropertyReferencedDataFile) }

// Cardinality is the number of positions a deletion vector claims in its properties; -1 when the property is absent
// or not plain decimal digits that fit 63 bits.
func (b BlobMetadata) Cardinality() int64 { return b.number(PropertyCardinality) }

// NDV is the number of distinct values a theta sketch estimates; -1 when the property is absent or not a number as
// in [BlobMetadata.Cardinality].
func (b BlobMetadata) NDV() int64 { return b.number(PropertyNDV) }

// number parses decimal digits only: no sign, space or other script, which writers do not agree on.
func (b BlobMetadata) number(key string) int64 {
	text, ok := b.Properties[key]
	if !ok || strings.Trim(text, "0123456789") != "" {
		return -1
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// String describes the blob in one line.
func (b BlobMetadata) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s at %d+%d", b.Type, b.Offset, b.Length)
	if b.CompressionCodec != CodecNone {
		fmt.Fprintf(&s, " (%s)", b.CompressionCodec)
	}
	if ref := b.ReferencedDataFile(); ref != "" {
		fmt.Fprintf(&s, " of %s", ref)
	}
	if n := b.Cardinality(); n >= 0 {
		fmt.Fprintf(&s, ", %d positions", n)
	}
	if n := b.NDV(); n >= 0 {
		fmt.Fprintf(&s, ", %d distinct values", n)
	}
	return s.String()
}

// DeletionVectorRange is the range of the blob for [ReadDeletionVector], as a manifest entry would have it. The record
// count is [BlobMetadata.Cardinality].
func (b BlobMetadata) DeletionVectorRange(location string) DeletionVectorRange {
	return DeletionVectorRange{Offset: b.Offset, Length: b.Length, RecordCount: b.Cardinality(), Location: location,
		ReferencedDataFile: b.ReferencedDataFile()}
}

// end is one past the last byte; it is only called on ranges that were checked.
func (b BlobMetadata) end() int64 { return b.Offset + b.Length }
