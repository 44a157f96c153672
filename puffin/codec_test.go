package puffin

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func zstdFrame(t *testing.T, data []byte) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = enc.Close() }()
	return enc.EncodeAll(data, nil)
}

func TestBlobsAreDecompressedWithinTheLimit(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("ten bytes."), 1000)
	lz4Frame, err := compressLZ4(text)
	if err != nil {
		t.Fatal(err)
	}
	zstdFrame := zstdFrame(t, text)
	lie := slices.Clone(lz4Frame)
	binary.LittleEndian.PutUint64(lie[6:], 10)
	cases := map[string]struct {
		codec string
		data  []byte
		limit int64
		want  string
	}{
		"plain":                           {CodecNone, text, 0, "ok"},
		"plain, just within the limit":    {CodecNone, text, 10000, "ok"},
		"plain, above the limit":          {CodecNone, text, 9999, "corrupt"},
		"lz4":                             {CodecLZ4, lz4Frame, 0, "ok"},
		"lz4, just within the limit":      {CodecLZ4, lz4Frame, 10000, "ok"},
		"lz4, above the limit":            {CodecLZ4, lz4Frame, 9999, "corrupt"},
		"lz4 that is not":                 {CodecLZ4, text, 0, "corrupt"},
		"lz4, cut":                        {CodecLZ4, lz4Frame[:len(lz4Frame)-5], 0, "corrupt"},
		"lz4 whose content size is a lie": {CodecLZ4, lie, 0, "corrupt"},
		"lz4, two frames":                 {CodecLZ4, slices.Concat(lz4Frame, lz4Frame), 0, "corrupt"},
		"zstd":                            {CodecZstd, zstdFrame, 0, "ok"},
		"zstd, just within the limit":     {CodecZstd, zstdFrame, 10000, "ok"},
		"zstd, above the limit":           {CodecZstd, zstdFrame, 9999, "corrupt"},
		"zstd that is not":                {CodecZstd, text, 0, "corrupt"},
		"zstd, cut":                       {CodecZstd, zstdFrame[:len(zstdFrame)-3], 0, "corrupt"},
		"a codec nobody knows":            {"snappy", text, 0, "unsupported"},
		"the codec none spelled out":      {"none", text, 0, "unsupported"},
		"a codec in capitals":             {"LZ4", lz4Frame, 0, "unsupported"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := BlobMetadata{Type: "t", Length: int64(len(c.data)), CompressionCodec: c.codec}
			got, err := ReadBlob(context.Background(), NewBytesReader(c.data), b, BlobOptions{Location: "x.puffin", MaxSize: c.limit})
			if status(err) != c.want || err == nil && !bytes.Equal(got, text) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), "x.puffin") {
				t.Errorf("no location in %v", err)
			}
		})
	}
}

func TestARangeThatHoldsNoBlobIsCorrupt(t *testing.T) {
	t.Parallel()
	for _, b := range []BlobMetadata{{Offset: -1, Length: 4}, {Offset: 4, Length: -1}, {Offset: 1<<63 - 1, Length: 2}, {Offset: 4, Length: 1 << 40}, {Offset: 8, Length: 3}} {
		_, err := ReadBlob(context.Background(), NewBytesReader(make([]byte, 10)), b, BlobOptions{})
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d+%d: %v", b.Offset, b.Length, err)
		}
	}
}

// allocated gives the bytes that f allocates, in MiB.
func allocated(f func()) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / (1 << 20)
}

// TestNoNumberInAFileCostsMemory reads the corpus's files that try to make a reader allocate. It is not parallel, because
// it measures allocations of the whole process.
func TestNoNumberInAFileCostsMemory(t *testing.T) {
	measured := 0
	for _, f := range loadCorpus(t) {
		if f.MaxAllocMiB == 0 {
			continue
		}
		measured++
		data, err := os.ReadFile(filepath.Join("testdata/corpus", f.File))
		if err != nil {
			t.Fatal(err)
		}
		mib := allocated(func() {
			r := NewBytesReader(data)
			file, err := Open(context.Background(), r, OpenOptions{})
			if err == nil {
				for _, b := range file.Blobs {
					_, _ = ReadBlob(context.Background(), r, b, BlobOptions{MaxSize: 4 << 20})
				}
			}
			for _, read := range f.Reads {
				_, _ = ReadDeletionVector(context.Background(), r, read.rng(f.File))
			}
		})
		if limit := float64(f.MaxAllocMiB) + float64(len(data))/(1<<20); mib > limit {
			t.Errorf("%s (%s): allocated %.1f MiB, limit %.1f", f.Kind, f.What, mib, limit)
		}
	}
	if measured == 0 {
		t.Error("no file of the corpus has a limit")
	}
}

func TestAnEmptyKeyCostsNothingAndAFullRunLittle(t *testing.T) {
	keys := binary.LittleEndian.AppendUint64(nil, 60000)
	for i := range uint32(60000) {
		keys = binary.LittleEndian.AppendUint32(keys, i)
		keys = append(keys, "\x3a\x30\x00\x00\x00\x00\x00\x00"...)
	}
	blob := frame(keys)
	if mib := allocated(func() {
		b, err := DecodeDeletionVector(blob, DeletionVectorRange{})
		if err != nil || !b.IsEmpty() {
			t.Errorf("%v", err)
		}
	}); mib > 0.1 {
		t.Errorf("60,000 empty keys took %.2f MiB", mib)
	}
	full := NewBitmap()
	if err := full.AddRange(0, 1<<32-1); err != nil {
		t.Fatal(err)
	}
	blob, err := EncodeDeletionVector(full)
	if err != nil {
		t.Fatal(err)
	}
	if mib := allocated(func() {
		b, err := DecodeDeletionVector(blob, DeletionVectorRange{RecordCount: 1 << 32})
		if err != nil || b.Cardinality() != 1<<32 {
			t.Errorf("%v", err)
		}
		n := 0
		for range b.Ranges() {
			n++
		}
		if n != 1 {
			t.Errorf("%d ranges", n)
		}
	}); mib > 8 {
		t.Errorf("2^32 positions in %d bytes took %.1f MiB", len(blob), mib)
	}
}
