package orcfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dvcompactor/dvcompactor/internal/orcfile"
)

// read returns the rows of the first two columns of a file as text.
func read(data []byte) ([]string, error) {
	f, err := orcfile.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	var out []string
	err = f.Each(f.Columns[0], f.Columns[1], func(r orcfile.Row) error {
		if r.Null {
			out = append(out, "null")
		} else {
			out = append(out, fmt.Sprintf("%s %d", r.Text, r.Number))
		}
		return nil
	})
	return out, err
}

func TestAFileThatIsSoundIsRead(t *testing.T) {
	t.Parallel()
	data := sound().file()
	got, err := read(data)
	require.NoError(t, err)
	assert.Equal(t, []string{"a 5", "bc 6"}, got)
	f, err := orcfile.Open(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	assert.EqualValues(t, 2, f.Rows)
	assert.Equal(t, "path", f.Columns[0].Name)
	assert.Equal(t, "77", f.Columns[0].Attributes["iceberg.id"])
	assert.True(t, f.Columns[0].Text() && !f.Columns[0].Long() && f.Columns[1].Long() && !f.Columns[1].Text())
}

// The runs that the specification gives as examples, as unsigned lengths of texts or signed numbers.
func TestRunsAreDecodedAsTheSpecificationShows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run  []byte
		want []int64
	}{
		"short repeat": {[]byte{0x0a, 0x27, 0x10}, []int64{10000, 10000, 10000, 10000, 10000}},
		"direct":       {[]byte{0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef}, []int64{23713, 43806, 57005, 48879}},
		"patched base": {[]byte{0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a, 0x64, 0x6e, 0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8},
			[]int64{2030, 2000, 2020, 1000000, 2040, 2050, 2060, 2070, 2080, 2090, 2100, 2110, 2120, 2130, 2140, 2150, 2160, 2170, 2180, 2190}},
		"delta": {[]byte{0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46}, []int64{2, 3, 5, 7, 11, 13, 17, 19, 23, 29}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := sound()
			rows := uint64(len(c.want))
			total := int64(0)
			for _, n := range c.want {
				total += n
			}
			b.rows, b.stripeRows = rows, rows
			b.streams = []builtStream{
				{kind: 1, column: 1, data: bytes.Repeat([]byte("x"), int(total))},
				{kind: 2, column: 1, data: c.run},
				{kind: 1, column: 2, data: direct(make([]byte, rows)...)},
			}
			got, err := read(b.file())
			require.NoError(t, err)
			require.Len(t, got, len(c.want))
			for i, text := range got {
				assert.Len(t, text, int(c.want[i])+len(" 0"), "number %d", i)
			}
		})
	}
}

