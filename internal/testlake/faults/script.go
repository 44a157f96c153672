package faults

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ErrCrashed is what a call fails with at and after the point where a script ends everything. No call is done then.
var ErrCrashed = errors.New("crashed: the script ends here")

// Script breaks what it is put in front of. It is safe for concurrent use.
type Script struct {
	rules []*rule

	mu      sync.Mutex
	counts  map[string]int
	written map[string]bool // keys, for stale
	crashed bool
	onCrash []func()
	onPut   func(key string, data []byte) []byte
	replies map[string]*httptest.ResponseRecorder // of lists and loads over HTTP, by request, for stale

	order sync.Mutex // held by the one write over HTTP that is under way
}

// New parses a script or fails the test.
func New(t testing.TB, script string) *Script {
	t.Helper()
	s, err := Parse(script)
	require.NoError(t, err)
	return s
}

// Count returns how many calls of an operation came so far, up to and including the one that ended everything.
func (s *Script) Count(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[op]
}

// Crashed tells whether the script has ended everything.
func (s *Script) Crashed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.crashed
}

// OnCrash lets something happen once, at the moment when the script ends everything, before the caller hears of it: the
// killing of a client that is another process, for instance.
func (s *Script) OnCrash(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onCrash = append(s.onCrash, do)
}

// OnPut lets the store in front of a bucket keep what f returns instead of what it is given.
func (s *Script) OnPut(f func(key string, data []byte) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onPut = f
}

// kept returns what the store keeps of an object.
func (s *Script) kept(key string, data []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.onPut == nil {
		return data
	}
	return s.onPut(key, data)
}

// happening is what a script has in store for one call.
type happening struct {
	effect
	delay time.Duration
}

// next counts a call and returns what happens to it.
func (s *Script) next(op, name string) (happening, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crashed {
		return happening{}, ErrCrashed
	}
	for _, counted := range []string{op, opWrite, opAny} {
		if counted == op || slices.Contains(operations(counted), op) {
			s.counts[counted]++
		}
	}
	out, found := happening{effect: effect{done: true}}, false
	for _, r := range s.rules {
		if !slices.Contains(r.ops, op) || !r.glob.MatchString(name) {
			continue
		}
		r.seen++
		if !found && r.when.due(r.seen) {
			out, found = happening{r.effect, r.delay}, true
		}
	}
	return out, nil
}

// call is a call that a script decides about.
type call struct {
	op, name string
	// do does it, as far as the damage allows.
	do func(d damage) error
	// say returns the error for an answer.
	say func(a answer) error
}

// run counts a call and lets happen what the script has for it.
func (s *Script) run(ctx context.Context, c call) error {
	h, err := s.next(c.op, c.name)
	if err == nil {
		err = wait(ctx, h.delay)
	}
	if err == nil && (h.done || h.damage == torn) {
		err = c.do(h.damage)
	}
	if err == nil && h.crash {
		err = s.crash()
	}
	if err != nil || h.answer == truth {
		return err
	}
	return c.say(h.answer)
}

// crash ends everything.
func (s *Script) crash() error {
	s.mu.Lock()
	first, do := !s.crashed, s.onCrash
	s.crashed = true
	s.mu.Unlock()
	if first {
		for _, f := range do {
			f()
		}
	}
	return ErrCrashed
}

func (s *Script) noteWritten(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written[key] = true
}

// fresh tells whether an object was written through the script, so that a stale store does not show it.
func (s *Script) fresh(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written[key]
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
