package puffin

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"pgregory.net/rapid"
)

// mustBitmap makes a set of positions.
func mustBitmap(t testing.TB, positions ...int64) *Bitmap {
	t.Helper()
	b := NewBitmap()
	if err := b.AddMany(positions); err != nil {
		t.Fatal(err)
	}
	return b
}

// drawPositions makes clusters, so that arrays, bitsets, runs and several keys all come up.
func drawPositions(t *rapid.T, label string) []int64 {
	bases := []int64{0, 65500, 1 << 20, 1<<32 - 40, 1<<32 + 5, 7 << 33, MaxPosition - 30000}
	var out []int64
	for range rapid.IntRange(0, 2).Draw(t, label+" clusters") {
		base := rapid.SampledFrom(bases).Draw(t, "base")
		n := rapid.SampledFrom([]int{1, 2, 3, 5, 47, 193, 194, 300, 300, 4200}).Draw(t, "n")
		step := rapid.SampledFrom([]int64{1, 2, 3, 100}).Draw(t, "step")
		for i := range int64(n) {
			if p := base + i*step; p <= MaxPosition {
				out = append(out, p)
			}
		}
	}
	switch rapid.SampledFrom([]string{"as drawn", "sorted", "shuffled", "doubled"}).Draw(t, "order") {
	case "sorted":
		slices.Sort(out)
	case "shuffled":
		seed := rapid.Uint64().Draw(t, "seed")
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	case "doubled":
		out = append(out, out...)
	}
	return out
}

func asUint64(positions []int64) []uint64 {
	out := make([]uint64, len(positions))
	for i, p := range positions {
		out[i] = uint64(p)
	}
	return out
}

// sameAsModel compares every way to read a set with the library's 64-bit bitmap.
func sameAsModel(t *rapid.T, b *Bitmap, model *roaring64.Bitmap) {
	t.Helper()
	want := model.ToArray()
	if got := asUint64(b.ToSlice()); !slices.Equal(got, want) {
		t.Fatalf("ToSlice: %d positions, want %d", len(got), len(want))
	}
	if got := slices.Collect(b.Positions()); !slices.Equal(asUint64(got), want) {
		t.Fatalf("Positions: %d positions, want %d", len(got), len(want))
	}
	if b.Cardinality() != int64(len(want)) || b.IsEmpty() != (len(want) == 0) {
		t.Fatalf("cardinality %d, empty %v, want %d", b.Cardinality(), b.IsEmpty(), len(want))
	}
	if last, ok := b.Max(); ok != (len(want) > 0) || ok && uint64(last) != want[len(want)-1] {
		t.Fatalf("Max %d %v", last, ok)
	}
	var fromRanges []uint64
	prev := int64(-2)
	for first, last := range b.Ranges() {
		if first <= prev+1 || last < first {
			t.Fatalf("range %d-%d after %d", first, last, prev)
		}
		prev = last
		for p := first; p <= last; p++ {
			fromRanges = append(fromRanges, uint64(p))
		}
	}
	if !slices.Equal(fromRanges, want) {
		t.Fatalf("Ranges hold %d positions, want %d", len(fromRanges), len(want))
	}
	for _, m := range b.maps {
		if m.IsEmpty() {
			t.Fatal("a key with an empty bitmap")
		}
		if err := m.Validate(); err != nil {
			t.Fatalf("library bitmap: %v", err)
		}
	}
}

// machine runs the same random operations on a Bitmap and on the library's 64-bit bitmap.
type machine struct {
	b     *Bitmap
	model *roaring64.Bitmap
	// kept are earlier states that later operations must leave alone, whatever memory they share.
	kept   []*Bitmap
	copies []*roaring64.Bitmap
}

func (m *machine) other(t *rapid.T) (*Bitmap, *roaring64.Bitmap) {
	positions := drawPositions(t, "other")
	o, om := NewBitmap(), roaring64.New()
	if err := o.AddMany(positions); err != nil {
		t.Fatal(err)
	}
	om.AddMany(asUint64(positions))
	return o, om
}

