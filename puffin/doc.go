// Package puffin reads and writes Puffin files and the deletion vectors in them, as the Iceberg project's Puffin spec
// and table spec define them. It works on anything that reads byte ranges ([RangeReader]) and writes to any
// [io.Writer].
//
// This comment is the format, as far as the package knows it. MUST and SHOULD are the specs'.
//
// # The file
//
//	offset 0       +-----------------------------+
//	               | 50 46 41 31   "PFA1"        |  head magic
//	       4       +-----------------------------+
//	               | blob 0                      |  blobs, in any order, gaps allowed
//	               | blob 1 ...                  |
//	       F       +-----------------------------+
//	               | 50 46 41 31   "PFA1"        |  footer magic
//	       F+4     +-----------------------------+
//	               | payload, n bytes            |  FileMetadata: UTF-8 JSON, or one LZ4 frame of it
//	       size-12 +-----------------------------+
//	               | n             int32 LE      |  payload size, as stored, signed
//	       size-8  +-----------------------------+
//	               | flags         4 bytes       |  bit 0 of byte 0: payload is compressed
//	       size-4  +-----------------------------+
//	               | 50 46 41 31   "PFA1"        |  tail magic
//	       size    +-----------------------------+
//
// The other 31 flag bits are reserved and MUST be 0 when written. What a reader does with bits it does not know is
// left open; this package, as the reference implementation, refuses the footer ([ErrUnsupported]) and still reads
// deletion vectors by their ranges. A compressed payload MUST be a single LZ4 frame with the content size present.
// Frames without it, with a wrong one, frames one after another, frames to skip and bytes after the frame are
// [ErrCorrupt].
//
// # FileMetadata
//
//	{"blobs":      [BlobMetadata, ...]              required
//	 "properties": {"created-by": "name version"}}  optional, strings; created-by SHOULD be there
//
// and each BlobMetadata:
//
//	"type":              string           required   deletion-vector-v1, apache-datasketches-theta-v1, others
//	"fields":            list of int32    required   field ids; no meaning for deletion vectors
//	"snapshot-id":       int64            required   -1 for deletion vectors
//	"sequence-number":   int64            required   -1 for deletion vectors
//	"offset":            int64            required   from the start of the file
//	"length":            int64            required   as stored, after compression
//	"compression-codec": string           optional   lz4 or zstd: one frame with content size; omitted: none
//	"properties":        map of strings   optional
//
// [ParseFooterPayload] tells how strictly this is read. Ranges MUST lie between head magic and footer; that they do
// not overlap is required here, because two deletion vectors of one range cannot both be right.
//
// # The deletion vector
//
// A blob of type deletion-vector-v1 is a set of row positions of one data file, 0 to [MaxPosition]:
//
//	offset 0       +-----------------------------+
//	               | length        uint32 BE     |  size of magic and vector: blob size - 8
//	       4       +-----------------------------+
//	               | d1 d3 39 64                 |  magic
//	       8       +-----------------------------+  vector: 64-bit portable Roaring layout
//	               | keys          uint64 LE     |  number of keys
//	       16      +-----------------------------+
//	               | key           uint32 LE     |  position >> 32: ascending, top bit 0
//	               | 32-bit portable Roaring     |  low halves of the positions of this key
//	               | ... next key                |
//	       size-4  +-----------------------------+
//	               | CRC-32        uint32 BE     |  ISO-HDLC polynomial (zlib), over magic and vector
//	       size    +-----------------------------+
//
// So length and checksum are big-endian and everything between is little-endian, as in Delta Lake's files. The
// smallest blob has 20 bytes: no key. The metadata MUST have snapshot-id and sequence-number -1, no
// compression-codec, and the properties referenced-data-file (the location of the data file, byte for byte as table
// metadata has it) and cardinality.
//
// A manifest entry repeats everything a reader needs: content_offset and content_size_in_bytes MUST equal the
// footer's offset and length, referenced_data_file the property, record_count the cardinality. Readers go by the
// manifest and never open the footer; so does [ReadDeletionVector], and a damaged footer does not lose deletes.
//
// # The 32-bit Roaring bitmap
//
//	cookie       uint32 LE   12346: no run containers | 12347 in the low half: containers-1 in the high half
//	containers   uint32 LE   only after 12346, at most 65536
//	run flags    bits        only after 12347: (containers+7)/8 bytes, bit i%8 of byte i/8
//	headers      4 bytes each: key uint16, cardinality-1 uint16; keys ascending
//	offsets      uint32 LE each, from the cookie; absent after 12347 with fewer than 4 containers
//	containers   run:     count uint16, then start uint16 and length-1 uint16 each
//	             array:   cardinality <= 4096: uint16 each, ascending
//	             bitset:  cardinality  > 4096: 8192 bytes
//
// Libraries trust these bytes: those for Java and Go accept values and runs out of order, runs that leave their
// container and cardinalities that lie, and then give other positions. This package checks every rule first. It
// accepts what cannot change the positions: a wrong offset header, a run container's wrong header cardinality, runs
// that touch, set padding bits, empty bitmaps; [DescribeDeletionVector] reports them.
//
// # Writers and readers in the wild
//
//   - The reference implementation (Java) writes fields [2147483645] (_pos), fills gaps between keys with empty
//     bitmaps, and neither writes nor reads a compressed footer. It does not check the head magic or any range,
//     accepts bytes after the last bitmap and text after the JSON, and needs memory for every key up to the largest:
//     one position at [MaxPosition] is fatal to it. Up to 1.8 its created-by begins with "Iceberg Apache Iceberg".
//   - An early Velox (and Presto on it) wrote objects into fields, left out snapshot-id and sequence-number, and
//     stored the one's complement of the checksum ([KindCRCComplement]).
//   - DuckDB 1.5.3 wrote the bare blob at offset 0, with no magic and no footer. Delta Lake's own files hold a
//     version byte and then blobs. Both are readable by range.
//   - DuckLake and iceberg-go write fields []. All known readers take it, and this package writes it.
//   - iceberg-go matches JSON keys in any case, takes the last of two equal keys, and accepts keys above [MaxKey].
//   - PyIceberg and DuckDB cannot open a compressed footer.
//
// # What is written
//
// [Writer] keeps to what all of them read: blobs never compressed unless asked, an uncompressed footer unless asked,
// fields [], -1 and -1, the two properties, no key without positions, containers run-optimised. Equal input gives
// equal bytes.
//
// # Errors and limits
//
// Wrong bytes are a [*CorruptionError] ([ErrCorrupt]), unknown flags and codecs an [*UnsupportedError]
// ([ErrUnsupported]), and a failing store is neither. A range that ends past the object is corruption when the reader
// can tell the object's size, or else the reader's own error. No number in a file is believed before the bytes that
// it counts are there: memory is bounded by the size of the input, by [MaxFooterSize] for a compressed footer and by
// BlobOptions.MaxSize for a compressed blob, plus at most 16 MiB for the decompressor.
package puffin
