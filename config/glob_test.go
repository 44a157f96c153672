package config

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAStarStaysWithinALevelUnlessItIsTheLast(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, table string
		want           bool
	}{
		{"c.n.t", "c.n.t", true},
		{"c.n.t", "c.n.T", false},
		{"c.*.t", "c.n.t", true},
		{"c.*.t", "c.n.m.t", false},
		{"c.n.*", "c.n.m.t", true},
		{"c.n.t*", "c.n.t1.t", false},
		{"c.*", "c.n.m.t", true},
		{"*", "c.n.t", true},
		{"c.n.t.*", "c.n.t", false},
		{"c.n.?", "c.n.é", true},
	} {
		if got := MatchTable(strings.Split(tt.pattern, "."), strings.Split(tt.table, ".")); got != tt.want {
			t.Errorf("%s and %s: got %v", tt.pattern, tt.table, got)
		}
	}
}

func TestMatchTextAgreesWithTheDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		glob := rapid.StringMatching(`[ab*?]{0,6}`).Draw(t, "glob")
		text := rapid.StringMatching(`[ab]{0,6}`).Draw(t, "text")
		if got, want := MatchText(glob, text), slowMatch(glob, text); got != want {
			t.Fatalf("MatchText(%q, %q) = %v", glob, text, got)
		}
	})
}

func slowMatch(glob, text string) bool {
	switch {
	case glob == "":
		return text == ""
	case glob[0] == '*':
		return slowMatch(glob[1:], text) || text != "" && slowMatch(glob, text[1:])
	}
	return text != "" && (glob[0] == '?' || glob[0] == text[0]) && slowMatch(glob[1:], text[1:])
}
