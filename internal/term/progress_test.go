package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
)

var _ maintenance.Progress = (*Progress)(nil)

// screen is a terminal that knows \r and "erase to the end of the line", which is all that the progress line uses.
type screen struct {
	done []string
	line []rune
	at   int
}

func (s *screen) Write(b []byte) (int, error) {
	text := string(b)
	for text != "" {
		if rest, ok := strings.CutPrefix(text, "\x1b[K"); ok {
			s.line, text = s.line[:s.at], rest
			continue
		}
		r := []rune(text)[0]
		text = text[len(string(r)):]
		switch r {
		case '\r':
			s.at = 0
		case '\n':
			s.done, s.line, s.at = append(s.done, string(s.line)), nil, 0
		default:
			s.line = append(s.line[:s.at], r)
			s.at++
		}
	}
	return len(b), nil
}

// clock is a clock that tests turn.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time          { return c.now }
func (c *clock) forward(d time.Duration) { c.now = c.now.Add(d) }

func newFake(columns int) (*Progress, *screen, *clock) {
	s, c := &screen{}, &clock{now: time.Unix(1e9, 0)}
	return NewProgress(s, func() int { return columns }, c.Now), s, c
}

func TestProgressShowsShareAndRest(t *testing.T) {
	p, s, c := newFake(120)
	p.Stage("writing deletion vectors", 4000, "vectors")
	assert.Equal(t, "writing deletion vectors  ░░░░░░░░░░░░░░░░░░░░░░░░   0%  0 of 4,000 vectors", string(s.line))
	c.forward(3 * time.Second)
	p.Add(1000)
	assert.Equal(t, "writing deletion vectors  ██████░░░░░░░░░░░░░░░░░░  25%  1,000 of 4,000 vectors, 9s left", string(s.line))
	c.forward(9 * time.Second)
	p.Add(3000)
	assert.Equal(t, "writing deletion vectors  ████████████████████████ 100%  4,000 of 4,000 vectors", string(s.line))
	p.Clear()
	assert.Empty(t, s.line)
	assert.Empty(t, s.done)
}

func TestProgressOfUnknownLength(t *testing.T) {
	p, s, c := newFake(120)
	p.Stage("reading manifests", 0, "manifests")
	assert.Equal(t, "reading manifests …", string(s.line))
	c.forward(time.Second)
	p.Add(7)
	assert.Equal(t, "reading manifests  7 manifests", string(s.line))
	p.Stage("uploading", 1<<20, "bytes")
	assert.Equal(t, "uploading  ░░░░░░░░░░░░░░░░░░░░░░░░   0%  0 B of 1.0 MiB", string(s.line))
}

func TestProgressNeverDrawsMoreThanTheTerminalIsWide(t *testing.T) {
	p, s, _ := newFake(30)
	p.Stage("merging position deletes", 1000, "records")
	assert.Len(t, s.line, 29)
}

func TestProgressIsNotDrawnTooOften(t *testing.T) {
	p, s, c := newFake(120)
	p.Stage("merging", 1000, "records")
	p.Add(500)
	assert.Contains(t, string(s.line), "0 of 1,000", "too early to draw again")
	c.forward(drawEvery)
	p.Add(1)
	assert.Contains(t, string(s.line), "501 of 1,000")
}

func TestOtherOutputTakesTheLineAway(t *testing.T) {
	p, s, c := newFake(120)
	log := p.Over(s)
	p.Stage("merging", 1000, "records")
	fmt.Fprintln(log, "a log line")
	assert.Equal(t, []string{"a log line"}, s.done)
	assert.Empty(t, s.line)
	c.forward(drawEvery)
	p.Add(1)
	assert.Contains(t, string(s.line), "merging", "it comes back with the next step")
}

func TestAddAfterClearDrawsNothing(t *testing.T) {
	p, s, c := newFake(120)
	p.Stage("merging", 10, "records")
	p.Clear()
	c.forward(time.Second)
	p.Add(5)
	assert.Empty(t, s.line)
}

func TestMoreThanTheTotalIsAHundredPercent(t *testing.T) {
	p, s, c := newFake(120)
	p.Stage("merging", 10, "records")
	c.forward(time.Second)
	p.Add(25)
	assert.Contains(t, string(s.line), "100%")
}

func TestProgressIsSafeForConcurrentUse(t *testing.T) {
	p := NewProgress(io.Discard, func() int { return 80 }, time.Now)
	w := p.Over(io.Discard)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i := range 200 {
				p.Add(1)
				if i%50 == 0 {
					p.Stage("stage", 100, "things")
					fmt.Fprintln(w, "line")
				}
			}
		})
	}
	wait.Wait()
	p.Clear()
}
