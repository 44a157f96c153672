package puffin

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomSorted draws n different positions below limit, ascending.
func randomSorted(n int, limit int64) []int64 {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([]int64, 0, n)
	for len(out) < n {
		for len(out) < n {
			out = append(out, rng.Int64N(limit))
		}
		slices.Sort(out)
		out = slices.Compact(out)
	}
	return out
}

type benchCase struct {
	name      string
	positions []int64
}

func benchCases() []benchCase {
	run := make([]int64, 100_000)
	for i := range run {
		run[i] = 12345 + int64(i)
	}
	return []benchCase{
		{"100k of 10M", randomSorted(100_000, 10_000_000)},
		{"1M of 10M", randomSorted(1_000_000, 10_000_000)},
		{"1k of 10M", randomSorted(1000, 10_000_000)},
		{"run of 100k", run},
	}
}

// perPosition reports nanoseconds per position.
func perPosition(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/pos")
	b.ReportMetric(0, "ns/op")
}

func (c benchCase) bitmap(b *testing.B) *Bitmap {
	m := NewBitmap()
	if err := m.AddMany(c.positions); err != nil {
		b.Fatal(err)
	}
	return m
}

func BenchmarkAddMany(b *testing.B) {
	for _, c := range benchCases() {
		for _, size := range []int{len(c.positions), 1024, 64} {
			b.Run(fmt.Sprintf("%s/batches of %d", c.name, size), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					m := NewBitmap()
					for chunk := range slices.Chunk(c.positions, size) {
						if err := m.AddMany(chunk); err != nil {
							b.Fatal(err)
						}
					}
				}
				perPosition(b, len(c.positions))
			})
		}
	}
}

func BenchmarkAddManyShuffled(b *testing.B) {
	positions := randomSorted(100_000, 10_000_000)
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(positions), func(i, j int) { positions[i], positions[j] = positions[j], positions[i] })
	for b.Loop() {
		if err := NewBitmap().AddMany(positions); err != nil {
			b.Fatal(err)
		}
	}
	perPosition(b, len(positions))
}

func BenchmarkEncode(b *testing.B) {
	for _, c := range benchCases() {
		b.Run(c.name, func(b *testing.B) {
			m := c.bitmap(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := EncodeDeletionVector(m); err != nil {
					b.Fatal(err)
				}
			}
			perPosition(b, len(c.positions))
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range benchCases() {
		b.Run(c.name, func(b *testing.B) {
			blob, err := EncodeDeletionVector(c.bitmap(b))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(blob)))
			for b.Loop() {
				if _, err := DecodeDeletionVector(blob, DeletionVectorRange{RecordCount: int64(len(c.positions))}); err != nil {
					b.Fatal(err)
				}
			}
			perPosition(b, len(c.positions))
		})
	}
}

func BenchmarkRanges(b *testing.B) {
	for _, c := range benchCases() {
		b.Run(c.name, func(b *testing.B) {
			m := c.bitmap(b)
			var sum int64
			for b.Loop() {
				for first, last := range m.Ranges() {
					sum += last - first
				}
			}
			perPosition(b, len(c.positions))
		})
	}
}

func BenchmarkOr(b *testing.B) {
	positions := randomSorted(200_000, 10_000_000)
	x, y := NewBitmap(), NewBitmap()
	for i, p := range positions {
		half := x
		if i%2 == 0 {
			half = y
		}
		if err := half.Add(p); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		x.Clone().Or(y)
	}
	perPosition(b, len(positions)/2)
}
