package faults

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rule is one line of a script.
type rule struct {
	ops    []string
	glob   *regexp.Regexp
	when   when
	effect effect
	delay  time.Duration

	seen int // calls that it is about, so far
}

// when chooses calls by their number, from 1.
type when struct {
	from, to int // to is 0 without an end
	every    int // 0 or 1 for each of them
}

func (w when) due(n int) bool {
	if w.every > 1 {
		return n%w.every == 0
	}
	return n >= w.from && (w.to == 0 || n <= w.to)
}

// Parse reads a script. An error names the line and what can stand in its place.
func Parse(script string) (*Script, error) {
	s := &Script{counts: map[string]int{}, written: map[string]bool{}, replies: map[string]*httptest.ResponseRecorder{}}
	for i, line := range strings.Split(script, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		r, err := parseRule(words)
		if err != nil {
			return nil, fmt.Errorf("line %d: %q: %w", i+1, strings.TrimSpace(line), err)
		}
		s.rules = append(s.rules, r)
	}
	return s, nil
}

func parseRule(words []string) (*rule, error) {
	colon := slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, ":") })
	if colon < 0 {
		return nil, fmt.Errorf("no colon; write OPERATION [GLOB] [WHEN]: FAULT")
	}
	call, fault := slices.Clone(words[:colon+1]), words[colon+1:]
	if call[colon] = strings.TrimSuffix(call[colon], ":"); call[colon] == "" {
		call = call[:colon]
	}
	r := &rule{}
	if err := r.parseCall(call); err != nil {
		return nil, err
	}
	return r, r.parseFault(fault)
}

// parseCall reads what stands before the colon.
func (r *rule) parseCall(words []string) (err error) {
	if len(words) == 0 {
		return fmt.Errorf("no operation before the colon")
	}
	if r.ops = operations(words[0]); r.ops == nil {
		return fmt.Errorf("operation %q is not one of %s, %s, %s", words[0], strings.Join(operations(opAny), ", "), opWrite, opAny)
	}
	glob, rest := "*", words[1:]
	if len(rest) > 0 && !startsWhen(rest[0]) {
		glob, rest = rest[0], rest[1:]
	}
	r.glob = compileGlob(glob)
	r.when, err = parseWhen(rest)
	return err
}

func startsWhen(word string) bool {
	return word == "every" || word == "always" || strings.HasPrefix(word, "#")
}

// compileGlob turns a glob into an expression. Quoting makes every glob one that compiles.
func compileGlob(glob string) *regexp.Regexp {
	quoted := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(strings.ToValidUTF8(glob, "\uFFFD")))
	return regexp.MustCompile("(?s)^" + quoted + "$")
}

func parseWhen(words []string) (when, error) {
	bad := func() (when, error) {
		return when{}, fmt.Errorf("%q does not say when; write #2, #2+, #2-4, every 2 or always", strings.Join(words, " "))
	}
	switch {
	case len(words) == 0, len(words) == 1 && words[0] == "always":
		return when{from: 1}, nil
	case len(words) == 2 && words[0] == "every":
		if n, ok := number(words[1]); ok {
			return when{from: 1, every: n}, nil
		}
		return bad()
	case len(words) != 1 || !strings.HasPrefix(words[0], "#"):
		return bad()
	}
	first, last, isRange := strings.Cut(words[0][1:], "-")
	first, open := strings.CutSuffix(first, "+")
	from, ok := number(first)
	to := from
	if isRange {
		var end bool
		to, end = number(last)
		ok = ok && end && !open && from <= to
	}
	if !ok {
		return bad()
	}
	if open {
		to = 0
	}
	return when{from: from, to: to}, nil
}

func number(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n > 0 && text[0] != '+'
}

// parseFault reads what stands behind the colon.
func (r *rule) parseFault(words []string) error {
	if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "#") }); i >= 0 {
		words = words[:i]
	}
	if len(words) == 0 {
		return fmt.Errorf("no fault behind the colon")
	}
	known := effects()
	e, ok := known[words[0]]
	if !ok {
		return fmt.Errorf("fault %q is not one of %s", words[0], strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	for _, op := range r.ops {
		if !slices.Contains(e.ops, op) {
			return fmt.Errorf("fault %s is not possible for %s, only for %s", words[0], op, strings.Join(e.ops, ", "))
		}
	}
	r.effect = e
	return r.parseDelay(words)
}

func (r *rule) parseDelay(words []string) (err error) {
	switch {
	case !r.effect.takes && len(words) > 1:
		return fmt.Errorf("fault %s takes nothing, so %q is too much", words[0], strings.Join(words[1:], " "))
	case !r.effect.takes:
		return nil
	case len(words) != 2:
		return fmt.Errorf("fault %s takes one duration, for instance 20ms", words[0])
	}
	if r.delay, err = time.ParseDuration(words[1]); err == nil && r.delay < 0 {
		err = fmt.Errorf("%s is negative", words[1])
	}
	return err
}
