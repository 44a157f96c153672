package puffin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// result is what ReadDeletionVectors delivered for one range.
type result struct {
	ranges string
	status string
}

func readAll(t *testing.T, r RangeReader, ranges []DeletionVectorRange, opts ReadOptions) ([]result, []int) {
	t.Helper()
	got := make([]result, len(ranges))
	var order []int
	err := ReadDeletionVectors(context.Background(), r, ranges, opts, func(i int, b *Bitmap, err error) error {
		got[i].status = status(err)
		if err == nil {
			got[i].ranges = rangesText(b)
		}
		order = append(order, i)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, order
}

func rangesOf(blobs []BlobMetadata) []DeletionVectorRange {
	var out []DeletionVectorRange
	for _, b := range blobs {
		out = append(out, b.DeletionVectorRange("x.puffin"))
	}
	return out
}

func TestVectorsThatTouchShareRequests(t *testing.T) {
	t.Parallel()
	data, blobs := puffinFile(t, 10, FinishOptions{})
	ranges := rangesOf(blobs)
	each := ranges[0].Length
	gap := slices.Concat(ranges[:3], ranges[6:])
	reversed := slices.Clone(ranges)
	slices.Reverse(reversed)
	cases := map[string]struct {
		ranges   []DeletionVectorRange
		opts     ReadOptions
		requests int
	}{
		"all in one":                                 {ranges, ReadOptions{}, 1},
		"whatever their order":                       {reversed, ReadOptions{}, 1},
		"as many as fit the largest request":         {ranges, ReadOptions{MaxRequest: 3 * each}, 4},
		"one by one when a request may hold no more": {ranges, ReadOptions{MaxRequest: 1}, 10},
		"across a small gap":                         {gap, ReadOptions{}, 1},
		"not across a gap when none is allowed":      {gap, ReadOptions{MaxGap: -1}, 2},
		"not across a gap larger than allowed":       {gap, ReadOptions{MaxGap: 3*each - 1}, 2},
		"across a gap just as large as allowed":      {gap, ReadOptions{MaxGap: 3 * each}, 1},
		"the same range twice is read once":          {[]DeletionVectorRange{ranges[4], ranges[4]}, ReadOptions{}, 1},
		"nothing at all":                             {nil, ReadOptions{}, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &countingReader{RangeReader: NewBytesReader(data)}
			got, order := readAll(t, r, c.ranges, c.opts)
			if len(r.requests) != c.requests {
				t.Errorf("requests %v, want %d", r.requests, c.requests)
			}
			for i, rng := range c.ranges {
				n := (rng.Offset - 4) / each
				if want := (result{fmt.Sprintf("%d,%d", n, n+100), "ok"}); got[i] != want {
					t.Errorf("range %d: %v, want %v", i, got[i], want)
				}
			}
			if len(order) != len(c.ranges) || !slices.IsSortedFunc(order, func(a, b int) int { return int(c.ranges[a].Offset - c.ranges[b].Offset) }) {
				t.Errorf("order %v", order)
			}
		})
	}
}

func TestADamagedVectorDoesNotStopItsNeighbours(t *testing.T) {
	t.Parallel()
	clean, blobs := puffinFile(t, 5, FinishOptions{})
	damage := map[string]func(data []byte, r *DeletionVectorRange){
		"a flipped bit":           func(data []byte, r *DeletionVectorRange) { data[r.Offset+30] ^= 1 },
		"a range past the end":    func(_ []byte, r *DeletionVectorRange) { r.Length = 1 << 20 },
		"a huge range":            func(_ []byte, r *DeletionVectorRange) { r.Length = 1 << 50 },
		"a sum that overflows":    func(_ []byte, r *DeletionVectorRange) { r.Offset, r.Length = 1<<63-1, 1<<31-1 },
		"a negative offset":       func(_ []byte, r *DeletionVectorRange) { r.Offset = -5 },
		"a negative length":       func(_ []byte, r *DeletionVectorRange) { r.Length = -5 },
		"no length":               func(_ []byte, r *DeletionVectorRange) { r.Length = 0 },
		"a range off by one":      func(_ []byte, r *DeletionVectorRange) { r.Offset++ },
		"a range beyond the file": func(_ []byte, r *DeletionVectorRange) { r.Offset = 1 << 40 },
		"another record count":    func(_ []byte, r *DeletionVectorRange) { r.RecordCount = 7 },
	}
	for name, apply := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, ranges := slices.Clone(clean), rangesOf(blobs)
			apply(data, &ranges[2])
			got, _ := readAll(t, NewBytesReader(data), ranges, ReadOptions{})
			for i, g := range got {
				want := result{fmt.Sprintf("%d,%d", i, i+100), "ok"}
				if i == 2 {
					want = result{"", "corrupt"}
				}
				if g != want {
					t.Errorf("vector %d: %v, want %v", i, g, want)
				}
			}
		})
	}
}

