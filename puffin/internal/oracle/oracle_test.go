// Package oracle holds only tests: they compare with iceberg-go, whose dependencies would slow down the package's own.
package oracle

import (
	"bytes"
	"slices"
	"testing"

	"github.com/apache/iceberg-go/table/dv"
	"pgregory.net/rapid"

	"github.com/dvcompactor/dvcompactor/puffin"
)

// drawRanges gives disjoint ascending ranges over a few keys: iceberg-go fills the gaps between keys.
func drawRanges(t *rapid.T) [][2]int64 {
	var out [][2]int64
	next := int64(0)
	for range rapid.IntRange(0, 60).Draw(t, "ranges") {
		first := next + rapid.SampledFrom([]int64{1, 2, 700, 65536, 1 << 31}).Draw(t, "gap")
		last := first + rapid.SampledFrom([]int64{0, 0, 1, 3, 5000, 70000}).Draw(t, "length")
		if last>>32 > 40 {
			break
		}
		out = append(out, [2]int64{first, last})
		next = last
	}
	return out
}

func TestVectorsAgreeWithThoseOfIcebergGo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ours, theirs := puffin.NewBitmap(), dv.NewRoaringPositionBitmap()
		for _, r := range drawRanges(t) {
			if err := ours.AddRange(r[0], r[1]); err != nil {
				t.Fatal(err)
			}
			theirs.SetRange(uint64(r[0]), uint64(r[1])+1)
		}
		if rapid.Bool().Draw(t, "run-optimised") {
			theirs.RunLengthEncode()
		}
		blob, err := puffin.EncodeDeletionVector(ours)
		if err != nil {
			t.Fatal(err)
		}
		read, err := dv.DeserializeDV(blob, ours.Cardinality())
		if err != nil {
			t.Fatalf("iceberg-go does not read our vector: %v", err)
		}
		same(t, ours, read)
		blob, err = dv.SerializeDV(theirs)
		if err != nil {
			t.Fatal(err)
		}
		back, err := puffin.DecodeDeletionVector(blob, puffin.DeletionVectorRange{RecordCount: theirs.Cardinality()})
		if err != nil {
			t.Fatalf("we do not read iceberg-go's vector: %v", err)
		}
		if !back.Equal(ours) {
			t.Fatal("iceberg-go's vector is another set")
		}
	})
}

func same(t *rapid.T, ours *puffin.Bitmap, theirs *dv.RoaringPositionBitmap) {
	t.Helper()
	var want []int64
	for p := range theirs.Positions() {
		want = append(want, int64(p))
	}
	if !slices.Equal(ours.ToSlice(), want) {
		t.Fatalf("%d positions, iceberg-go has %d", ours.Cardinality(), len(want))
	}
}

func TestOneKeyIsWrittenAsIcebergGoWritesIt(t *testing.T) {
	t.Parallel()
	ours, theirs := puffin.NewBitmap(), dv.NewRoaringPositionBitmap()
	for _, p := range []int64{3, 4, 5, 6, 100, 70000, 1 << 31} {
		if err := ours.Add(p); err != nil {
			t.Fatal(err)
		}
		theirs.Set(uint64(p))
	}
	theirs.RunLengthEncode()
	got, err := puffin.EncodeDeletionVector(ours)
	if err != nil {
		t.Fatal(err)
	}
	want, err := dv.SerializeDV(theirs)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("% x\nwant\n% x", got, want)
	}
}
