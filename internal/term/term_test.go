package term

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSizesAreInBinaryUnits(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 64 << 20: "64 MiB", 1 << 40: "1.0 TiB", -1536: "-1.5 KiB",
		-1 << 63: "-8.0 EiB",
	} {
		assert.Equal(t, want, Size(n))
	}
}

func TestCountsAndPlurals(t *testing.T) {
	assert.Equal(t, "1,234,567", Count(1234567))
	assert.Equal(t, "1 table", Plural(1, "table", "tables"))
	assert.Equal(t, "0 tables", Plural(0, "table", "tables"))
	assert.Equal(t, "1,000 tables", Plural(1000, "table", "tables"))
}

func TestSeconds(t *testing.T) {
	for s, want := range map[float64]string{0: "0.00 s", 0.424: "0.42 s", 12.34: "12.3 s", 125.4: "2m5s", 3725: "1h2m5s"} {
		assert.Equal(t, want, Seconds(s))
	}
}

func TestTableAlignsCells(t *testing.T) {
	table := &Table{Indent: "> ", Right: []bool{false, true}}
	table.Row("a", "1", "x")
	table.Row("long name", "1,000")
	table.Row("ünïcödé", "22", "")
	var out strings.Builder
	n, err := table.WriteTo(&out)
	require.NoError(t, err)
	assert.EqualValues(t, out.Len(), n)
	assert.Equal(t, "> a              1  x\n> long name  1,000\n> ünïcödé       22\n", out.String())
}

func TestColoursTakeNoRoom(t *testing.T) {
	s := NewStyle(true)
	table := &Table{}
	table.Row(s.Good("ok"), "x")
	table.Row("long", "y")
	var out strings.Builder
	_, err := table.WriteTo(&out)
	require.NoError(t, err)
	assert.Equal(t, "\x1b[32mok\x1b[0m    x\nlong  y\n", out.String())
	assert.Equal(t, 2, Width(s.Bold("ok")))
	assert.Equal(t, 2, Width("ok\x1b[3"), "an unfinished code takes no room either")
}

func TestStyleLeavesTextAlone(t *testing.T) {
	var s Style
	assert.False(t, s.Colour())
	for _, paint := range []func(string) string{s.Bold, s.Dim, s.Good, s.Warn, s.Bad} {
		assert.Equal(t, "text", paint("text"))
		assert.Empty(t, NewStyle(true).Bold(""))
	}
}

func TestCutKeepsBothEnds(t *testing.T) {
	assert.Equal(t, "short", Cut("short", 5))
	assert.Equal(t, "s3…et", Cut("s3://lake/x.parquet", 5))
	assert.Equal(t, "abcdef", Cut("abcdef", 2), "too narrow to show anything: the text stays")
}

// A path in a table's metadata can hold anything; none of it may reach the terminal as a command.
func TestSafeDisarmsControlCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"plain ünïcödé %20": "plain ünïcödé %20",
		"a\x1b[2Jb":         `a\x1b[2Jb`,
		"tab\tline\n":       `tab\x09line\x0a`,
		"bad\xffutf8":       `bad\xffutf8`,
		"c1\u009bm":         `c1\xc2\x9bm`,
		"rtl\u202eevil":     `rtl\xe2\x80\xaeevil`,
		"del\x7f":           `del\x7f`,
	} {
		assert.Equal(t, want, Safe(in))
	}
}
