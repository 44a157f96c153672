package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
)

// step is one line of a script.
type step struct {
	op   string
	args [4]int
}

// String returns the step's line; zeros at its end are left out.
func (s step) String() string {
	n := len(s.args)
	for n > 0 && s.args[n-1] == 0 {
		n--
	}
	words := []string{s.op}
	for _, a := range s.args[:n] {
		words = append(words, fmt.Sprint(a))
	}
	return strings.Join(words, " ")
}

// script writes steps as lines.
func script(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

// parse reads a script; # begins a comment.
func parse(t require.TestingT, text string) []step {
	var out []step
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		s := step{op: words[0]}
		require.True(t, slices.Contains(operations(), s.op), "operation %q", s.op)
		for i, word := range words[1:] {
			_, err := fmt.Sscan(word, &s.args[i])
			require.NoError(t, err)
		}
		out = append(out, s)
	}
	return out
}

// weights say how often an operation is drawn.
func weights() []string {
	return strings.Fields(`
		append append append update update posdel posdel posdel posdel vector vector vector vector eq
		drop rewrite readd spec schema branch use upgrade merge expire
		compact compact compact compact migrate migrate migrate migrate`)
}

func operations() []string {
	w := slices.Clone(weights())
	slices.Sort(w)
	return slices.Compact(w)
}

// draw draws a script of up to n steps.
func draw(r *rand.Rand, n int) []step {
	w := weights()
	out := make([]step, 1+r.IntN(n))
	for i := range out {
		out[i].op = w[r.IntN(len(w))]
		for k := range out[i].args {
			out[i].args[k] = r.IntN(128)
		}
	}
	return out
}
