package config

import (
	"slices"
	"strings"
)

// IsGlob says whether text holds * or ?.
func IsGlob(text string) bool { return strings.ContainsAny(text, "*?") }

// MatchTable says whether a pattern means a table, both taken apart at their dots. * stands for any text within one level
// and, as the last level, for all levels that follow; ? stands for one character. Case matters.
func MatchTable(pattern, table []string) bool {
	for i, level := range pattern {
		last := i == len(pattern)-1
		switch {
		case i >= len(table):
			return false
		case last && level == "*":
			return true
		case !MatchText(level, table[i]):
			return false
		}
	}
	return len(pattern) == len(table)
}

// MatchText matches text with a glob of * and ?, both of which mean characters, not bytes.
func MatchText(glob, text string) bool {
	g, t := []rune(glob), []rune(text)
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(t) {
		switch {
		case i < len(g) && g[i] == '*':
			star, mark = i, j
			i++
		case i < len(g) && (g[i] == '?' || g[i] == t[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(g) && g[i] == '*' {
		i++
	}
	return i == len(g)
}

// checkPattern returns why a pattern of a policy can match no table, or "".
func checkPattern(pattern string, catalogs []string) string {
	const want = "write catalog.namespace.table, where * and ? are allowed"
	levels := strings.Split(pattern, ".")
	switch {
	case slices.Contains(levels, ""):
		return "has an empty level; " + want
	case strings.ContainsAny(pattern, "[]{}!\\,\"' \t\r\n"):
		return "has a character that means nothing in a pattern; " + want + ", and ? for an unusual character in a name"
	case len(levels) < 3 && levels[len(levels)-1] != "*":
		return "is not the name of a table; " + want + ", or catalog.* for everything in it"
	}
	known := func(name string) bool { return MatchText(levels[0], name) }
	if len(catalogs) > 0 && !slices.ContainsFunc(catalogs, known) {
		return "is in no catalog of this file; it has " + strings.Join(catalogs, ", ")
	}
	return ""
}
