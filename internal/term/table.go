package term

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Table is rows of cells whose columns are aligned. Cells may be painted: colour codes take no room.
type Table struct {
	// Right holds, per column, whether it is aligned to the right, as numbers are.
	Right []bool
	// Indent is put before every row.
	Indent string
	rows   [][]string
}

// Row adds a row. Rows may differ in length.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

const gap = "  "

// WriteTo writes the table. Trailing blanks are left out.
func (t *Table) WriteTo(w io.Writer) (int64, error) {
	var out strings.Builder
	widths := t.widths()
	for _, row := range t.rows {
		var line strings.Builder
		line.WriteString(t.Indent)
		for i, cell := range row {
			if i > 0 {
				line.WriteString(gap)
			}
			line.WriteString(t.pad(cell, i, widths[i]))
		}
		out.WriteString(strings.TrimRight(line.String(), " "))
		out.WriteByte('\n')
	}
	n, err := io.WriteString(w, out.String())
	return int64(n), err
}

func (t *Table) widths() []int {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(cell))
		}
	}
	return widths
}

func (t *Table) pad(cell string, column, width int) string {
	blanks := strings.Repeat(" ", max(0, width-Width(cell)))
	if column < len(t.Right) && t.Right[column] {
		return blanks + cell
	}
	return cell + blanks
}

// Width returns the number of characters of text without its colour codes.
func Width(text string) int {
	n := 0
	for {
		start := strings.Index(text, "\x1b[")
		if start < 0 {
			return n + utf8.RuneCountInString(text)
		}
		n += utf8.RuneCountInString(text[:start])
		_, rest, found := strings.Cut(text[start:], "m")
		if !found {
			return n
		}
		text = rest
	}
}

// Cut shortens text to width characters with an ellipsis in its middle: the end of a location tells more than its
// middle.
func Cut(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width || width < 3 {
		return text
	}
	head := (width - 1) / 2
	tail := width - 1 - head
	return string(runes[:head]) + "…" + string(runes[len(runes)-tail:])
}

// Safe makes text of unknown origin fit for a terminal: control characters, which could move the cursor or paint, are
// written as \x1b and the like.
func Safe(text string) string {
	if !strings.ContainsFunc(text, control) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(hexByte(text[i]))
		case r < 0x80 && control(r):
			b.WriteString(hexByte(byte(r)))
		case control(r):
			for k := range size {
				b.WriteString(hexByte(text[i+k]))
			}
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

func control(r rune) bool {
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e
}

func hexByte(b byte) string {
	const digits = "0123456789abcdef"
	return `\x` + string(digits[b>>4]) + string(digits[b&15])
}
