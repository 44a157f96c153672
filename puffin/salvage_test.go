package puffin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// salvageCase adds what the index says can be got out of a damaged vector.
type salvageCase struct {
	corpusRead
	blob []byte
}

// TestSalvageFindsWhatTheCorpusHoldsAndProvesNothingElse: what the index calls full is proven; what it calls bitmap-decodes
// is found but not proven; nothing that is proven is wrong. (A flipped bit and a wrong checksum look the same, so
// an unproven find may be wrong.)
func TestSalvageFindsWhatTheCorpusHoldsAndProvesNothingElse(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, f := range loadCorpus(t) {
		data, err := os.ReadFile(filepath.Join("testdata/corpus", f.File))
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range f.Reads {
			if !inside(r.Offset, r.Size, int64(len(data))) {
				continue
			}
			seen[r.Salvage]++
			t.Run(fmt.Sprintf("%s/%d", f.Kind, i), func(t *testing.T) {
				t.Parallel()
				checkSalvage(t, salvageCase{r, data[r.Offset : r.Offset+r.Size]})
			})
		}
	}
	if seen["full"] == 0 || seen["bitmap-decodes"] == 0 || seen["partial"] == 0 || seen["none"] == 0 {
		t.Errorf("the corpus lacks a kind: %v", seen)
	}
}

func checkSalvage(t *testing.T, c salvageCase) {
	t.Helper()
	s := SalvageDeletionVector(c.blob, c.rng("x.puffin"))
	if (s.Damage == nil) == (c.DV == "corrupt") && len(c.DVAlso) == 0 || s.Damage != nil && !errors.Is(s.Damage, ErrCorrupt) {
		t.Errorf("damage %v of a vector that is %s", s.Damage, c.DV)
	}
	if s.Proof == ProofChecksum && (c.Positions == nil || rangesText(s.Bitmap) != *c.Positions) {
		t.Errorf("proven, but wrong: %.100s", rangesText(s.Bitmap))
	}
	// Where the cardinality is in question, only the footer can tell that the manifest is wrong.
	want := map[string]Proof{"full": ProofChecksum, "bitmap-decodes": ProofBitmap, "partial": ProofPartial}[c.Salvage]
	if c.Fault == "dv-cardinality" && c.DV == "corrupt" {
		want = ProofPartial
	}
	if want != ProofNone && (s.Proof != want || rangesText(s.Bitmap) != *c.Positions) {
		t.Errorf("proof %d, want %d; positions %.100s, want %.100s; damage %v", s.Proof, want, rangesText(s.Bitmap), *c.Positions, s.Damage)
	}
	if s.Proof == ProofNone && !s.Bitmap.IsEmpty() {
		t.Error("positions without any proof")
	}
}
