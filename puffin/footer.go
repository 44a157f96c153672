package puffin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// File is the footer of a Puffin file (Puffin spec, "FileMetadata"), without its blobs' bytes.
type File struct {
	// Location is the file as the caller named it.
	Location string
	// Blobs are the entries of the footer in its order, which need not be that of the file.
	Blobs []BlobMetadata
	// Properties are those of the file; nil when there are none.
	Properties map[string]string
	// Size is the length of the file in bytes, 0 when only a payload was parsed.
	Size int64
	// FooterOffset is where the footer's first magic is: no blob may pass it. 0 when only a payload was parsed.
	FooterOffset int64
	// FooterCompressed tells that the payload is an LZ4 frame, which the reference implementation, PyIceberg and
	// DuckDB cannot read.
	FooterCompressed bool
}

// Property gives the value of a file-level property, empty when there is none.
func (f *File) Property(key string) string { return f.Properties[key] }

// CreatedBy is the application that wrote the file, as it says; empty when it does not.
func (f *File) CreatedBy() string { return f.Property(PropertyCreatedBy) }

// PayloadOptions say what is known around a payload that [ParseFooterPayload] parses.
type PayloadOptions struct {
	// Location names the file in errors.
	Location string
	// Offset is where in the file the payload begins, for errors.
	Offset int64
	// BlobsEnd is where the blobs end and the footer begins: no blob's range may pass it. 0 means not known.
	BlobsEnd int64
}

// ParseFooterPayload parses a FileMetadata (Puffin spec, "FileMetadata") as JSON or, when compressed, as one LZ4 frame
// of it with the content size present.
//
// It is strict: keys match by case, a key that comes twice, a list or number of the wrong kind, a missing required key
// (blobs; type, fields, snapshot-id, sequence-number, offset, length), invalid UTF-8, half a surrogate pair, text after
// the value, nesting deeper than 64 and a decompressed size above [MaxFooterSize] are corruption, as are ranges that
// begin before byte 4, pass BlobsEnd or overlap. Unknown keys are skipped. Null stands for an absent optional key.
// Unknown blob types and codecs are listed, and refused only when the blob is read.
func ParseFooterPayload(payload []byte, compressed bool, opts PayloadOptions) (*File, error) {
	f := &File{Location: opts.Location, FooterCompressed: compressed}
	fail := func(e *jsonError) error {
		at := opts.Offset
		if !compressed {
			at += e.at
		}
		return &CorruptionError{Kind: e.kind, Location: opts.Location, Offset: at, What: e.what,
			Expected: e.expected, Found: e.found, Err: e.err}
	}
	if compressed {
		plain, err := decompressLZ4(payload, MaxFooterSize)
		if err != nil {
			return nil, fail(&jsonError{kind: KindFooter, what: "LZ4 frame of the footer", err: err})
		}
		payload = plain
	}
	if err := parseFileMetadata(payload, f); err != nil {
		return nil, fail(err)
	}
	if err := checkRanges(f.Blobs, opts.BlobsEnd); err != nil {
		err.Location = opts.Location
		return nil, err
	}
	return f, nil
}

