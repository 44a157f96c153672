package puffin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// puffinFile writes a file with n vectors.
func puffinFile(t testing.TB, n int, opts FinishOptions) ([]byte, []BlobMetadata) {
	t.Helper()
	var buf bytes.Buffer
	w := NewWriter(&buf, WriterOptions{})
	for i := range n {
		if _, err := w.AddDeletionVector(fmt.Sprintf("s3://lake/%05d.parquet", i), mustBitmap(t, int64(i), int64(i)+100)); err != nil {
			t.Fatal(err)
		}
	}
	size, err := w.Finish(opts)
	if err != nil {
		t.Fatal(err)
	}
	if size != int64(buf.Len()) || w.Size() != size {
		t.Fatalf("Finish says %d bytes, Size %d, %d were written", size, w.Size(), buf.Len())
	}
	var blobs []BlobMetadata
	for i := range w.Len() {
		b, _ := w.Blob(i)
		blobs = append(blobs, b)
	}
	return buf.Bytes(), blobs
}

func TestOpenNeedsFewRequestsAndNoSizeWhenItIsKnown(t *testing.T) {
	t.Parallel()
	small, _ := puffinFile(t, 3, FinishOptions{})
	large, _ := puffinFile(t, 1000, FinishOptions{})
	compressed, _ := puffinFile(t, 1000, FinishOptions{CompressFooter: true})
	cases := map[string]struct {
		data      []byte
		readAhead int64
		requests  int
	}{
		"a small file is one request":                            {small, 0, 1},
		"a small file piece by piece is three":                   {small, 1, 3},
		"a footer larger than the read-ahead is three":           {large, 0, 3},
		"a footer within the read-ahead is two":                  {large, int64(len(large)) - 100, 2},
		"a read-ahead larger than the file is one":               {large, 1 << 30, 1},
		"a compressed footer fits the default read-ahead: two":   {compressed, 0, 2},
		"a read-ahead of exactly the footer and head magic: two": {small, int64(len(small)) - 1, 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &sizedReader{countingReader: &countingReader{RangeReader: NewBytesReader(c.data)}, size: int64(len(c.data))}
			f, err := Open(context.Background(), r, OpenOptions{Size: r.size, ReadAhead: c.readAhead})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.requests) != c.requests || r.asked != 0 {
				t.Errorf("%d requests %v and %d questions for the size, want %d and none", len(r.requests), r.requests, r.asked, c.requests)
			}
			if f.Size != r.size || len(f.Blobs) == 0 || f.CreatedBy() != DefaultCreatedBy {
				t.Errorf("size %d, %d blobs, created by %q", f.Size, len(f.Blobs), f.CreatedBy())
			}
			if _, err := Open(context.Background(), r, OpenOptions{}); err != nil || r.asked != 1 {
				t.Errorf("without a size: %v, %d questions", err, r.asked)
			}
		})
	}
}

