package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// trial is a history that may fail without failing the test.
type trial struct{ said []string }

type failed struct{}

// Errorf implements require.TestingT.
func (t *trial) Errorf(format string, args ...any) {
	t.said = append(t.said, fmt.Sprintf(format, args...))
}

// FailNow implements require.TestingT.
func (t *trial) FailNow() { panic(failed{}) }

// try runs a script and returns what went wrong, "" for nothing, and the world that it made.
func try(steps []step) (said string, w *world) {
	t := &trial{}
	defer func() {
		switch p := recover().(type) {
		case nil, failed:
		default:
			t.Errorf("panic: %v", p)
		}
		said = strings.Join(t.said, "\n")
	}()
	w = newWorld(t)
	w.run(steps)
	return "", w
}

// shrink makes a failing script shorter as long as it still fails, and then its numbers smaller, within some time.
func shrink(steps []step, patience time.Duration) []step {
	end := time.Now().Add(patience)
	fails := func(s []step) bool {
		if time.Now().After(end) {
			return false
		}
		said, _ := try(s)
		return said != ""
	}
	for n := (len(steps) + 1) / 2; n > 0 && time.Now().Before(end); {
		shorter := withoutChunk(steps, n, fails)
		if len(shorter) == len(steps) && n == 1 {
			break
		}
		steps, n = shorter, max(1, n/2)
	}
	for i := range steps {
		for k := range steps[i].args {
			for _, smaller := range []int{0, 1, 2, 3, steps[i].args[k] % 8} {
				next := slices.Clone(steps)
				next[i].args[k] = smaller
				if smaller < steps[i].args[k] && fails(next) {
					steps = next
				}
			}
		}
	}
	return steps
}

// withoutChunk leaves out every chunk of n steps without which the script still fails.
func withoutChunk(steps []step, n int, fails func([]step) bool) []step {
	for i := 0; i < len(steps); {
		next := slices.Delete(slices.Clone(steps), i, min(i+n, len(steps)))
		if len(next) > 0 && fails(next) {
			steps = next
		} else {
			i += n
		}
	}
	return steps
}