func parseFileMetadata(payload []byte, f *File) *jsonError {
	j, err := newJSONReader(payload)
	if err != nil {
		return err
	}
	if err := j.open("footer", json.Delim('{'), "an object"); err != nil {
		return err
	}
	err = j.object("footer", func(key string) (err *jsonError) {
		switch key {
		case "blobs":
			f.Blobs, err = j.blobs()
		case "properties":
			f.Properties, err = j.properties("file properties")
		default:
			err = j.skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	if f.Blobs == nil {
		return &jsonError{kind: KindFooter, at: j.dec.InputOffset(), what: "footer", expected: "the key blobs", found: "none"}
	}
	return j.end()
}

// blobs reads the list; the result is never nil without an error.
func (j *jsonReader) blobs() ([]BlobMetadata, *jsonError) {
	if err := j.open("blobs", json.Delim('['), "a list"); err != nil {
		return nil, err
	}
	blobs := []BlobMetadata{}
	for j.dec.More() {
		b, err := j.blob()
		if err != nil {
			err.kind = KindBlobMetadata
			err.what = fmt.Sprintf("%s of blob %d", err.what, len(blobs))
			return nil, err
		}
		blobs = append(blobs, b)
	}
	_, err := j.token()
	return blobs, err
}

// requiredBlobKeys are the keys every entry must have.
func requiredBlobKeys() []string {
	return []string{"type", "fields", "snapshot-id", "sequence-number", "offset", "length"}
}

func (j *jsonReader) blob() (BlobMetadata, *jsonError) {
	var b BlobMetadata
	if err := j.open("entry", json.Delim('{'), "an object"); err != nil {
		return b, err
	}
	missing := requiredBlobKeys()
	err := j.object("keys", func(key string) *jsonError {
		missing = slices.DeleteFunc(missing, func(k string) bool { return k == key })
		return j.blobMember(&b, key)
	})
	if err == nil && len(missing) > 0 {
		err = &jsonError{at: j.dec.InputOffset(), what: "keys", expected: strings.Join(missing, ", ") + " too", found: "none"}
	}
	return b, err
}

func (j *jsonReader) blobMember(b *BlobMetadata, key string) (err *jsonError) {
	switch key {
	case "type":
		b.Type, err = j.string(key)
	case "fields":
		b.Fields, err = j.fields()
	case "snapshot-id":
		b.SnapshotID, err = j.integer(key, 64)
	case "sequence-number":
		b.SequenceNumber, err = j.integer(key, 64)
	case "offset":
		b.Offset, err = j.integer(key, 64)
	case "length":
		b.Length, err = j.integer(key, 64)
	case "compression-codec":
		b.CompressionCodec, err = j.codec()
	case "properties":
		b.Properties, err = j.properties(key)
	default:
		err = j.skip()
	}
	return err
}

// codec reads a codec or null, which some writers put where the key should be omitted.
func (j *jsonReader) codec() (string, *jsonError) {
	t, err := j.token()
	if err != nil || t == nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", j.fail("compression-codec", "a string", t)
	}
	return s, nil
}

func (j *jsonReader) fields() ([]int32, *jsonError) {
	if err := j.open("fields", json.Delim('['), "a list"); err != nil {
		return nil, err
	}
	fields := []int32{}
	for j.dec.More() {
		n, err := j.integer("fields", 32)
		if err != nil {
			return nil, err
		}
		fields = append(fields, int32(n))
	}
	_, err := j.token()
	return fields, err
}

// properties reads a map of strings; null and {} are nil.
func (j *jsonReader) properties(what string) (map[string]string, *jsonError) {
	t, err := j.token()
	if err != nil || t == nil {
		return nil, err
	}
	if t != json.Delim('{') {
		return nil, j.fail(what, "an object", t)
	}
	var props map[string]string
	err = j.object(what, func(key string) *jsonError {
		value, err := j.string(what)
		if props == nil {
			props = make(map[string]string)
		}
		props[key] = value
		return err
	})
	return props, err
}

// checkRanges refuses ranges outside the blobs' part of the file and ranges that overlap. Blobs of no bytes overlap
// nothing.
func checkRanges(blobs []BlobMetadata, end int64) *CorruptionError {
	if end <= 0 {
		end = 1<<63 - 1
	}
	order := make([]int, len(blobs))
	for i, b := range blobs {
		order[i] = i
		if b.Offset < MagicSize || !inside(b.Offset, b.Length, end) {
			return rangeError(b, i, fmt.Sprintf("a range within %d to %d", MagicSize, end))
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(blobs[a].Offset, blobs[b].Offset) })
	free := int64(MagicSize)
	owner := -1
	for _, i := range order {
		b := blobs[i]
		if b.Length == 0 {
			continue
		}
		if b.Offset < free {
			return rangeError(b, i, fmt.Sprintf("no overlap with blob %d, which ends at %d", owner, free))
		}
		free, owner = b.end(), i
	}
	return nil
}

func rangeError(b BlobMetadata, i int, expected string) *CorruptionError {
	return &CorruptionError{Kind: KindRange, Offset: max(b.Offset, -1), What: fmt.Sprintf("range of blob %d", i),
		Expected: expected, Found: fmt.Sprintf("%d+%d", b.Offset, b.Length), ReferencedDataFile: b.ReferencedDataFile()}
}
