package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// pathIdentifier is an identifier as iceberg-go has to be given it for a path: it escapes the levels of the namespace but
// takes the name of a table for a piece of a URL, with slashes, dots and percent signs meaning what they mean there.
func pathIdentifier(identifier []string) ([]string, error) {
	if len(identifier) < 2 {
		return nil, fmt.Errorf("%w: a table has a namespace and a name", ErrNotFound)
	}
	last := len(identifier) - 1
	for _, level := range identifier[:last] {
		if level == "." || level == ".." || level == "" {
			return nil, fmt.Errorf("namespace level %q cannot be part of a URL", level)
		}
	}
	out := slices.Clone(identifier)
	out[last] = pathSegment(out[last])
	return out, nil
}

func pathSegment(name string) string {
	switch name {
	case ".", "..":
		return strings.ReplaceAll(name, ".", "%2E")
	}
	return url.PathEscape(name)
}

type nameKey struct{}

// rename puts the name of a table as it is into the body of a commit, into which iceberg-go writes it as it goes into
// the path. The name is in the context where the two differ.
func rename(r *http.Request) error {
	name, ok := r.Context().Value(nameKey{}).(string)
	if !ok || r.Method != http.MethodPost || r.Body == nil {
		return nil
	}
	data, err := io.ReadAll(r.Body)
	if err := r.Body.Close(); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	var body map[string]json.RawMessage
	var of struct {
		Namespace []string `json:"namespace"`
		Name      string   `json:"name"`
	}
	if err := json.Unmarshal(data, &body); err != nil {
		return err
	}
	if err := json.Unmarshal(body["identifier"], &of); err != nil {
		return err
	}
	of.Name = name
	if body["identifier"], err = json.Marshal(of); err != nil {
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
