package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// LookupEnv finds environment variables the way os.LookupEnv does. A nil one finds none.
type LookupEnv func(name string) (value string, found bool)

// expand replaces the references in a value.
func expand(text string, env LookupEnv) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			out.WriteString(text)
			return out.String(), nil
		}
		if literal, escaped := strings.CutSuffix(before, "$"); escaped {
			out.WriteString(literal + "${")
			text = rest
			continue
		}
		out.WriteString(before)
		reference, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", errors.New("has a ${ without a }; write $${ for a literal ${")
		}
		value, err := resolve(reference, env)
		if err != nil {
			return "", err
		}
		out.WriteString(value)
		text = after
	}
}

// resolve returns what the reference between the braces brings.
func resolve(reference string, env LookupEnv) (string, error) {
	if path, ok := strings.CutPrefix(reference, "file:"); ok {
		return readSecret(path)
	}
	name, fallback, hasFallback := strings.Cut(reference, ":-")
	if !isVariable(name) {
		return "", errors.New("has a reference that is none of ${VAR}, ${VAR:-default} and ${file:/path}; write $${ for a literal ${")
	}
	value, found := "", false
	if env != nil {
		value, found = env(name)
	}
	switch {
	case hasFallback && value == "":
		return fallback, nil
	case !found:
		return "", fmt.Errorf("needs the environment variable %s, which is not set", name)
	default:
		return value, nil
	}
}

func isVariable(name string) bool {
	for i, c := range name {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		digit := '0' <= c && c <= '9'
		if !letter && (i == 0 || !digit) {
			return false
		}
	}
	return name != ""
}

// readSecret reads a small regular file. Other kinds of files could block or never end.
func readSecret(path string) (string, error) {
	const limit = 1 << 20
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("refers to the file %q, which is not an absolute path", path)
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return "", fmt.Errorf("needs the file %s: %w", path, reason(err))
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("needs the file %s: %w", path, reason(err))
	}
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("needs the file %s: %w", path, reason(err))
	}
	if len(content) > limit {
		return "", fmt.Errorf("needs the file %s: more than 1 MiB", path)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r"), nil
}

// reason takes the path, which the caller names, off the error of a file operation.
func reason(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
