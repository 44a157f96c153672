package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
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

// number draws a number from 0 to 127, all equally often: rapid's own ranges prefer small ones, with which a run would
// hardly ever meet another writer or a fault.
func number(t *rapid.T) (n int) {
	for range 7 {
		n *= 2
		if rapid.Bool().Draw(t, "bit") {
			n++
		}
	}
	return n
}

// steps draws a script, of some thirty steps on average.
func steps() *rapid.Generator[[]step] {
	one := rapid.Custom(func(t *rapid.T) step {
		s := step{op: weights()[number(t)%len(weights())]}
		for i := range s.args {
			s.args[i] = number(t)
		}
		return s
	})
	return rapid.Custom(func(t *rapid.T) []step {
		return slices.Concat(rapid.SliceOfN(rapid.SliceOfN(one, 0, 12), 0, 12).Draw(t, "steps")...)
	})
}
