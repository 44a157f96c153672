package puffin

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// corpusSeeds gives the corpus's files that are not large.
func corpusSeeds(f *testing.F) map[string][]byte {
	f.Helper()
	seeds := make(map[string][]byte)
	for _, c := range loadCorpus(f) {
		data, err := os.ReadFile(filepath.Join("testdata/corpus", c.File))
		if err != nil {
			f.Fatal(err)
		}
		if len(data) <= 4096 {
			seeds[c.File] = data
		}
	}
	return seeds
}

// vectorSeeds gives the ranges that the corpus's manifests name.
func vectorSeeds(f *testing.F) [][]byte {
	f.Helper()
	files := corpusSeeds(f)
	var seeds [][]byte
	for _, c := range loadCorpus(f) {
		for _, r := range c.Reads {
			if data := files[c.File]; inside(r.Offset, r.Size, int64(len(data))) {
				seeds = append(seeds, data[r.Offset:r.Offset+r.Size])
			}
		}
	}
	return seeds
}

// FuzzOpen: every footer is refused with a mark or can be written again, and every byte is explained.
func FuzzOpen(f *testing.F) {
	for _, data := range corpusSeeds(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		covers(t, Annotate(data), 0, int64(len(data)))
		file, err := Open(context.Background(), NewBytesReader(data), OpenOptions{ReadAhead: 64})
		if s := status(err); s != "ok" && s != "corrupt" && s != "unsupported" {
			t.Fatalf("neither corrupt nor unsupported: %v", err)
		}
		if err != nil {
			return
		}
		for _, b := range file.Blobs {
			_, err := ReadBlob(context.Background(), NewBytesReader(data), b, BlobOptions{MaxSize: 1 << 20})
			if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
				t.Fatalf("blob %v: %v", b, err)
			}
		}
	})
}

// FuzzFooterPayload: what the parser takes, the writer writes so that the parser takes it for the same.
func FuzzFooterPayload(f *testing.F) {
	for _, data := range corpusSeeds(f) {
		if file, err := Open(context.Background(), NewBytesReader(data), OpenOptions{}); err == nil && !file.FooterCompressed {
			f.Add(data[file.FooterOffset+MagicSize : len(data)-TailSize])
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		file, err := ParseFooterPayload(payload, false, PayloadOptions{})
		if err != nil {
			if asCorruption(err) == nil {
				t.Fatalf("not corrupt: %v", err)
			}
			return
		}
		w := Writer{blobs: file.Blobs, properties: file.Properties}
		first, err := w.FooterJSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseFooterPayload(first, false, PayloadOptions{})
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		second, err := (&Writer{blobs: again.Blobs, properties: again.Properties}).FooterJSON()
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s, then %s: %v", first, second, err)
		}
	})
}

// FuzzDeletionVector: a vector is refused with a mark, or its positions survive a round trip. The frame is mended, so
// that mutations reach the bitmap.
func FuzzDeletionVector(f *testing.F) {
	for _, blob := range vectorSeeds(f) {
		f.Add(blob)
	}
	f.Fuzz(func(t *testing.T, blob []byte) {
		covers(t, AnnotateDeletionVector(blob, 7), 7, int64(len(blob)))
		if _, err := DecodeDeletionVector(blob, DeletionVectorRange{RecordCount: UnknownRecordCount}); err != nil && asCorruption(err) == nil {
			t.Fatalf("not corrupt: %v", err)
		}
		if len(blob) < minDVSize {
			return
		}
		mended := frame(blob[8 : len(blob)-4])
		covers(t, AnnotateDeletionVector(mended, 0), 0, int64(len(mended)))
		b, err := DecodeDeletionVector(mended, DeletionVectorRange{RecordCount: UnknownRecordCount})
		if err != nil {
			if asCorruption(err) == nil {
				t.Fatalf("not corrupt: %v", err)
			}
			return
		}
		roundTrip(t, b)
	})
}

// FuzzRoaring is FuzzDeletionVector for one 32-bit bitmap, which lets the fuzzer see the Roaring format alone. What passes
// the scan must be what the library says it is.
func FuzzRoaring(f *testing.F) {
	for _, blob := range vectorSeeds(f) {
		if len(blob) > minDVSize+4 {
			f.Add(blob[dvFrameSize+vectorCountSize : len(blob)-dvCRCSize])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s scan
		n := s.bitmap(data)
		if s.fault != nil {
			return
		}
		m, err := load(data[:n], s.touching)
		if err != nil {
			t.Fatalf("the library refuses what the scan takes: %v", err)
		}
		if m.GetCardinality() != uint64(s.cardinality) {
			t.Fatalf("cardinality %d, the library says %d", s.cardinality, m.GetCardinality())
		}
		if s.cardinality == 0 {
			return
		}
		if err := m.Validate(); err != nil {
			t.Fatalf("the library finds %v", err)
		}
		if m.Maximum() != s.last {
			t.Fatalf("last %d, the library says %d", s.last, m.Maximum())
		}
		roundTrip(t, &Bitmap{keys: []uint32{0}, maps: append(NewBitmap().maps, m)})
	})
}

func roundTrip(t *testing.T, b *Bitmap) {
	t.Helper()
	before := rangesText(b)
	blob, err := EncodeDeletionVector(b)
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeDeletionVector(blob, DeletionVectorRange{RecordCount: b.Cardinality()})
	if err != nil {
		t.Fatalf("our own vector: %v", err)
	}
	if after := rangesText(back); after != before || !back.Equal(b) {
		t.Fatalf("positions %s became %s", before, after)
	}
	again, err := EncodeDeletionVector(back)
	if err != nil || !bytes.Equal(again, blob) {
		t.Fatalf("other bytes the second time: %v", err)
	}
}

// FuzzLZ4: a frame is refused, or has exactly the content size it announces, within the limit.
func FuzzLZ4(f *testing.F) {
	for _, text := range []string{"", "x", `{"blobs":[]}`, string(bytes.Repeat([]byte("abc"), 1000))} {
		frame, err := compressLZ4([]byte(text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame)
	}
	for _, data := range corpusSeeds(f) {
		if file, err := Open(context.Background(), NewBytesReader(data), OpenOptions{}); err == nil && file.FooterCompressed {
			f.Add(data[file.FooterOffset+MagicSize : len(data)-TailSize])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 16
		out, err := decompressLZ4(data, limit)
		if err != nil {
			return
		}
		if len(out) > limit {
			t.Fatalf("%d bytes, limit %d", len(out), limit)
		}
		frame, err := compressLZ4(out)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := decompressLZ4(frame, limit); err != nil || !bytes.Equal(back, out) {
			t.Fatalf("our own frame: %v", err)
		}
	})
}

// covers fails when regions leave a byte out or claim one twice.
func covers(t testing.TB, regions []Region, offset, size int64) {
	t.Helper()
	at := offset
	for _, r := range regions {
		if r.Offset != at || r.Name == "" {
			t.Fatalf("region %+v, expected offset %d", r, at)
		}
		at += r.Length
	}
	if at != offset+size {
		t.Fatalf("regions end at %d of %d", at, offset+size)
	}
}
