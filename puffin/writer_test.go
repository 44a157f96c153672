package puffin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func drawText(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"", "a", "s3://b/x y+%20&<>.parquet", "ü/日本/😀", "quote\"back\\slash/nul\x00line\n\u2028", "zz"}).Draw(t, label)
}

func TestAFileGivesBackWhateverWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var file bytes.Buffer
		w := NewWriter(&file, WriterOptions{Properties: map[string]string{"k": drawText(t, "property")}})
		var contents [][]byte
		for i := range rapid.IntRange(0, 8).Draw(t, "blobs") {
			b := Blob{Type: cmpOr(drawText(t, "type"), "t"), Fields: rapid.SliceOfN(rapid.Int32(), 0, 3).Draw(t, "fields"),
				SnapshotID: rapid.Int64().Draw(t, "snapshot"), SequenceNumber: rapid.Int64().Draw(t, "sequence"),
				Codec:      rapid.SampledFrom([]string{CodecNone, CodecLZ4}).Draw(t, "codec"),
				Properties: map[string]string{fmt.Sprint("p", i): drawText(t, "value"), "q": "r"},
				Data:       bytes.Repeat([]byte(drawText(t, "data")), rapid.IntRange(0, 2000).Draw(t, "times"))}
			if _, err := w.AddBlob(b); err != nil {
				t.Fatal(err)
			}
			contents = append(contents, b.Data)
		}
		if _, err := w.Finish(FinishOptions{CompressFooter: rapid.Bool().Draw(t, "compress")}); err != nil {
			t.Fatal(err)
		}
		checkWritten(t, w, file.Bytes(), contents)
	})
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func checkWritten(t *rapid.T, w *Writer, data []byte, contents [][]byte) {
	r := NewBytesReader(data)
	f, err := Open(context.Background(), r, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Blobs) != len(contents) || !maps.Equal(f.Properties, w.properties) {
		t.Fatalf("%d blobs, want %d; properties %v, want %v", len(f.Blobs), len(contents), f.Properties, w.properties)
	}
	for i, b := range f.Blobs {
		want, _ := w.Blob(i)
		if b.Type != want.Type || !slices.Equal(b.Fields, want.Fields) || b.SnapshotID != want.SnapshotID ||
			b.SequenceNumber != want.SequenceNumber || b.CompressionCodec != want.CompressionCodec || !maps.Equal(b.Properties, want.Properties) {
			t.Fatalf("blob %d: %+v, want %+v", i, b, want)
		}
		got, err := ReadBlob(context.Background(), r, b, BlobOptions{})
		if err != nil || !bytes.Equal(got, contents[i]) {
			t.Fatalf("blob %d: %d bytes, want %d: %v", i, len(got), len(contents[i]), err)
		}
	}
}

func TestTheSameCallsGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	for _, compress := range []bool{false, true} {
		first, _ := puffinFile(t, 300, FinishOptions{CompressFooter: compress})
		second, _ := puffinFile(t, 300, FinishOptions{CompressFooter: compress})
		if !bytes.Equal(first, second) {
			t.Errorf("compressed %v: two files differ", compress)
		}
	}
}

