package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// PolicyFor returns the policy of a table, whose name is catalog.namespace.table, and why it is that one, for people to
// read. check asks for the policy that checks the table, and otherwise it is the one that compacts or migrates it: a table
// may have one of each. It is nil when there is none, for which there is a reason too.
//
// The policy with the most specific pattern that matches is the one: a pattern without a glob before one with, then the one
// with more characters that stand for themselves, then the one with fewer that do not, then that of the earlier policy. What
// a policy excludes is taken out of that policy only.
func (c *Config) PolicyFor(table string, check bool) (*Policy, string) {
	matching, excluding := c.claims(strings.Split(table, "."), check)
	var reasons []string
	for _, e := range excluding {
		reasons = append(reasons, fmt.Sprintf("policy %s excludes it by %s", e.policy.Name, e.pattern))
	}
	if len(matching) == 0 {
		kind := "maintenance"
		if check {
			kind = "checks"
		}
		return nil, strings.Join(append(reasons, "no policy for "+kind+" takes it"), "; ")
	}
	slices.SortStableFunc(matching, claim.compare)
	return matching[0].policy, strings.Join(append([]string{explain(matching)}, reasons...), "; ")
}

// claim is a policy and the one of its patterns that takes a table, or excludes it.
type claim struct {
	policy  *Policy
	pattern string
}

// claims returns the policies of a kind that take the table, and those that would but exclude it, in the order of the file.
func (c *Config) claims(levels []string, check bool) (matching, excluding []claim) {
	for i := range c.Policies {
		p := &c.Policies[i]
		if (p.Action == ActionCheck) != check {
			continue
		}
		pattern, ok := mostSpecific(p.Tables, levels)
		if !ok {
			continue
		}
		if exclude, excluded := mostSpecific(p.Exclude, levels); excluded {
			excluding = append(excluding, claim{p, exclude})
		} else {
			matching = append(matching, claim{p, pattern})
		}
	}
	return matching, excluding
}

// mostSpecific returns the most specific of the patterns that match a table, and whether there is one.
func mostSpecific(patterns, levels []string) (string, bool) {
	best, found := "", false
	for _, p := range patterns {
		if MatchTable(strings.Split(p, "."), levels) && (!found || compareSpecificity(p, best) < 0) {
			best, found = p, true
		}
	}
	return best, found
}

func (c claim) compare(other claim) int { return compareSpecificity(c.pattern, other.pattern) }

// compareSpecificity is negative when the first pattern is more specific than the second.
func compareSpecificity(a, b string) int {
	x, y := wildcards(a), wildcards(b)
	return cmp.Or(
		cmp.Compare(min(x, 1), min(y, 1)),
		cmp.Compare(utf8.RuneCountInString(b)-y, utf8.RuneCountInString(a)-x),
		cmp.Compare(x, y),
	)
}

// wildcards counts the characters of a pattern that do not stand for themselves.
func wildcards(pattern string) int { return strings.Count(pattern, "*") + strings.Count(pattern, "?") }

// explain says why the first of the claims comes before the second.
func explain(claims []claim) string {
	first := fmt.Sprintf("policy %s: %s", claims[0].policy.Name, claims[0].pattern)
	if len(claims) == 1 {
		return first + " matches"
	}
	second := fmt.Sprintf("%s of policy %s", claims[1].pattern, claims[1].policy.Name)
	if claims[0].compare(claims[1]) == 0 {
		return first + " is as specific as " + second + ", which comes after it"
	}
	return first + " is more specific than " + second
}
