package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Progress is one line on a terminal that tells what long work is doing. It implements maintenance.Progress. It is safe
// for concurrent use.
type Progress struct {
	w     io.Writer
	width func() int
	now   func() time.Time

	mu      sync.Mutex
	stage   string
	unit    string
	total   int64
	done    int64
	began   time.Time
	drawn   time.Time
	visible bool
}

// drawEvery bounds how often the line is drawn.
const drawEvery = 100 * time.Millisecond

// NewProgress makes a progress line on w, which is a terminal. width returns the columns of the terminal, 0 when they
// are not known; now is the clock.
func NewProgress(w io.Writer, width func() int, now func() time.Time) *Progress {
	return &Progress{w: w, width: width, now: now}
}

// Stage begins a stage of total units; 0 means that its length is not known.
func (p *Progress) Stage(name string, total int64, unit string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stage, p.total, p.unit, p.done = name, total, unit, 0
	p.began = p.now()
	p.draw()
}

// Add says that n more units of the stage are done.
func (p *Progress) Add(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	if p.stage != "" && p.now().Sub(p.drawn) >= drawEvery {
		p.draw()
	}
}

// Clear takes the line away, for instance before a result is printed.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.stage = ""
}

// Over returns a writer for other output to the same terminal: the line is taken away before anything is written.
func (p *Progress) Over(w io.Writer) io.Writer { return &over{progress: p, w: w} }

type over struct {
	progress *Progress
	w        io.Writer
}

// Write takes the progress line away and writes.
func (o *over) Write(b []byte) (int, error) {
	o.progress.mu.Lock()
	defer o.progress.mu.Unlock()
	o.progress.clear()
	return o.w.Write(b)
}

func (p *Progress) clear() {
	if p.visible {
		_, _ = io.WriteString(p.w, "\r\x1b[K") // a terminal that is gone is no reason to stop working
		p.visible = false
	}
}

func (p *Progress) draw() {
	p.drawn = p.now()
	line := p.line()
	if columns := p.width(); columns > 1 {
		line = Cut(line, columns-1)
	}
	_, _ = io.WriteString(p.w, "\r\x1b[K"+line)
	p.visible = true
}

const barWidth = 24

func (p *Progress) line() string {
	if p.total <= 0 {
		if p.done == 0 {
			return p.stage + " …"
		}
		return p.stage + "  " + p.amount(p.done) + p.noun()
	}
	share := min(1, float64(p.done)/float64(p.total))
	full := int(share * barWidth)
	bar := strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
	return fmt.Sprintf("%s  %s %3d%%  %s of %s%s%s", p.stage, bar, int(share*100), p.amount(p.done), p.amount(p.total), p.noun(), p.left(share))
}

// noun is what amounts count; the units of a size say so themselves.
func (p *Progress) noun() string {
	if p.unit == "bytes" || p.unit == "" {
		return ""
	}
	return " " + p.unit
}

func (p *Progress) amount(n int64) string {
	if p.unit == "bytes" {
		return Size(n)
	}
	return Count(n)
}

// left estimates the rest of the stage once it has run long enough to tell.
func (p *Progress) left(share float64) string {
	spent := p.now().Sub(p.began)
	if spent < 2*time.Second || share < 0.02 || share >= 1 {
		return ""
	}
	rest := time.Duration(float64(spent) * (1 - share) / share)
	return ", " + rest.Round(time.Second).String() + " left"
}
