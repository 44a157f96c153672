package config

import (
	"fmt"
	"slices"
	"strings"
)

// Error is one mistake in a configuration.
type Error struct {
	// File is the name of the file.
	File string
	// Line counts from 1; 0 means that the mistake is not at a place.
	Line int
	// Path is the key, for instance "catalogs.prod.uri" or "storage[0].prefix"; empty for the file as a whole.
	Path string
	// Reason says what is wrong and what to write instead.
	Reason string
	// Got is the value as it is in the file, with references not replaced; empty when there is none or it is secret.
	Got string
}

// Error implements error as "file:line: path.to.key: why (got v)".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Path != "" {
		b.WriteString(": " + e.Path)
	}
	b.WriteString(": " + e.Reason)
	if e.Got != "" {
		fmt.Fprintf(&b, " (got %s)", e.Got)
	}
	return b.String()
}

// Errors are all mistakes in a configuration, in the order of their lines. There is at least one.
type Errors []*Error

// Error implements error with one line for each mistake.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the mistakes.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, err := range e {
		errs[i] = err
	}
	return errs
}

func (e Errors) sorted() Errors {
	slices.SortStableFunc(e, func(x, y *Error) int { return x.Line - y.Line })
	return e
}
