package puffin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// corpusFile and corpusRead are the entries of testdata/corpus/index.json.
type corpusFile struct {
	File        string       `json:"file"`
	Kind        string       `json:"kind"`
	What        string       `json:"what"`
	Footer      string       `json:"footer"`
	FooterAlso  []string     `json:"footer_also"`
	FooterBlobs *int         `json:"footer_blobs"`
	MaxAllocMiB uint64       `json:"max_alloc_mib"`
	Reads       []corpusRead `json:"reads"`
}

type corpusRead struct {
	DataFile    string   `json:"data_file"`
	Offset      int64    `json:"offset"`
	Size        int64    `json:"size"`
	RecordCount int64    `json:"record_count"`
	DV          string   `json:"dv"`
	DVAlso      []string `json:"dv_also"`
	Fault       string   `json:"fault"`
	Positions   *string  `json:"positions"`
	Salvage     string   `json:"salvage"`
}

func loadCorpus(t testing.TB) []corpusFile {
	t.Helper()
	data, err := os.ReadFile("testdata/corpus/index.json")
	if err != nil {
		t.Fatal(err)
	}
	var index struct {
		Files []corpusFile `json:"files"`
	}
	if err := json.Unmarshal(data, &index); err != nil {
		t.Fatal(err)
	}
	if len(index.Files) == 0 {
		t.Fatal("the corpus is empty")
	}
	return index.Files
}

// status is the word the index uses for an outcome.
func status(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, ErrCorrupt):
		return "corrupt"
	case errors.Is(err, ErrUnsupported):
		return "unsupported"
	default:
		return "error " + err.Error()
	}
}

// rangesText writes a set the way the index does.
func rangesText(b *Bitmap) string {
	var parts []string
	for first, last := range b.Ranges() {
		if first == last {
			parts = append(parts, strconv.FormatInt(first, 10))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", first, last))
		}
	}
	return strings.Join(parts, ",")
}

func (r corpusRead) rng(file string) DeletionVectorRange {
	return DeletionVectorRange{Offset: r.Offset, Length: r.Size, RecordCount: r.RecordCount, Location: file, ReferencedDataFile: r.DataFile}
}

func TestEveryFooterOfTheCorpusIsClassifiedAsItsIndexSays(t *testing.T) {
	t.Parallel()
	for _, f := range loadCorpus(t) {
		t.Run(f.Kind, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join("testdata/corpus", f.File))
			if err != nil {
				t.Fatal(err)
			}
			file, err := Open(context.Background(), NewBytesReader(data), OpenOptions{Location: f.File})
			if got := status(err); got != f.Footer {
				if !slices.Contains(f.FooterAlso, got) {
					t.Errorf("%s: footer is %s (%v), want %s", f.What, got, err, f.Footer)
				}
				t.Logf("also-answer: %s instead of %s", got, f.Footer)
			}
			if err == nil && f.FooterBlobs != nil && len(file.Blobs) != *f.FooterBlobs {
				t.Errorf("%d blobs, want %d", len(file.Blobs), *f.FooterBlobs)
			}
			if err != nil && !strings.Contains(err.Error(), f.File) {
				t.Errorf("error does not name the file: %v", err)
			}
		})
	}
}

func TestEveryDeletionVectorOfTheCorpusIsReadAsItsIndexSays(t *testing.T) {
	t.Parallel()
	for _, f := range loadCorpus(t) {
		data, err := os.ReadFile(filepath.Join("testdata/corpus", f.File))
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range f.Reads {
			t.Run(fmt.Sprintf("%s/%d", f.Kind, i), func(t *testing.T) {
				t.Parallel()
				b, err := ReadDeletionVector(context.Background(), NewBytesReader(data), r.rng(f.File))
				checkCorpusRead(t, f, r, b, err)
			})
		}
	}
}

func checkCorpusRead(t *testing.T, f corpusFile, r corpusRead, b *Bitmap, err error) {
	t.Helper()
	got := status(err)
	if got != r.DV {
		if !slices.Contains(r.DVAlso, got) {
			t.Errorf("%s: vector at %d+%d is %s (%v), want %s", f.What, r.Offset, r.Size, got, err, r.DV)
		}
		t.Logf("also-answer: %s instead of %s", got, r.DV)
	}
	if err == nil && r.DV == "ok" && r.Positions != nil {
		if text := rangesText(b); text != *r.Positions {
			t.Errorf("positions %.200s, want %.200s", text, *r.Positions)
		}
	}
	if err != nil && (!strings.Contains(err.Error(), f.File) || !strings.Contains(err.Error(), r.DataFile)) {
		t.Errorf("error does not name file and data file: %v", err)
	}
}
