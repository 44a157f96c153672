package puffin

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// WriterOptions are the file-level properties of a new Puffin file.
type WriterOptions struct {
	// CreatedBy is the application and its version, for the property created-by; empty means [DefaultCreatedBy].
	CreatedBy string
	// Properties are further file-level properties. One named created-by wins over CreatedBy.
	Properties map[string]string
	// OmitCreatedBy leaves created-by out unless Properties has it.
	OmitCreatedBy bool
}

// Blob is a blob for [Writer.AddBlob] (Puffin spec, "BlobMetadata"), not yet compressed.
type Blob struct {
	// Type is the blob type, such as [BlobTypeThetaSketch].
	Type string
	// Fields are field ids; nil is written as an empty list, because the key is required.
	Fields []int32
	// SnapshotID and SequenceNumber are those the blob was computed from.
	SnapshotID, SequenceNumber int64
	// Codec is [CodecNone] or [CodecLZ4].
	Codec string
	// Properties are arbitrary strings.
	Properties map[string]string
	// Data is the content.
	Data []byte
}

// Writer writes one Puffin file to an [io.Writer], blob after blob. The same calls give the same bytes. It must not be
// used by several goroutines at once. After an error of the underlying writer every call returns that error.
type Writer struct {
	w          io.Writer
	size       int64
	blobs      []BlobMetadata
	properties map[string]string
	finished   bool
	err        error
}

// NewWriter starts a file. Nothing is written before the first blob or [Writer.Finish]. Closing w, and making it durable,
// is the caller's job.
func NewWriter(w io.Writer, opts WriterOptions) *Writer {
	properties := maps.Clone(opts.Properties)
	if properties == nil {
		properties = make(map[string]string)
	}
	if _, ok := properties[PropertyCreatedBy]; !ok && !opts.OmitCreatedBy {
		properties[PropertyCreatedBy] = cmp.Or(opts.CreatedBy, DefaultCreatedBy)
	}
	return &Writer{w: w, properties: properties}
}

// usable gives the reason why nothing can be written any more.
func (w *Writer) usable() error {
	if w.finished {
		return ErrFinished
	}
	return w.err
}

// SetProperty sets a file-level property, in place of one of the same name.
func (w *Writer) SetProperty(key, value string) error {
	if err := w.usable(); err != nil {
		return err
	}
	if err := validText(key, value); err != nil {
		return err
	}
	w.properties[key] = value
	return nil
}

// validText refuses what JSON cannot hold: a path that is not UTF-8 would come back as another path.
func validText(texts ...string) error {
	for _, t := range texts {
		if !utf8.ValidString(t) {
			return fmt.Errorf("%q is not UTF-8 and cannot be stored in a puffin footer", t)
		}
	}
	return nil
}

// AddBlob writes a blob and returns its footer entry. A codec other than [CodecNone] and [CodecLZ4] is an
// [*UnsupportedError]. Deletion vectors have their own methods, because the format leaves no choice about theirs.
func (w *Writer) AddBlob(b Blob) (BlobMetadata, error) {
	data := b.Data
	switch b.Codec {
	case CodecNone:
	case CodecLZ4:
		compressed, err := compressLZ4(data)
		if err != nil {
			return BlobMetadata{}, fmt.Errorf("lz4: %w", err)
		}
		data = compressed
	default:
		return BlobMetadata{}, &UnsupportedError{Offset: -1, What: "compression codec for writing", Found: fmt.Sprintf("%q", b.Codec)}
	}
	return w.add(BlobMetadata{Type: b.Type, Fields: b.Fields, SnapshotID: b.SnapshotID, SequenceNumber: b.SequenceNumber,
		CompressionCodec: b.Codec, Properties: b.Properties}, data)
}

// AddDeletionVector encodes b as [EncodeDeletionVector] does and writes it with the metadata the Puffin spec demands of
// deletion-vector-v1: no codec, snapshot id and sequence number -1, the properties referenced-data-file and
// cardinality. Fields is the empty list, which every known reader takes. The result has the offset and length for the
// manifest entry, whose record count is [BlobMetadata.Cardinality].
func (w *Writer) AddDeletionVector(referencedDataFile string, b *Bitmap) (BlobMetadata, error) {
	if err := w.usable(); err != nil {
		return BlobMetadata{}, err
	}
	blob, err := EncodeDeletionVector(b)
	if err != nil {
		return BlobMetadata{}, fmt.Errorf("%s: %w", referencedDataFile, err)
	}
	return w.addVector(referencedDataFile, blob, b.Cardinality())
}

