package puffin

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestNumbersInPropertiesAreDecimalDigitsOnly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "13": 13, "9223372036854775807": 1<<63 - 1, "007": 7,
		"": -1, "many": -1, "13.0": -1, "0xd": -1, "+13": -1, " 13 ": -1, "-13": -1, "1_3": -1, "1e3": -1,
		"9223372036854775808": -1, "١٣": -1,
	} {
		b := BlobMetadata{Properties: map[string]string{PropertyCardinality: text, PropertyNDV: text}}
		if b.Cardinality() != want || b.NDV() != want {
			t.Errorf("%q: cardinality %d, ndv %d, want %d", text, b.Cardinality(), b.NDV(), want)
		}
	}
	var none BlobMetadata
	if none.Cardinality() != -1 || none.NDV() != -1 || none.HasProperty(PropertyNDV) || none.Property("a") != "" {
		t.Error("a blob without properties has some")
	}
}

func TestABlobDescribesItselfInALine(t *testing.T) {
	t.Parallel()
	b := BlobMetadata{Type: BlobTypeThetaSketch, Offset: 4, Length: 9, CompressionCodec: CodecZstd, Properties: map[string]string{PropertyNDV: "42"}}
	if got := b.String(); got != "apache-datasketches-theta-v1 at 4+9 (zstd), 42 distinct values" {
		t.Error(got)
	}
	if b.IsDeletionVector() || (BlobMetadata{Type: "Deletion-Vector-V1"}).IsDeletionVector() || !(BlobMetadata{Type: BlobTypeDeletionVector}).IsDeletionVector() {
		t.Error("the type of a deletion vector is matched by its exact spelling")
	}
}

func TestAnErrorSaysWhatIsWrongAndWhere(t *testing.T) {
	t.Parallel()
	cases := map[string]error{
		"corrupt CRC": &CorruptionError{Offset: -1, What: "CRC"},
		"f: corrupt CRC at offset 0: expected 1, found 2 (deletion vector of d): unexpected EOF": &CorruptionError{
			Location: "f", What: "CRC", Expected: "1", Found: "2", ReferencedDataFile: "d", Err: io.ErrUnexpectedEOF},
		"corrupt CRC at offset 7: expected 1":       &CorruptionError{Offset: 7, What: "CRC", Expected: "1"},
		"corrupt CRC at offset 7: found 2":          &CorruptionError{Offset: 7, What: "CRC", Found: "2"},
		"f: unsupported footer flags 2 at offset 9": &UnsupportedError{Location: "f", Offset: 9, What: "footer flags", Found: "2"},
		"unsupported codec x":                       &UnsupportedError{Offset: -1, What: "codec", Found: "x"},
	}
	for want, err := range cases {
		if err.Error() != want {
			t.Errorf("%q, want %q", err.Error(), want)
		}
		if corrupt := strings.Contains(want, "corrupt"); errors.Is(err, ErrCorrupt) != corrupt || errors.Is(err, ErrUnsupported) == corrupt {
			t.Errorf("%q has the wrong mark", want)
		}
		if strings.Contains(want, "EOF") != errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q does not unwrap", want)
		}
	}
}
