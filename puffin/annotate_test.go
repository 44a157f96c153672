package puffin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryByteOfTheCorpusIsExplainedAndDamageIsNoted(t *testing.T) {
	t.Parallel()
	for _, f := range loadCorpus(t) {
		t.Run(f.Kind, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join("testdata/corpus", f.File))
			if err != nil {
				t.Fatal(err)
			}
			regions := Annotate(data)
			covers(t, regions, 0, int64(len(data)))
			if f.Footer == "corrupt" && !hasNote(regions, "corrupt") {
				t.Errorf("no note about the footer in %+v", regions)
			}
			for _, r := range f.Reads {
				if !inside(r.Offset, r.Size, int64(len(data))) {
					continue
				}
				regions := AnnotateDeletionVector(data[r.Offset:r.Offset+r.Size], r.Offset)
				if r.Size > 0 {
					covers(t, regions, r.Offset, r.Size)
				}
				if r.DV == "corrupt" && r.Fault == "dv-corrupt" && !hasNote(regions, "expected") {
					t.Errorf("no note about the vector at %d: %+v", r.Offset, regions)
				}
				if r.DV == "ok" && r.Fault == "" && hasNote(regions, "expected") {
					t.Errorf("a note about a good vector: %+v", regions)
				}
			}
		})
	}
}

func hasNote(regions []Region, text string) bool {
	for _, r := range regions {
		if strings.Contains(r.Note, text) {
			return true
		}
	}
	return false
}

func TestAnnotationsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	good := frame([]byte("\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x3b\x30\x00\x00\x01\x00\x00\x02\x00\x01\x00\x05\x00\x02\x00"))
	change := func(at int, b byte) []byte {
		bad := append([]byte{}, good...)
		bad[at] = b
		return bad
	}
	complement := append([]byte{}, good...)
	for i := len(good) - 4; i < len(good); i++ {
		complement[i] ^= 0xff
	}
	for name, c := range map[string]struct {
		blob []byte
		want string
	}{
		"nothing at all":      {nil, "found none"},
		"too short":           {good[:10], "at least 20 bytes, found 10"},
		"a wrong length":      {change(3, 9), "expected 31"},
		"a wrong magic":       {change(4, 9), "expected d1 d3 39 64"},
		"a wrong count":       {change(8, 2), "then key count"},
		"a key out of range":  {change(19, 0xff), "then key: expected at most"},
		"an unknown cookie":   {change(20, 0), "then Roaring cookie"},
		"a wrong checksum":    {change(len(good)-1, 0), "expected 0x"},
		"a complement":        {complement, "one's complement"},
		"a count that is low": {change(8, 0), "bytes after the last bitmap"},
	} {
		if regions := AnnotateDeletionVector(c.blob, 0); !hasNote(regions, c.want) {
			t.Errorf("%s: no note %q in %+v", name, c.want, regions)
		}
	}
	if hasNote(AnnotateDeletionVector(good, 0), "") != true || hasNote(AnnotateDeletionVector(good, 0), "expected") {
		t.Error("a note about a good vector")
	}
}
