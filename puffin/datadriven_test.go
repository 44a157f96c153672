package puffin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/scripts")

// TestScripts runs testdata/scripts: blocks of commands, a line of four dashes and the output, divided by empty lines.
//
//	write                        the puffin file of the following lines, annotated
//	  dv PATH RANGES             a deletion vector of ranges such as 1,3-5
//	  dv-bytes PATH HEX          a deletion vector, encoded elsewhere
//	  blob TYPE CODEC TEXT       another blob
//	  property KEY VALUE         a file-level property
//	  finish [lz4]
//	encode RANGES                the blob, annotated
//	decode HEX [RECORDS]         the ranges of a blob, or the error
//	vector HEX [RECORDS]         the same of a vector that gets a right frame first
//	footer [lz4] JSON            the blobs and properties of a payload, or the error
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out := runScript(t, string(data))
			if *update {
				if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if out != string(data) {
				t.Errorf("%s: output differs; got\n%s", file, firstDifference(out, string(data)))
			}
		})
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d:\n  got  %s\n  want %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

func runScript(t *testing.T, script string) string {
	var blocks []string
	for block := range strings.SplitSeq(strings.TrimSpace(script), "\n\n") {
		input, _, isCommand := strings.Cut(block, "\n----")
		if !isCommand {
			blocks = append(blocks, block)
			continue
		}
		blocks = append(blocks, strings.TrimRight(input+"\n----\n"+runBlock(t, input), "\n"))
	}
	return strings.Join(blocks, "\n\n") + "\n"
}

func runBlock(t *testing.T, input string) string {
	lines := strings.Split(input, "\n")
	for len(lines) > 1 && strings.HasPrefix(lines[0], "#") {
		lines = lines[1:]
	}
	command, args, _ := strings.Cut(lines[0], " ")
	switch command {
	case "write":
		return scriptWrite(t, lines[1:])
	case "encode":
		blob, err := EncodeDeletionVector(parseRanges(t, args))
		if err != nil {
			return err.Error()
		}
		return hex.EncodeToString(blob) + "\n" + annotated(AnnotateDeletionVector(blob, 0))
	case "decode", "vector":
		return scriptDecode(t, command, args)
	case "footer":
		return scriptFooter(args)
	default:
		t.Fatalf("unknown command %q", command)
		return ""
	}
}

func annotated(regions []Region) string {
	var s strings.Builder
	for _, r := range regions {
		fmt.Fprintf(&s, "%6d %4d  %-28s %s", r.Offset, r.Length, r.Name, r.Value)
		if r.Note != "" {
			fmt.Fprintf(&s, "  # %s", r.Note)
		}
		s.WriteString("\n")
	}
	return strings.ReplaceAll(s.String(), " \n", "\n")
}

func parseRanges(t *testing.T, text string) *Bitmap {
	b := NewBitmap()
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.ParseInt(first, 10, 64)
		to, err2 := strconv.ParseInt(last, 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("range %q", part)
		}
		if err := b.AddRange(from, to); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func scriptWrite(t *testing.T, lines []string) string {
	var buf bytes.Buffer
	w := NewWriter(&buf, WriterOptions{CreatedBy: "a test"})
	for _, line := range lines {
		fields := strings.Fields(line)
		fields = append(fields, "", "")
		var err error
		switch fields[0] {
		case "dv":
			_, err = w.AddDeletionVector(fields[1], parseRanges(t, fields[2]))
		case "dv-bytes":
			blob, _ := hex.DecodeString(fields[2])
			_, err = w.AddEncodedDeletionVector(fields[1], blob, 1)
		case "blob":
			codec := strings.Trim(fields[2], "-")
			_, err = w.AddBlob(Blob{Type: fields[1], Fields: []int32{1}, SnapshotID: 7, SequenceNumber: 8, Codec: codec,
				Properties: map[string]string{PropertyNDV: "3"}, Data: []byte(strings.Join(fields[3:], " "))})
		case "property":
			err = w.SetProperty(fields[1], fields[2])
		case "finish":
			_, err = w.Finish(FinishOptions{CompressFooter: fields[1] == "lz4"})
		default:
			t.Fatalf("unknown line %q", line)
		}
		if err != nil {
			return fmt.Sprintf("%s: %v", fields[0], err)
		}
	}
	json, err := w.FooterJSON()
	if err != nil {
		return err.Error()
	}
	return annotated(Annotate(buf.Bytes())) + string(json)
}

func scriptDecode(t *testing.T, command, args string) string {
	text, records, given := strings.Cut(args, " ")
	blob, err := hex.DecodeString(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if command == "vector" {
		blob = frame(blob)
	}
	rng := DeletionVectorRange{Offset: 100, RecordCount: UnknownRecordCount, Location: "s3://b/x.puffin", ReferencedDataFile: "s3://b/1.parquet"}
	if given {
		if rng.RecordCount, err = strconv.ParseInt(records, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	b, err := ReadDeletionVector(context.Background(), offsetReader{blob, rng.Offset}, withLength(rng, blob))
	if err != nil {
		return fmt.Sprintf("%s: %v", asCorruption(err).Kind, err)
	}
	d, err := DescribeDeletionVector(blob, rng)
	return fmt.Sprintf("%s\n%v %v, %d trailing bytes, %v", cmp.Or(rangesText(b), "none"), d, d.Oddities, d.TrailingBytes, err)
}

func withLength(r DeletionVectorRange, blob []byte) DeletionVectorRange {
	r.Length = int64(len(blob))
	return r
}

// offsetReader has data at an offset.
type offsetReader struct {
	data   []byte
	offset int64
}

func (r offsetReader) ReadRange(ctx context.Context, offset, length int64) ([]byte, error) {
	return NewBytesReader(r.data).ReadRange(ctx, offset-r.offset, length)
}

func scriptFooter(args string) string {
	payload := []byte(args)
	json, compressed := strings.CutPrefix(args, "lz4 ")
	if compressed {
		payload, _ = compressLZ4([]byte(json))
	}
	f, err := ParseFooterPayload(payload, compressed, PayloadOptions{Location: "x.puffin", Offset: 1000, BlobsEnd: 996})
	if err != nil {
		return fmt.Sprintf("%s: %v", asCorruption(err).Kind, err)
	}
	var s strings.Builder
	for _, b := range f.Blobs {
		fmt.Fprintf(&s, "%v fields %v\n", b, b.Fields)
	}
	fmt.Fprintf(&s, "properties %v", f.Properties)
	return s.String()
}