func TestOpenGivesWhatWasWritten(t *testing.T) {
	t.Parallel()
	for _, compress := range []bool{false, true} {
		data, blobs := puffinFile(t, 20, FinishOptions{CompressFooter: compress})
		f, err := Open(context.Background(), NewBytesReader(data), OpenOptions{Location: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if f.FooterCompressed != compress || fmt.Sprint(f.Blobs) != fmt.Sprint(blobs) || f.Location != "x" {
			t.Errorf("compressed %v, blobs %v, want %v", f.FooterCompressed, f.Blobs, blobs)
		}
		for i, b := range f.Blobs {
			m, err := ReadDeletionVector(context.Background(), NewBytesReader(data), b.DeletionVectorRange("x"))
			if err != nil || !m.Equal(mustBitmap(t, int64(i), int64(i)+100)) {
				t.Errorf("blob %d: %v", i, err)
			}
			if !b.IsDeletionVector() || b.SnapshotID != -1 || b.SequenceNumber != -1 || b.Fields == nil || b.Cardinality() != 2 {
				t.Errorf("blob %d: %+v", i, b)
			}
		}
	}
}

func TestAFaultOfTheStoreIsNotCorruption(t *testing.T) {
	t.Parallel()
	data, blobs := puffinFile(t, 500, FinishOptions{})
	boom := errors.New("503 slow down")
	for failing := range 3 {
		n := 0
		r := &countingReader{RangeReader: NewBytesReader(data), fail: func(request) error {
			if n++; n == failing+1 {
				return boom
			}
			return nil
		}}
		_, err := Open(context.Background(), r, OpenOptions{Location: "x.puffin", Size: int64(len(data)), ReadAhead: 12})
		if !errors.Is(err, boom) || errors.Is(err, ErrCorrupt) || errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "x.puffin") {
			t.Errorf("request %d: %v", failing, err)
		}
	}
	r := &countingReader{RangeReader: NewBytesReader(data), fail: func(request) error { return boom }}
	_, err := ReadDeletionVector(context.Background(), r, blobs[0].DeletionVectorRange("x.puffin"))
	if !errors.Is(err, boom) || errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "x.puffin") {
		t.Errorf("vector: %v", err)
	}
	_, err = ReadBlob(context.Background(), r, blobs[0], BlobOptions{Location: "x.puffin"})
	if !errors.Is(err, boom) || errors.Is(err, ErrCorrupt) {
		t.Errorf("blob: %v", err)
	}
}

// lyingReader gives fewer bytes than asked for, without an error.
type lyingReader struct{ RangeReader }

func (l lyingReader) ReadRange(ctx context.Context, offset, length int64) ([]byte, error) {
	data, err := l.RangeReader.ReadRange(ctx, offset, length)
	return data[:max(len(data)-1, 0)], err
}

func TestAShortReadIsCorruptionOnlyWhenTheObjectIsShort(t *testing.T) {
	t.Parallel()
	data, _ := puffinFile(t, 3, FinishOptions{})
	size := int64(len(data))
	past := DeletionVectorRange{Offset: size - 30, Length: 50, RecordCount: 1, Location: "x.puffin"}
	within := DeletionVectorRange{Offset: 4, Length: 50, RecordCount: 1, Location: "x.puffin"}
	noSize := &countingReader{RangeReader: NewBytesReader(data)}
	cases := map[string]struct {
		r       RangeReader
		rng     DeletionVectorRange
		corrupt bool
	}{
		"past the end of an object of known size":      {NewBytesReader(data), past, true},
		"past the end of an object of unknown size":    {noSize, past, false},
		"within an object whose transport was cut":     {&sizedReader{countingReader: &countingReader{RangeReader: lyingReader{NewBytesReader(data)}}, size: size}, within, false},
		"within an object of unknown size that is cut": {lyingReader{noSize}, within, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ReadDeletionVector(context.Background(), c.r, c.rng)
			if errors.Is(err, ErrCorrupt) != c.corrupt || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%v", err)
			}
		})
	}
	for _, claimed := range []int64{size + 1, size * 3} {
		if _, err := Open(context.Background(), NewBytesReader(data), OpenOptions{Size: claimed}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("size claimed %d of %d: %v", claimed, size, err)
		}
		if _, err := Open(context.Background(), noSize, OpenOptions{Size: claimed}); err == nil || errors.Is(err, ErrCorrupt) {
			t.Errorf("size claimed %d, real one unknown: %v", claimed, err)
		}
	}
	if _, err := Open(context.Background(), noSize, OpenOptions{}); err == nil || errors.Is(err, ErrCorrupt) {
		t.Errorf("no size at all: %v", err)
	}
}

func TestACancelledContextStops(t *testing.T) {
	t.Parallel()
	data, blobs := puffinFile(t, 2, FinishOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Open(ctx, NewBytesReader(data), OpenOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v", err)
	}
	delivered := 0
	err := ReadDeletionVectors(ctx, NewBytesReader(data), []DeletionVectorRange{blobs[0].DeletionVectorRange("")}, ReadOptions{},
		func(int, *Bitmap, error) error { delivered++; return nil })
	if !errors.Is(err, context.Canceled) || delivered > 0 {
		t.Errorf("ReadDeletionVectors: %v, %d delivered", err, delivered)
	}
}
