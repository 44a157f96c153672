// Package show writes plans and reports for people. Nothing in it is meant to be parsed: that is what --output json is
// for.
package show

import (
	"fmt"
	"io"
)

// page collects text and keeps the first error of writing it.
type page struct {
	w   io.Writer
	err error
}

func (p *page) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *page) table(t io.WriterTo) {
	if p.err == nil {
		_, p.err = t.WriteTo(p.w)
	}
}
