package puffin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// maxJSONDepth bounds nesting in unknown keys; the format itself needs 4.
const maxJSONDepth = 64

// jsonReader reads FileMetadata strictly, where encoding/json would be kind: keys match by case, no key comes twice,
// numbers are integers, strings are valid Unicode, nothing follows the value.
type jsonReader struct {
	dec   *json.Decoder
	depth int
}

// jsonError is a broken rule at an offset of the payload.
type jsonError struct {
	kind            CorruptionKind
	at              int64
	what            string
	expected, found string
	err             error
}

func newJSONReader(payload []byte) (*jsonReader, *jsonError) {
	if at := invalidUTF8(payload); at >= 0 {
		return nil, &jsonError{kind: KindFooter, at: int64(at), what: "footer JSON", expected: "UTF-8",
			found: fmt.Sprintf("byte 0x%02x", payload[at])}
	}
	if at := loneSurrogate(payload); at >= 0 {
		return nil, &jsonError{kind: KindFooter, at: int64(at), what: "footer JSON", expected: "a surrogate pair",
			found: string(payload[at : at+6])}
	}
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.UseNumber()
	return &jsonReader{dec: dec}, nil
}

func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// loneSurrogate finds a \u escape of half a character, which encoding/json would replace by U+FFFD and so change a path.
func loneSurrogate(data []byte) int {
	for i := bytes.IndexByte(data, '\\'); i >= 0 && i+1 < len(data); {
		next := i + 2
		if r, ok := escapedRune(data[i:]); ok {
			next = i + 6
			switch {
			case r >= 0xdc00 && r < 0xe000:
				return i
			case r >= 0xd800 && r < 0xdc00:
				if low, ok := escapedRune(data[next:]); !ok || low < 0xdc00 || low >= 0xe000 {
					return i
				}
				next += 6
			}
		}
		step := bytes.IndexByte(data[next:], '\\')
		if step < 0 {
			return -1
		}
		i = next + step
	}
	return -1
}

// escapedRune reads \uXXXX.
func escapedRune(data []byte) (rune, bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	return rune(n), err == nil
}

func (j *jsonReader) fail(what, expected string, found any) *jsonError {
	return &jsonError{kind: KindFooter, at: j.dec.InputOffset(), what: what, expected: expected, found: describe(found)}
}

// describe names a token for an error.
func describe(token any) string {
	switch t := token.(type) {
	case nil:
		return "null"
	case string:
		if len(t) > 64 {
			t = t[:64] + "…"
		}
		return strconv.Quote(t)
	default:
		return fmt.Sprint(t)
	}
}

// token gives the next token and keeps count of depth.
func (j *jsonReader) token() (json.Token, *jsonError) {
	t, err := j.dec.Token()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, &jsonError{kind: KindFooter, at: j.dec.InputOffset(), what: "footer JSON", err: err}
	}
	switch t {
	case json.Delim('{'), json.Delim('['):
		if j.depth++; j.depth > maxJSONDepth {
			return nil, j.fail("footer JSON", fmt.Sprintf("at most %d levels", maxJSONDepth), "more")
		}
	case json.Delim('}'), json.Delim(']'):
		j.depth--
	}
	return t, nil
}

// object reads an object after its brace and calls member for each key, which must read the value.
func (j *jsonReader) object(what string, member func(key string) *jsonError) *jsonError {
	seen := make(map[string]struct{})
	for j.dec.More() {
		t, err := j.token()
		if err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok {
			return j.fail(what, "a key", t)
		}
		if _, twice := seen[key]; twice {
			return j.fail(what, "each key once", key)
		}
		seen[key] = struct{}{}
		if err := member(key); err != nil {
			return err
		}
	}
	_, err := j.token()
	return err
}

// open reads the brace or bracket a value must begin with.
func (j *jsonReader) open(what string, delim json.Delim, name string) *jsonError {
	t, err := j.token()
	if err != nil {
		return err
	}
	if t != delim {
		return j.fail(what, name, t)
	}
	return nil
}

// skip reads one value, whatever it is.
func (j *jsonReader) skip() *jsonError {
	base := j.depth
	for {
		if _, err := j.token(); err != nil {
			return err
		}
		if j.depth <= base {
			return nil
		}
	}
}

func (j *jsonReader) string(what string) (string, *jsonError) {
	t, err := j.token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", j.fail(what, "a string", t)
	}
	return s, nil
}

// integer reads a number written as an integer: 4.0 and 4e0 are not.
func (j *jsonReader) integer(what string, bits int) (int64, *jsonError) {
	t, err := j.token()
	if err != nil {
		return 0, err
	}
	n, ok := t.(json.Number)
	if !ok {
		return 0, j.fail(what, "an integer", t)
	}
	v, parseErr := strconv.ParseInt(n.String(), 10, bits)
	if parseErr != nil {
		return 0, j.fail(what, fmt.Sprintf("an integer of %d bits", bits), n)
	}
	return v, nil
}

// end makes sure that nothing but white space is left.
func (j *jsonReader) end() *jsonError {
	t, err := j.dec.Token()
	switch {
	case err == io.EOF:
		return nil
	case err != nil:
		return &jsonError{kind: KindFooter, at: j.dec.InputOffset(), what: "end of the footer JSON", err: err}
	default:
		return j.fail("end of the footer JSON", "nothing more", t)
	}
}