func TestAVectorWhoseRequestFailsGetsTheError(t *testing.T) {
	t.Parallel()
	data, blobs := puffinFile(t, 3, FinishOptions{})
	boom := errors.New("403 forbidden")
	bad := blobs[1]
	r := &countingReader{RangeReader: NewBytesReader(data), fail: func(q request) error {
		if q.offset <= bad.Offset && bad.Offset < q.offset+q.length {
			return boom
		}
		return nil
	}}
	got, _ := readAll(t, r, rangesOf(blobs), ReadOptions{})
	if got[0].status != "ok" || got[2].status != "ok" || got[1].status == "ok" || got[1].status == "corrupt" {
		t.Errorf("%v", got)
	}
}

func TestTheCallerStopsTheReading(t *testing.T) {
	t.Parallel()
	data, blobs := puffinFile(t, 5, FinishOptions{})
	enough := errors.New("enough")
	for _, opts := range []ReadOptions{{}, {MaxRequest: 1}} {
		n := 0
		err := ReadDeletionVectors(context.Background(), NewBytesReader(data), rangesOf(blobs), opts, func(int, *Bitmap, error) error {
			if n++; n == 2 {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) || n != 2 {
			t.Errorf("%v after %d", err, n)
		}
	}
}

func TestAResultSharesNoMemoryWithItsRequest(t *testing.T) {
	t.Parallel()
	data, blobs := puffinFile(t, 1, FinishOptions{})
	blob := data[blobs[0].Offset:][:blobs[0].Length]
	b, err := DecodeDeletionVector(blob, DeletionVectorRange{RecordCount: UnknownRecordCount})
	if err != nil {
		t.Fatal(err)
	}
	clear(data)
	if got := rangesText(b); got != "0,100" {
		t.Errorf("positions %s after the bytes were overwritten", got)
	}
}

func TestBlobsAreDeliveredAsTheyAreStored(t *testing.T) {
	a, b := []byte("not a deletion vector"), []byte("nor is this one here")
	file := append(append([]byte("PFA1"), a...), b...)
	ranges := []DeletionVectorRange{
		{Offset: 4 + int64(len(a)), Length: int64(len(b))}, {Offset: 4, Length: int64(len(a))}, {Offset: 4, Length: 1000},
	}
	want := []string{string(b), string(a), ""}
	err := ReadDeletionVectorBlobs(t.Context(), NewBytesReader(file), ranges, ReadOptions{}, func(i int, blob []byte, err error) error {
		if string(blob) != want[i] || errors.Is(err, ErrCorrupt) != (i == 2) {
			t.Errorf("range %d: %q, %v", i, blob, err)
		}
		want[i] = "delivered"
		return nil
	})
	if err != nil || !slices.Equal(want, []string{"delivered", "delivered", "delivered"}) {
		t.Errorf("%v, %q", err, want)
	}
}