// AddEncodedDeletionVector is [Writer.AddDeletionVector] for a blob that [EncodeDeletionVector] made elsewhere, so that
// vectors can be encoded concurrently. Length, magic and CRC-32 of the blob are checked, its positions are not:
// cardinality is believed.
func (w *Writer) AddEncodedDeletionVector(referencedDataFile string, blob []byte, cardinality int64) (BlobMetadata, error) {
	if err := checkFrame(blob, DeletionVectorRange{Offset: w.nextOffset(), ReferencedDataFile: referencedDataFile}); err != nil {
		return BlobMetadata{}, err
	}
	return w.addVector(referencedDataFile, blob, cardinality)
}

func (w *Writer) addVector(referencedDataFile string, blob []byte, cardinality int64) (BlobMetadata, error) {
	if referencedDataFile == "" || cardinality < 0 {
		return BlobMetadata{}, fmt.Errorf("deletion vector of data file %q with cardinality %d: both must be given",
			referencedDataFile, cardinality)
	}
	return w.add(BlobMetadata{Type: BlobTypeDeletionVector, SnapshotID: NoSnapshotID, SequenceNumber: NoSequenceNumber,
		Properties: map[string]string{
			PropertyReferencedDataFile: referencedDataFile,
			PropertyCardinality:        strconv.FormatInt(cardinality, 10),
		}}, blob)
}

// add writes data as the next blob.
func (w *Writer) add(m BlobMetadata, data []byte) (BlobMetadata, error) {
	if err := w.usable(); err != nil {
		return BlobMetadata{}, err
	}
	if m.Type == "" {
		return BlobMetadata{}, fmt.Errorf("blob without a type")
	}
	for key, value := range m.Properties {
		if err := validText(key, value); err != nil {
			return BlobMetadata{}, err
		}
	}
	if err := validText(m.Type); err != nil {
		return BlobMetadata{}, err
	}
	if err := w.head(); err != nil {
		return BlobMetadata{}, err
	}
	m.Offset, m.Length = w.size, int64(len(data))
	m.Fields = append([]int32{}, m.Fields...)
	m.Properties = maps.Clone(m.Properties)
	if err := w.write(data); err != nil {
		return BlobMetadata{}, err
	}
	w.blobs = append(w.blobs, m)
	return m.clone(), nil
}

// clone keeps what a caller does to an entry from reaching the footer.
func (b BlobMetadata) clone() BlobMetadata {
	b.Fields = slices.Clone(b.Fields)
	b.Properties = maps.Clone(b.Properties)
	return b
}

// head writes the first magic once.
func (w *Writer) head() error {
	if w.size > 0 {
		return nil
	}
	return w.write([]byte(Magic))
}

// write counts bytes and keeps the first error.
func (w *Writer) write(data []byte) error {
	n, err := w.w.Write(data)
	w.size += int64(n)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	w.err = err
	return err
}

// nextOffset is where the next blob goes.
func (w *Writer) nextOffset() int64 { return max(w.size, MagicSize) }

// Len is the number of blobs written.
func (w *Writer) Len() int { return len(w.blobs) }

// Blob is the footer entry of the i-th blob written, from 0; false when there is none.
func (w *Writer) Blob(i int) (BlobMetadata, bool) {
	if i < 0 || i >= len(w.blobs) {
		return BlobMetadata{}, false
	}
	return w.blobs[i].clone(), true
}

// Size is the number of bytes written so far.
func (w *Writer) Size() int64 { return w.size }

// FinishOptions choose how the footer is stored.
type FinishOptions struct {
	// CompressFooter stores the payload as an LZ4 frame. Readers of the reference implementation, PyIceberg and
	// DuckDB cannot open such a file.
	CompressFooter bool
}

// Finish writes the footer (Puffin spec, "Footer") and returns the size of the whole file in bytes. The writer cannot be
// used afterwards.
func (w *Writer) Finish(opts FinishOptions) (int64, error) {
	if err := w.usable(); err != nil {
		return w.size, err
	}
	payload, err := w.FooterJSON()
	if err != nil {
		return w.size, err
	}
	var flags uint32
	if opts.CompressFooter {
		flags = flagFooterCompressed
		if payload, err = compressLZ4(payload); err != nil {
			return w.size, fmt.Errorf("lz4: %w", err)
		}
	}
	if len(payload) > math.MaxInt32 {
		return w.size, fmt.Errorf("footer of %d bytes: the format cannot hold it", len(payload))
	}
	if err := w.head(); err != nil {
		return w.size, err
	}
	footer := make([]byte, 0, MagicSize+len(payload)+TailSize)
	footer = append(footer, Magic...)
	footer = append(footer, payload...)
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(payload)))
	footer = binary.LittleEndian.AppendUint32(footer, flags)
	footer = append(footer, Magic...)
	if err := w.write(footer); err != nil {
		return w.size, err
	}
	w.finished = true
	return w.size, nil
}