func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"add many": func(t *rapid.T) {
			positions := drawPositions(t, "add")
			before := slices.Clone(positions)
			if err := m.b.AddMany(positions); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(before, positions) {
				t.Fatal("AddMany changed its argument")
			}
			m.model.AddMany(asUint64(positions))
		},
		"add": func(t *rapid.T) {
			p := rapid.Int64Range(0, MaxPosition).Draw(t, "position")
			if err := m.b.Add(p); err != nil {
				t.Fatal(err)
			}
			m.model.Add(uint64(p))
		},
		"add range": func(t *rapid.T) {
			first := rapid.SampledFrom([]int64{0, 65000, 1<<32 - 10, 1 << 33, MaxPosition - 9000}).Draw(t, "first")
			n := rapid.Int64Range(1, 9000).Draw(t, "n")
			if err := m.b.AddRange(first, first+n-1); err != nil {
				t.Fatal(err)
			}
			m.model.AddRange(uint64(first), uint64(first+n))
		},
		"or": func(t *rapid.T) {
			o, om := m.other(t)
			m.b.Or(o)
			m.model.Or(om)
			m.keep(o, om)
		},
		"and not": func(t *rapid.T) {
			o, om := m.other(t)
			m.b.AndNot(o)
			m.model.AndNot(om)
			m.keep(o, om)
		},
		"run optimise":      func(*rapid.T) { m.b.RunOptimize() },
		"go on with a copy": func(*rapid.T) { c := m.b.Clone(); m.keep(m.b, m.model.Clone()); m.b = c },
		"go on after a round trip": func(t *rapid.T) {
			blob, err := EncodeDeletionVector(m.b)
			if err != nil {
				t.Fatal(err)
			}
			back, err := DecodeDeletionVector(blob, DeletionVectorRange{RecordCount: m.b.Cardinality()})
			if err != nil {
				t.Fatal(err)
			}
			if !back.Equal(m.b) || !back.IsSubsetOf(m.b) || !m.b.IsSubsetOf(back) {
				t.Fatal("another set after a round trip")
			}
			clear(blob) // the set must not care
			m.keep(m.b, m.model.Clone())
			m.b = back
		},
		"": func(t *rapid.T) {
			sameAsModel(t, m.b, m.model)
		},
	}
}

func (m *machine) keep(b *Bitmap, model *roaring64.Bitmap) {
	m.kept, m.copies = append(m.kept, b), append(m.copies, model)
	if len(m.kept) > 3 {
		m.kept, m.copies = m.kept[1:], m.copies[1:]
	}
}

func TestAnySequenceOfOperationsEndsInTheSetTheLibraryHas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{b: NewBitmap(), model: roaring64.New()}
		t.Repeat(m.actions())
		for i, b := range m.kept {
			sameAsModel(t, b, m.copies[i])
		}
	})
}

func TestSetRelationsAgreeWithTheLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := machine{}
		a, am := m.other(t)
		b, bm := m.other(t)
		if got, want := a.Equal(b), am.Equals(bm); got != want {
			t.Fatalf("Equal %v, want %v", got, want)
		}
		if got, want := a.IsSubsetOf(b), am.AndCardinality(bm) == am.GetCardinality(); got != want {
			t.Fatalf("IsSubsetOf %v, want %v", got, want)
		}
		for _, p := range a.ToSlice() {
			if !a.Contains(p) || b.Contains(p) != bm.Contains(uint64(p)) {
				t.Fatalf("Contains(%d)", p)
			}
		}
	})
}