func TestAVectorEncodedElsewhereGivesTheSameFile(t *testing.T) {
	t.Parallel()
	want, _ := puffinFile(t, 5, FinishOptions{})
	var file bytes.Buffer
	w := NewWriter(&file, WriterOptions{})
	for i := range 5 {
		b := mustBitmap(t, int64(i), int64(i)+100)
		blob, err := AppendDeletionVector([]byte("prefix"), b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.AddEncodedDeletionVector(fmt.Sprintf("s3://lake/%05d.parquet", i), bytes.TrimPrefix(blob, []byte("prefix")), b.Cardinality()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(FinishOptions{}); err != nil || !bytes.Equal(file.Bytes(), want) {
		t.Errorf("another file: %v", err)
	}
}

// brokenWriter fails after some bytes.
type brokenWriter struct {
	room int
	err  error
}

func (b *brokenWriter) Write(p []byte) (int, error) {
	n := min(len(p), b.room)
	b.room -= n
	if n < len(p) {
		return n, b.err
	}
	return n, nil
}

func TestAWriterThatFailedStaysFailed(t *testing.T) {
	t.Parallel()
	full, _ := puffinFile(t, 2, FinishOptions{})
	boom := errors.New("disk full")
	for room := range len(full) {
		w := NewWriter(&brokenWriter{room: room, err: boom}, WriterOptions{})
		var first error
		for i := range 2 {
			_, err := w.AddDeletionVector(fmt.Sprintf("s3://lake/%05d.parquet", i), mustBitmap(t, int64(i), int64(i)+100))
			first = errors.Join(first, err)
		}
		_, err := w.Finish(FinishOptions{})
		if !errors.Is(errors.Join(first, err), boom) || first != nil && err == nil {
			t.Fatalf("room for %d bytes: %v, then %v", room, first, err)
		}
	}
	w := NewWriter(&brokenWriter{room: 10}, WriterOptions{})
	if _, err := w.AddBlob(Blob{Type: "t", Data: make([]byte, 100)}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a writer that writes less without an error: %v", err)
	}
}

func TestWhatCannotBeWrittenIsRefusedBeforeAByteIs(t *testing.T) {
	t.Parallel()
	one := mustBitmap(t, 1)
	good, err := EncodeDeletionVector(one)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]func(w *Writer) error{
		"a path that is not UTF-8":    func(w *Writer) error { _, err := w.AddDeletionVector("s3://b/\xff", one); return err },
		"a vector of no data file":    func(w *Writer) error { _, err := w.AddDeletionVector("", one); return err },
		"a negative cardinality":      func(w *Writer) error { _, err := w.AddEncodedDeletionVector("a", good, -1); return err },
		"an encoded vector cut short": func(w *Writer) error { _, err := w.AddEncodedDeletionVector("a", good[:30], 1); return err },
		"an empty encoded vector":     func(w *Writer) error { _, err := w.AddEncodedDeletionVector("a", nil, 1); return err },
		"a blob without a type":       func(w *Writer) error { _, err := w.AddBlob(Blob{}); return err },
		"a type that is not UTF-8":    func(w *Writer) error { _, err := w.AddBlob(Blob{Type: "\xff"}); return err },
		"a property name that is not": func(w *Writer) error {
			_, err := w.AddBlob(Blob{Type: "t", Properties: map[string]string{"\xff": ""}})
			return err
		},
		"an unknown codec":           func(w *Writer) error { _, err := w.AddBlob(Blob{Type: "t", Codec: "brotli"}); return err },
		"a file property, not UTF-8": func(w *Writer) error { return w.SetProperty("a", "\xff") },
	}
	for name, call := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var file bytes.Buffer
			w := NewWriter(&file, WriterOptions{})
			if err := call(w); err == nil || file.Len() > 0 || w.Len() > 0 {
				t.Errorf("%v, %d bytes written", err, file.Len())
			}
			if _, err := w.AddDeletionVector("a", one); err != nil {
				t.Errorf("cannot go on afterwards: %v", err)
			}
		})
	}
	w := NewWriter(io.Discard, WriterOptions{Properties: map[string]string{"a": "\xff"}})
	if _, err := w.Finish(FinishOptions{}); err == nil {
		t.Error("an option that is not UTF-8 was written")
	}
	if _, err := w.AddBlob(Blob{Type: "t", Codec: CodecZstd}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("zstd: %v", err)
	}
}

func TestTheWriterKeepsItsFooterToItself(t *testing.T) {
	t.Parallel()
	properties := map[string]string{"a": "1"}
	var file bytes.Buffer
	w := NewWriter(&file, WriterOptions{Properties: properties})
	blobProperties := map[string]string{"x": "1"}
	m, err := w.AddBlob(Blob{Type: "t", Fields: []int32{1}, Properties: blobProperties})
	if err != nil {
		t.Fatal(err)
	}
	properties["a"], blobProperties["x"], m.Properties["x"], m.Fields[0] = "2", "2", "2", 2
	footer, err := w.FooterJSON()
	if err != nil || strings.Contains(string(footer), "2]") || strings.Contains(string(footer), `"2"`) {
		t.Errorf("footer %s: %v", footer, err)
	}
	if _, ok := w.Blob(1); ok {
		t.Error("a blob that was not written")
	}
	if _, ok := w.Blob(-1); ok {
		t.Error("a blob before the first")
	}
}

func TestCreatedByIsTheCallersOrOurs(t *testing.T) {
	t.Parallel()
	for want, opts := range map[string]WriterOptions{
		DefaultCreatedBy: {},
		"them 1.0":       {CreatedBy: "them 1.0"},
		"others":         {CreatedBy: "them", Properties: map[string]string{PropertyCreatedBy: "others"}},
		"":               {OmitCreatedBy: true},
	} {
		var file bytes.Buffer
		if _, err := NewWriter(&file, opts).Finish(FinishOptions{}); err != nil {
			t.Fatal(err)
		}
		f, err := Open(context.Background(), NewBytesReader(file.Bytes()), OpenOptions{})
		if err != nil || f.CreatedBy() != want {
			t.Errorf("created by %q, want %q: %v", f.CreatedBy(), want, err)
		}
	}
}
