package config

import (
	"testing"

	"pgregory.net/rapid"
)

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