func TestTheSameSetHasTheSameBytesHoweverItWasBuilt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		positions := drawPositions(t, "positions")
		atOnce, oneByOne, inRanges, lessMore := NewBitmap(), NewBitmap(), NewBitmap(), NewBitmap()
		if err := atOnce.AddMany(positions); err != nil {
			t.Fatal(err)
		}
		for _, p := range positions {
			if err := oneByOne.Add(p); err != nil {
				t.Fatal(err)
			}
		}
		for first, last := range atOnce.Ranges() {
			if err := inRanges.AddRange(first, last); err != nil {
				t.Fatal(err)
			}
		}
		extra := mustBitmapRapid(t, drawPositions(t, "extra"))
		lessMore.Or(extra)
		extra.AndNot(atOnce)
		lessMore.Or(atOnce)
		lessMore.AndNot(extra)
		want, err := EncodeDeletionVector(atOnce)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range []*Bitmap{oneByOne, inRanges, lessMore} {
			got, err := EncodeDeletionVector(b)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("%d bytes, want %d: %v", len(got), len(want), err)
			}
		}
	})
}

func mustBitmapRapid(t *rapid.T, positions []int64) *Bitmap {
	b := NewBitmap()
	if err := b.AddMany(positions); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPositionsOutsideTheFormatAreRefusedAndNothingIsAdded(t *testing.T) {
	t.Parallel()
	cases := map[string][]int64{
		"negative first":           {-1, 1, 2},
		"negative last":            {5, 4, -9},
		"above the maximum":        {1, MaxPosition + 1},
		"above it, not sorted":     {MaxPosition + 1, 1},
		"largest int64":            {1<<63 - 1},
		"smallest int64":           {-1 << 63},
		"a long batch ends so":     append(slices.Collect(mustBitmap(t, 1, 2, 3).Positions()), MaxPosition+2),
		"duplicates and a bad one": {3, 3, -3},
	}
	for name, positions := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := NewBitmap()
			if err := b.AddMany(positions); err == nil || !b.IsEmpty() {
				t.Errorf("AddMany: %v, %d positions added", err, b.Cardinality())
			}
			bad := slices.Max(positions)
			if slices.Min(positions) < 0 {
				bad = slices.Min(positions)
			}
			if err := b.Add(bad); err == nil || b.Contains(bad) {
				t.Errorf("Add(%d) was accepted", bad)
			}
		})
	}
}

func TestRangesOutsideTheFormatAreRefused(t *testing.T) {
	t.Parallel()
	for name, r := range map[string][2]int64{
		"negative":              {-1, 5},
		"past the maximum":      {MaxPosition, MaxPosition + 1},
		"empty":                 {6, 5},
		"longer than any table": {0, MaxPosition},
	} {
		b := NewBitmap()
		if err := b.AddRange(r[0], r[1]); err == nil || !b.IsEmpty() {
			t.Errorf("%s: AddRange(%d, %d): %v", name, r[0], r[1], err)
		}
	}
}

func TestARunAcrossTwoKeysIsOneRange(t *testing.T) {
	t.Parallel()
	b := NewBitmap()
	if err := b.AddRange(1<<32-3, 1<<32+2); err != nil {
		t.Fatal(err)
	}
	if got := rangesText(b); got != "4294967293-4294967298" {
		t.Errorf("ranges %s", got)
	}
	if len(b.keys) != 2 {
		t.Errorf("%d keys", len(b.keys))
	}
}

func TestIterationStopsWhenTheCallerDoes(t *testing.T) {
	t.Parallel()
	b := mustBitmap(t, 1, 2, 5, 1<<33, 1<<34)
	n := 0
	for range b.Positions() {
		if n++; n == 2 {
			break
		}
	}
	for range b.Ranges() {
		if n++; n == 4 {
			break
		}
	}
	if n != 4 {
		t.Errorf("%d steps", n)
	}
}

func TestASetIsSmallerThanItsPositions(t *testing.T) {
	t.Parallel()
	b := NewBitmap()
	if err := b.AddRange(0, 1<<26); err != nil {
		t.Fatal(err)
	}
	b.RunOptimize()
	if size := b.SizeInBytes(); size == 0 || size > 1<<20 {
		t.Errorf("%d bytes for a run", size)
	}
	b.AndNot(b)
	if !b.IsEmpty() {
		t.Error("a set less itself is not empty")
	}
	b.Or(b)
	if !b.IsEmpty() {
		t.Error("an empty set and itself is not empty")
	}
}