func TestAFileThatContradictsItselfIsRefused(t *testing.T) {
	t.Parallel()
	dictionary := func(b *built, entries uint64, lengths, words, data []byte) {
		b.encodings = join(part(2, num(1, 0)), part(2, join(num(1, 3), num(2, entries))), part(2, num(1, 2)))
		b.streams = []builtStream{{kind: 1, column: 1, data: data}, {kind: 2, column: 1, data: lengths}, {kind: 3, column: 1, data: words}, b.streams[2]}
	}
	for name, change := range map[string]func(b *built){
		"more rows in the file":           func(b *built) { b.rows = 3 },
		"fewer rows in the file":          func(b *built) { b.rows = 1 },
		"more rows than values":           func(b *built) { b.rows, b.stripeRows = 3, 3 },
		"fewer rows than values":          func(b *built) { b.rows, b.stripeRows = 1, 1 },
		"rows beyond counting":            func(b *built) { b.rows, b.stripeRows = 1<<63+2, 1<<63+2 },
		"another number than texts":       func(b *built) { b.streams[2].data = direct(1, 2, 3) },
		"a text that is cut":              func(b *built) { b.streams[0].data = []byte("ab") },
		"a text of more than memory":      func(b *built) { b.streams[1].data = []byte{0x38, 0x7f, 1, 2, 3, 4, 5, 6, 7} },
		"a run that is cut":               func(b *built) { b.streams[2].data = direct(1, 2)[:3] },
		"a run without a body":            func(b *built) { b.streams[2].data = []byte{0x4e} },
		"a patch behind its run":          func(b *built) { b.streams[2].data = []byte{0x8e, 0x01, 0x00, 0x61, 0, 1, 2, 0xff} },
		"a patch wider than numbers":      func(b *built) { b.streams[2].data = []byte{0x8e, 0x01, 0x1f, 0x21, 0, 1, 2, 0xff} },
		"steps of one number":             func(b *built) { b.streams[2].data = []byte{0xc6, 0x00, 0x02, 0x02} },
		"a number without an end":         func(b *built) { b.streams[2].data = append([]byte{0xc0, 0x01}, bytes.Repeat([]byte{0xff}, 11)...) },
		"a stream longer than the stripe": func(b *built) { b.streams[2].claims = 1 << 40 },
		"a stream of negative length":     func(b *built) { b.streams[2].claims = 1<<64 - 1 },
		"a stream listed twice":           func(b *built) { b.streams = append(b.streams, b.streams[2]) },
		"a stream less":                   func(b *built) { b.streams = b.streams[:2] },
		"rows that are null": func(b *built) {
			b.streams = append(b.streams, builtStream{kind: 0, column: 0, data: []byte{0xff, 0x80}})
		},
		"a list of nulls that is cut":           func(b *built) { b.streams = append(b.streams, builtStream{kind: 0, column: 2, data: []byte{0xff}}) },
		"no encoding":                           func(b *built) { b.encodings = part(2, num(1, 0)) },
		"numbers by a dictionary":               func(b *built) { b.encodings = join(part(2, num(1, 0)), part(2, num(1, 2)), part(2, num(1, 3))) },
		"an encoding that nobody knows":         func(b *built) { b.encodings = join(part(2, num(1, 0)), part(2, num(1, 9)), part(2, num(1, 2))) },
		"an entry that the dictionary lacks":    func(b *built) { dictionary(b, 2, direct(1, 2), []byte("abc"), direct(0, 2)) },
		"a dictionary that is cut":              func(b *built) { dictionary(b, 2, direct(1, 3), []byte("abc"), direct(0, 1)) },
		"a dictionary without its lengths":      func(b *built) { dictionary(b, 3, direct(1, 2), []byte("abc"), direct(0, 1)) },
		"a dictionary of empty entries":         func(b *built) { dictionary(b, 4, []byte{0x01, 0x00}, nil, direct(0, 1)) },
		"a dictionary of more than memory":      func(b *built) { dictionary(b, 1<<40, direct(1, 2), []byte("abc"), direct(0, 1)) },
		"a stripe behind the file":              func(b *built) { b.offset = 1 << 20 },
		"a stripe that begins before it":        func(b *built) { b.offset = 1<<64 - 3 },
		"a stripe elsewhere":                    func(b *built) { b.offset = 2 },
		"encryption":                            func(b *built) { b.more = part(10, nil) },
		"no types":                              func(b *built) { b.types = nil },
		"rows of one number":                    func(b *built) { b.types = part(4, num(1, 4)) },
		"a column without a type":               func(b *built) { b.types = part(4, join(num(1, 12), part(2, []byte{1}), part(3, []byte("path")))) },
		"a column that is the row":              func(b *built) { b.types = part(4, join(num(1, 12), part(2, []byte{0}), part(3, []byte("path")))) },
		"a name too many":                       func(b *built) { b.types = join(part(4, join(num(1, 12), part(3, []byte("x"))))) },
		"bytes that are no message":             func(b *built) { b.more = []byte{0xff} },
		"LZO":                                   func(b *built) { b.compression = 3 },
		"Brotli":                                func(b *built) { b.compression = 6 },
		"a codec that nobody knows":             func(b *built) { b.compression = 77 },
		"chunks where there are none":           func(b *built) { b.compression = 1 },
		"a footer longer than the file":         func(b *built) { b.postscript = join(num(1, 1<<40), part(8000, []byte("ORC"))) },
		"statistics longer than the file":       func(b *built) { b.postscript = join(num(1, 10), num(5, 1<<30), part(8000, []byte("ORC"))) },
		"chunks of more than their head says":   func(b *built) { b.postscript = join(num(1, 10), num(3, 1<<24), part(8000, []byte("ORC"))) },
		"a postscript that is no message":       func(b *built) { b.postscript = []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffORC") },
		"a postscript of another kind of files": func(b *built) { b.postscript = num(1, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := sound()
			change(&b)
			_, err := read(b.file())
			require.ErrorIs(t, err, orcfile.ErrFormat)
		})
	}
}

func TestAFileThatIsCutAnywhereIsRefused(t *testing.T) {
	t.Parallel()
	data := sound().file()
	for n := range data {
		_, err := read(data[:n])
		require.ErrorIs(t, err, orcfile.ErrFormat, "%d bytes", n)
	}
}

func TestADictionaryMayHaveOneEmptyEntry(t *testing.T) {
	t.Parallel()
	b := sound()
	b.encodings = join(part(2, num(1, 0)), part(2, join(num(1, 3), num(2, 2))), part(2, num(1, 2)))
	b.streams = []builtStream{{kind: 1, column: 1, data: direct(1, 0)}, {kind: 2, column: 1, data: direct(0, 2)}, {kind: 3, column: 1, data: []byte("ab")}, b.streams[2]}
	got, err := read(b.file())
	require.NoError(t, err)
	assert.Equal(t, []string{"ab 5", " 6"}, got)
}

func TestTheFirstErrorOfTheCallerEndsTheReading(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	data := sound().file()
	f, err := orcfile.Open(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	calls := 0
	require.Equal(t, enough, f.Each(f.Columns[0], f.Columns[1], func(orcfile.Row) error {
		calls++
		return enough
	}))
	assert.Equal(t, 1, calls)
}
