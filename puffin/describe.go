package puffin

import "fmt"

// Description is what the bytes of a deletion vector look like, beyond the positions they hold.
type Description struct {
	// Cardinality is the number of positions.
	Cardinality int64
	// Keys is the number of keys, EmptyKeys that of those whose bitmap is empty, as gap keys are.
	Keys, EmptyKeys int
	// Arrays, Bitsets and Runs are the numbers of containers of each kind.
	Arrays, Bitsets, Runs int
	// TrailingBytes is the number of bytes between the last bitmap and the CRC-32, which should be none.
	TrailingBytes int
	// Oddities are breaches of the Roaring format that leave no doubt about the positions and are therefore
	// accepted: an offset header that points elsewhere, a run container's header cardinality that is not that of its
	// runs, runs that touch, padding bits that are set.
	Oddities []string
}

// DescribeDeletionVector decodes blob as [DecodeDeletionVector] does and tells how it is stored. With an error the
// description covers what was understood before it.
func DescribeDeletionVector(blob []byte, at DeletionVectorRange) (Description, error) {
	_, d, err := DecodeAndDescribe(blob, at)
	return d, err
}

// DecodeAndDescribe is [DecodeDeletionVector] and [DescribeDeletionVector] at the cost of one. The bitmap is nil with an
// error.
func DecodeAndDescribe(blob []byte, at DeletionVectorRange) (*Bitmap, Description, error) {
	v, err := decodeFramed(blob, at)
	s := v.total
	d := Description{Cardinality: s.cardinality, Keys: v.keys, EmptyKeys: v.empty,
		Arrays: s.arrays, Bitsets: s.bitsets, Runs: s.runs, TrailingBytes: v.trailing}
	for _, odd := range []struct {
		is   bool
		text string
	}{
		{s.offsetsOdd, "offset header does not match the containers"},
		{s.cardOdd, "header cardinality of a run container is not that of its runs"},
		{s.touching, "runs touch"},
		{s.flagsOdd, "padding bits of the run flags are set"},
	} {
		if odd.is {
			d.Oddities = append(d.Oddities, odd.text)
		}
	}
	if err != nil {
		return nil, d, err
	}
	return v.bitmap, d, nil
}

// String describes the vector in one line.
func (d Description) String() string {
	return fmt.Sprintf("%d positions in %d keys (%d empty): %d array, %d bitset, %d run containers",
		d.Cardinality, d.Keys, d.EmptyKeys, d.Arrays, d.Bitsets, d.Runs)
}
