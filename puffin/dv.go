package puffin

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// DeletionVectorRange is where a manifest entry says a deletion vector is (Iceberg spec, "Manifests", data_file fields
// content_offset, content_size_in_bytes, record_count, referenced_data_file). Location and ReferencedDataFile are used
// in errors only.
type DeletionVectorRange struct {
	// Offset and Length are the range of the blob in the Puffin file, in bytes.
	Offset, Length int64
	// RecordCount is the cardinality the manifest entry claims; [UnknownRecordCount], or any negative number, when
	// there is no claim. Note that 0 claims an empty vector.
	RecordCount int64
	// Location is the Puffin file.
	Location string
	// ReferencedDataFile is the data file that the vector applies to.
	ReferencedDataFile string
}

// corrupt makes the error for byte at of the blob.
func (r DeletionVectorRange) corrupt(f *fault, at int64) *CorruptionError {
	return &CorruptionError{Kind: f.kind, Location: r.Location, Offset: r.Offset + at, What: f.what,
		Expected: f.expected, Found: f.found, ReferencedDataFile: r.ReferencedDataFile}
}

// DecodeDeletionVector decodes the bytes of a deletion-vector-v1 blob (Puffin spec, "deletion-vector-v1"): length
// (big-endian), magic, vector, CRC-32 (big-endian) of magic and vector. Then it compares the cardinality with
// at.RecordCount. at tells where the blob came from; its Length is not used. The result shares no memory with blob.
//
// Every error is a [*CorruptionError]. The bytes are checked completely before they are believed; memory follows the
// size of blob, whatever the numbers in it claim.
//
// Bytes between the last bitmap and the CRC are accepted, as the reference implementation does, but only when a record
// count proves that no key was lost. [DescribeDeletionVector] tells of them, and of other oddities that change nothing.
func DecodeDeletionVector(blob []byte, at DeletionVectorRange) (*Bitmap, error) {
	v, err := decodeFramed(blob, at)
	if err != nil {
		return nil, err
	}
	return v.bitmap, nil
}

func decodeFramed(blob []byte, at DeletionVectorRange) (vector, error) {
	if err := checkFrame(blob, at); err != nil {
		return vector{}, err
	}
	body := blob[dvLengthSize+MagicSize : len(blob)-dvCRCSize]
	v, f := decodeVector(body)
	if f != nil {
		return v, at.corrupt(f, int64(f.at+dvLengthSize+MagicSize))
	}
	if at.RecordCount >= 0 && v.total.cardinality != at.RecordCount {
		return v, at.corrupt(v.miscount(at.RecordCount), dvLengthSize+MagicSize)
	}
	if at.RecordCount < 0 && v.trailing > 0 {
		found := fmt.Sprintf("%d more bytes, and no record count proves them meaningless", v.trailing)
		f := newFault(KindTrailingBytes, v.end, "end of the vector", "the CRC-32", found)
		return v, at.corrupt(f, int64(f.at+dvLengthSize+MagicSize))
	}
	return v, nil
}

// miscount says what a cardinality other than the record count means: bytes left over are keys not counted. The error
// points at the vector as a whole.
func (v *vector) miscount(records int64) *fault {
	f := newFault(KindCardinality, 0, "cardinality", fmt.Sprintf("record count %d", records),
		fmt.Sprintf("%d positions", v.total.cardinality))
	if v.trailing > 0 {
		f.kind, f.what = KindKeyCount, "key count"
		f.found += fmt.Sprintf(" in %d keys and %d bytes after them", v.keys, v.trailing)
	}
	return f
}

// checkFrame checks length, magic and CRC.
func checkFrame(blob []byte, at DeletionVectorRange) error {
	if len(blob) < minDVSize {
		return at.corrupt(newFault(KindRange, 0, "deletion vector", "at least "+bytesOf(minDVSize), bytesOf(len(blob))), 0)
	}
	want := uint64(len(blob) - dvLengthSize - dvCRCSize)
	if got := binary.BigEndian.Uint32(blob); uint64(got) != want {
		return at.corrupt(newFault(KindLength, 0, "length of the deletion vector", fmt.Sprint(want), got), 0)
	}
	body := blob[dvLengthSize : len(blob)-dvCRCSize]
	if got := string(body[:MagicSize]); got != DeletionVectorMagic {
		return at.corrupt(newFault(KindMagic, 0, "deletion vector magic", fmt.Sprintf("% x", DeletionVectorMagic),
			fmt.Sprintf("% x", got)), dvLengthSize)
	}
	crc, stored := crc32.ChecksumIEEE(body), binary.BigEndian.Uint32(blob[len(blob)-dvCRCSize:])
	if crc == stored {
		return nil
	}
	f := newFault(KindCRC, 0, "CRC-32 of the deletion vector", fmt.Sprintf("0x%08x", crc), fmt.Sprintf("0x%08x", stored))
	if ^crc == stored {
		f.kind = KindCRCComplement
		f.found += ", its one's complement"
	}
	return at.corrupt(f, int64(len(blob)-dvCRCSize))
}

// EncodeDeletionVector gives the deletion-vector-v1 blob of b (Puffin spec, "deletion-vector-v1"), run-optimised and
// without empty keys: the same set gives the same bytes however it was built. It stores b anew with
// [Bitmap.RunOptimize], so nothing else may use b meanwhile. A set whose blob passes [MaxBlobSize] is an error.
func EncodeDeletionVector(b *Bitmap) ([]byte, error) {
	return AppendDeletionVector(nil, b)
}

// AppendDeletionVector appends the blob that [EncodeDeletionVector] gives to dst and returns the longer slice.
func AppendDeletionVector(dst []byte, b *Bitmap) ([]byte, error) {
	b.RunOptimize()
	size := vectorSize(b) + dvFrameSize
	if size > MaxBlobSize {
		return nil, fmt.Errorf("deletion vector of %d bytes: more than the %d that readers take", size, MaxBlobSize)
	}
	start := len(dst)
	dst = grow(dst, int(size))
	dst = binary.BigEndian.AppendUint32(dst, uint32(size-dvLengthSize-dvCRCSize))
	dst = append(dst, DeletionVectorMagic...)
	dst, err := appendVector(dst, b)
	if err != nil {
		return nil, err
	}
	crc := crc32.ChecksumIEEE(dst[start+dvLengthSize:])
	return binary.BigEndian.AppendUint32(dst, crc), nil
}

// grow makes room for n more bytes, exactly when there is nothing yet.
func grow(dst []byte, n int) []byte {
	if cap(dst)-len(dst) >= n {
		return dst
	}
	if len(dst) == 0 {
		return make([]byte, 0, n)
	}
	return append(dst, make([]byte, n)...)[:len(dst)]
}
