package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// spelling is an identifier as iceberg-go has to be given it. It takes the name of a table for a piece of a URL, with
// slashes and percent signs meaning what they mean there, and no slashes or control characters in a namespace at all. So
// these are escaped before, and what comes of it is put right in the request.
type spelling struct {
	given, meant []string
}

// spell returns the spelling of an identifier. Signed requests cannot be put right any more.
func spell(identifier []string, signed bool) (spelling, error) {
	if len(identifier) < 2 {
		return spelling{}, fmt.Errorf("%w: a table has a namespace and a name", ErrNotFound)
	}
	s := spelling{given: slices.Clone(identifier), meant: identifier}
	last := len(identifier) - 1
	for i, part := range identifier {
		switch {
		case part == "" || part == "." || part == "..":
			return spelling{}, fmt.Errorf("%q as a part of an identifier cannot be part of a URL", part)
		case i == last:
			s.given[i] = url.PathEscape(part)
		case !strings.Contains(part, "/") && !strings.ContainsFunc(part, unicode.IsControl):
		case signed:
			return spelling{}, fmt.Errorf("namespace level %q cannot be part of a signed request", part)
		default:
			s.given[i] = url.PathEscape(part)
		}
	}
	return s, nil
}

type spellingKey struct{}

// within lets requests in the context be put right.
func (s spelling) within(ctx context.Context) context.Context {
	if slices.Equal(s.given, s.meant) {
		return ctx
	}
	return context.WithValue(ctx, spellingKey{}, s)
}

// correct puts a request right whose context has a spelling.
func correct(r *http.Request) error {
	s, ok := r.Context().Value(spellingKey{}).(spelling)
	if !ok {
		return nil
	}
	if err := s.correctPath(r); err != nil {
		return err
	}
	if r.Method != http.MethodPost || r.Body == nil {
		return nil
	}
	return s.correctBody(r)
}

// correctPath undoes the second escaping of levels of the namespace.
func (s spelling) correctPath(r *http.Request) error {
	path := r.URL.EscapedPath()
	for i, level := range s.given[:len(s.given)-1] {
		if level != s.meant[i] {
			path = strings.Replace(path, url.PathEscape(level), level, 1)
		}
	}
	plain, err := url.PathUnescape(path)
	if err != nil {
		return err
	}
	u := *r.URL
	u.Path, u.RawPath = plain, path
	r.URL = &u
	return nil
}

// correctBody puts the identifier as it is meant into the body of a commit.
func (s spelling) correctBody(r *http.Request) error {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if err := r.Body.Close(); err != nil {
		return err
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(data, &body); err != nil {
		return err
	}
	last := len(s.meant) - 1
	if body["identifier"], err = json.Marshal(map[string]any{"namespace": s.meant[:last], "name": s.meant[last]}); err != nil {
		return err
	}
	if data, err = json.Marshal(body); err != nil {
		return err
	}
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	r.Body, err = r.GetBody()
	r.ContentLength = int64(len(data))
	return err
}
