package puffin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// goldenFile is an entry of an expected.json: what a file written by another implementation holds.
type goldenFile struct {
	Puffin     string      `json:"puffin"`
	Blobs      []goldenDV  `json:"blobs"`
	DV         string      `json:"dv"`
	Deleted    [][2]int64  `json:"deleted_ranges"`
	BareBitmap string      `json:"bare_bitmap"`
	Ranges     *[][2]int64 `json:"ranges"`
}

type goldenDV struct {
	Type           string            `json:"type"`
	Fields         []int32           `json:"fields"`
	SnapshotID     int64             `json:"snapshot-id"`
	SequenceNumber int64             `json:"sequence-number"`
	Offset         int64             `json:"offset"`
	Length         int64             `json:"length"`
	Codec          *string           `json:"compression-codec"`
	Properties     map[string]string `json:"properties"`
	Deleted        *[][2]int64       `json:"deleted_ranges"`
}

// sharedReal finds the folder of files that other implementations wrote, which are not part of the module.
func sharedReal(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		candidate := filepath.Join(dir, "shared", "real")
		if _, err := os.Stat(candidate); err == nil {
			return candidate
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Skip("no folder shared/real with files of other implementations above this one")
		}
		dir = parent
	}
}

// eachGolden runs test on those files below shared/real whose description in an expected.json is wanted.
func eachGolden(t *testing.T, wanted func(goldenFile) bool, test func(t *testing.T, data []byte, want goldenFile)) {
	root := sharedReal(t)
	indexes, err := filepath.Glob(filepath.Join(root, "*", "*", "expected.json"))
	if err != nil || len(indexes) == 0 {
		t.Fatalf("no expected.json below %s: %v", root, err)
	}
	for _, index := range indexes {
		text, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		var expected struct {
			Files map[string]goldenFile `json:"files"`
		}
		if err := json.Unmarshal(text, &expected); err != nil {
			t.Fatalf("%s: %v", index, err)
		}
		for name, want := range expected.Files {
			if !wanted(want) {
				continue
			}
			path := filepath.Join(filepath.Dir(index), name)
			rel, _ := filepath.Rel(root, path)
			t.Run(rel, func(t *testing.T) {
				t.Parallel()
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				test(t, data, want)
			})
		}
	}
}

func collectRanges(b *Bitmap) [][2]int64 {
	out := [][2]int64{}
	for first, last := range b.Ranges() {
		out = append(out, [2]int64{first, last})
	}
	return out
}

func TestFilesOfOtherImplementationsDecodeToTheirExpectedValues(t *testing.T) {
	t.Parallel()
	described := func(f goldenFile) bool { return f.Puffin+f.DV+f.BareBitmap != "" }
	eachGolden(t, described, func(t *testing.T, data []byte, want goldenFile) {
		switch {
		case want.Puffin != "":
			goldenPuffin(t, data, want)
		case want.DV != "":
			b, err := DecodeDeletionVector(data, DeletionVectorRange{RecordCount: UnknownRecordCount})
			if status(err) != want.DV || err == nil && !slices.Equal(collectRanges(b), want.Deleted) {
				t.Errorf("%v, %v, want %s %v", err, b, want.DV, want.Deleted)
			}
		case want.BareBitmap != "":
			v, f := decodeVector(data)
			if (f == nil) != (want.BareBitmap == "ok") {
				t.Errorf("%v, want %s", f, want.BareBitmap)
			}
			if f == nil && !slices.Equal(collectRanges(v.bitmap), *want.Ranges) {
				t.Errorf("ranges %v, want %v", collectRanges(v.bitmap), *want.Ranges)
			}
		}
	})
}

func goldenPuffin(t *testing.T, data []byte, want goldenFile) {
	t.Helper()
	r := NewBytesReader(data)
	f, err := Open(context.Background(), r, OpenOptions{})
	if status(err) != want.Puffin {
		t.Fatalf("%v, want %s", err, want.Puffin)
	}
	if err != nil {
		return
	}
	if len(f.Blobs) != len(want.Blobs) {
		t.Fatalf("%d blobs, want %d", len(f.Blobs), len(want.Blobs))
	}
	for i, w := range want.Blobs {
		codec := ""
		if w.Codec != nil {
			codec = *w.Codec
		}
		b := f.Blobs[i]
		wantBlob := BlobMetadata{w.Type, w.Fields, w.SnapshotID, w.SequenceNumber, w.Offset, w.Length, codec, w.Properties}
		if fmt.Sprintf("%+v", b) != fmt.Sprintf("%+v", wantBlob) {
			t.Errorf("blob %d: %+v, want %+v", i, b, wantBlob)
		}
		if _, err := ReadBlob(context.Background(), r, b, BlobOptions{}); err != nil {
			t.Errorf("blob %d: %v", i, err)
		}
		if w.Deleted == nil {
			continue
		}
		m, err := ReadDeletionVector(context.Background(), r, b.DeletionVectorRange(""))
		if err != nil || !slices.Equal(collectRanges(m), *w.Deleted) {
			t.Errorf("blob %d: %v", i, err)
		}
	}
}

// TestRunOptimisedVectorsEncodeToTheReferencesBytes covers the reference's golden vectors without gap keys, which it
// writes and we do not.
func TestRunOptimisedVectorsEncodeToTheReferencesBytes(t *testing.T) {
	t.Parallel()
	vectors := func(f goldenFile) bool { return f.DV == "ok" }
	eachGolden(t, vectors, func(t *testing.T, data []byte, want goldenFile) {
		b := NewBitmap()
		for _, r := range want.Deleted {
			if err := b.AddRange(r[0], r[1]); err != nil {
				t.Fatal(err)
			}
		}
		got, err := EncodeDeletionVector(b)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("encoded to % x, want % x: %v", got, data, err)
		}
	})
}

func TestTheReferencesSampleFileIsWrittenByteForByte(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(sharedReal(t), "iceberg-java", "puffin-v1")
	for name, opts := range map[string]WriterOptions{
		"empty-puffin-uncompressed.bin":       {OmitCreatedBy: true},
		"sample-metric-data-uncompressed.bin": {CreatedBy: "Test 1234"},
	} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		r := NewBytesReader(want)
		f, err := Open(context.Background(), r, OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		w := NewWriter(&buf, opts)
		for _, b := range f.Blobs {
			data, err := ReadBlob(context.Background(), r, b, BlobOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.AddBlob(Blob{Type: b.Type, Fields: b.Fields, SnapshotID: b.SnapshotID, SequenceNumber: b.SequenceNumber, Data: data}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Finish(FinishOptions{}); err != nil || !bytes.Equal(buf.Bytes(), want) {
			t.Errorf("%s: wrote %q, want %q: %v", name, buf.Bytes(), want, err)
		}
	}
}

// TestZstdBlobsOfTheReferenceAreThoseOfItsPlainFile compares the reference's two sample files blob by blob.
func TestZstdBlobsOfTheReferenceAreThoseOfItsPlainFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(sharedReal(t), "iceberg-java", "puffin-v1")
	var contents [2][]string
	for i, name := range []string{"sample-metric-data-uncompressed.bin", "sample-metric-data-compressed-zstd.bin"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(context.Background(), NewBytesReader(data), OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range f.Blobs {
			blob, err := ReadBlob(context.Background(), NewBytesReader(data), b, BlobOptions{})
			if err != nil {
				t.Fatal(err)
			}
			contents[i] = append(contents[i], string(blob))
		}
	}
	if len(contents[0]) != 2 || !slices.Equal(contents[0], contents[1]) {
		t.Errorf("%q", contents)
	}
}
