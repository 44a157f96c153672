package puffin

import "math"

// Magic opens the file and encloses the footer (Puffin spec, "File structure"): 50 46 41 31.
const Magic = "PFA1"

// TailSize is the number of bytes after the footer payload: payload size (4), flags (4), magic (4).
const TailSize = 12

// MagicSize is the length of [Magic] and of [DeletionVectorMagic], in bytes.
const MagicSize = 4

// DeletionVectorMagic follows the length field of a deletion-vector-v1 blob (Puffin spec, "deletion-vector-v1").
const DeletionVectorMagic = "\xd1\xd3\x39\x64"

// Blob types named by the Puffin spec, "Blob types".
const (
	// BlobTypeDeletionVector is a serialised deletion vector of one data file.
	BlobTypeDeletionVector = "deletion-vector-v1"
	// BlobTypeThetaSketch is a serialised Apache DataSketches theta sketch, whose estimate is the property [PropertyNDV].
	BlobTypeThetaSketch = "apache-datasketches-theta-v1"
)

// Compression codecs of blobs (Puffin spec, "Compression codecs"). An omitted codec is the empty string here.
const (
	// CodecNone is a blob stored as it is.
	CodecNone = ""
	// CodecLZ4 is a single LZ4 frame with its content size present.
	CodecLZ4 = "lz4"
	// CodecZstd is a single Zstandard frame with its content size present.
	CodecZstd = "zstd"
)

// Property names of blobs and files.
const (
	// PropertyReferencedDataFile holds the location of the data file that a deletion vector applies to,
	// byte for byte as table metadata has it.
	PropertyReferencedDataFile = "referenced-data-file"
	// PropertyCardinality holds the number of deleted positions of a deletion vector in decimal.
	PropertyCardinality = "cardinality"
	// PropertyNDV holds the estimated number of distinct values of a theta sketch in decimal.
	PropertyNDV = "ndv"
	// PropertyCreatedBy names the application and version that wrote the file (a file-level property).
	PropertyCreatedBy = "created-by"
)

// DefaultCreatedBy is the created-by property of a [Writer] whose options name no other.
const DefaultCreatedBy = "dvcompactor (devel)"

// MaxPosition is the largest position a deletion vector of the reference implementation can hold:
// key 0x7ffffffe, low half 0x80000000.
const MaxPosition int64 = 9223372030412324864

// MaxKey is the largest upper half (position >> 32) of a position.
const MaxKey uint32 = 0x7ffffffe

// UnknownRecordCount says that nothing is known about the cardinality of a deletion vector,
// so that it is not checked.
const UnknownRecordCount int64 = -1

// NoSnapshotID and NoSequenceNumber are the values a deletion-vector-v1 blob must carry: the snapshot and
// sequence number are inherited at commit and are unknown when the file is written.
const (
	NoSnapshotID     int64 = -1
	NoSequenceNumber int64 = -1
)

// Limits on what a byte of a file can make this package do.
const (
	// MaxFooterSize is the largest decompressed footer payload, in bytes. An uncompressed footer is bounded
	// by the file it is in and by the signed 32-bit payload size.
	MaxFooterSize = 64 << 20
	// MaxBlobSize is the largest deletion vector blob and the default limit of a decompressed blob, in bytes;
	// readers of the reference implementation refuse blobs of 2 GiB and more.
	MaxBlobSize = math.MaxInt32
	// DefaultReadAhead is how much of the end of a file [Open] asks for at once, in bytes.
	DefaultReadAhead = 32 << 10
	// DefaultMaxRequest is the largest single request [ReadDeletionVectors] makes for several blobs, in bytes.
	DefaultMaxRequest = 8 << 20
	// DefaultMaxGap is how many bytes between two blobs [ReadDeletionVectors] reads and throws away
	// rather than make a second request.
	DefaultMaxGap = 16 << 10
)

// Layout of a deletion-vector-v1 blob, in bytes.
const (
	dvLengthSize    = 4
	dvCRCSize       = 4
	dvFrameSize     = dvLengthSize + MagicSize + dvCRCSize
	vectorCountSize = 8
	minDVSize       = dvFrameSize + vectorCountSize
)

// Flags of the footer (Puffin spec, "Footer"): bit 0 of byte 0; the others are reserved.
const flagFooterCompressed = 1

// minFileSize is a head magic and a footer whose payload is empty, in bytes.
const minFileSize = MagicSize + MagicSize + TailSize
