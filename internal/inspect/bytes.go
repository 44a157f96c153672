package inspect

import (
	"fmt"
	"io"
	"strings"

	"github.com/dvcompactor/dvcompactor/internal/term"
	"github.com/dvcompactor/dvcompactor/puffin"
)

// SmallFile is up to how many bytes a file is shown byte by byte without being asked.
const SmallFile = 2 << 10

// MaxBytes is up to how many bytes a file or deletion vector can be shown byte by byte: it is read as a whole.
const MaxBytes = 64 << 20

const (
	hexColumns = 16
	// hexLines is how many lines of one part are shown unless everything is asked for.
	hexLines = 4
)

// dump writes data as hexadecimal digits, with the names of its parts. start is where in the file data begins.
func (t *text) dump(data []byte, start int64, regions []puffin.Region) {
	for _, r := range regions {
		from := r.Offset - start
		if from < 0 || r.Length <= 0 || from+r.Length > int64(len(data)) {
			t.printf("  %s\n", t.title(r))
			continue
		}
		t.region(data[from:from+r.Length], r)
	}
}

// region writes one part: its name beside the first line of its bytes.
func (t *text) region(data []byte, r puffin.Region) {
	name := t.title(r)
	for line := 0; len(data) > 0; line++ {
		if line == hexLines && !t.all && len(data) > hexColumns {
			t.printf("            %s\n", t.style.Dim(fmt.Sprintf("… %s more", term.Plural(int64(len(data)), "byte", "bytes"))))
			return
		}
		n := min(hexColumns, len(data))
		at := r.Offset + int64(line*hexColumns)
		row := fmt.Sprintf("  %s  %-*s  %-*s", t.style.Dim(fmt.Sprintf("%08x", at)), hexColumns*3-1, hex(data[:n]), hexColumns, printable(data[:n]))
		if line == 0 {
			row += "  " + name
		}
		t.printf("%s\n", strings.TrimRight(row, " "))
		data = data[n:]
	}
}

// title is the name of a part with its value and what is wrong with it.
func (t *text) title(r puffin.Region) string {
	title := t.style.Bold(term.Safe(r.Name))
	if r.Value != "" {
		title += " " + term.Safe(r.Value)
	}
	if r.Note != "" {
		title += "  " + t.style.Warn("("+term.Safe(r.Note)+")")
	}
	return title
}

func hex(data []byte) string { return fmt.Sprintf("% x", data) }

func printable(data []byte) string {
	out := make([]byte, len(data))
	for i, b := range data {
		out[i] = '.'
		if b >= 0x20 && b < 0x7f {
			out[i] = b
		}
	}
	return string(out)
}

// text writes for people and keeps the first error of writing.
type text struct {
	w     io.Writer
	style term.Style
	all   bool
	err   error
}

func (t *text) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

func (t *text) table(table *term.Table) {
	if t.err == nil {
		_, t.err = table.WriteTo(t.w)
	}
}

// status paints a status.
func (t *text) status(v Verdict) string {
	if v.OK() {
		return t.style.Good(string(v.Status))
	}
	return t.style.Bad(string(v.Status))
}
