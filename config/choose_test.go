package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTheMostSpecificPolicyTakesATable(t *testing.T) {
	t.Parallel()
	c := &Config{Policies: []Policy{
		{Name: "all", Action: ActionMigrate, Tables: []string{"*"}},
		{Name: "sales", Action: ActionCompact, Tables: []string{"prod.*", "prod.sales.*"}, Exclude: []string{"prod.sales.tmp_*", "*.tmp_dir"}},
		{Name: "again", Action: ActionCompact, Tables: []string{"prod.sales.*"}, Exclude: []string{"*.sales.tmp_?"}},
		{Name: "one", Action: ActionCompact, Tables: []string{"prod.sales.orders"}},
		{Name: "like-one", Action: ActionCompact, Tables: []string{"prod.sales.orders*", "prod.sales.order?"}},
		{Name: "sound", Action: ActionCheck, Tables: []string{"prod.*"}, Exclude: []string{"prod.hr.*"}},
	}}
	for _, tt := range []struct {
		table        string
		check        bool
		policy, want string
	}{
		{"prod.sales.orders", false, "one", "policy one: prod.sales.orders is more specific than prod.sales.orders* of policy like-one"},
		{"prod.sales.orderz", false, "like-one", "policy like-one: prod.sales.order? is more specific than prod.sales.* of policy sales"},
		{"prod.sales.Orders", false, "sales", "policy sales: prod.sales.* is as specific as prod.sales.* of policy again, which comes after it"},
		{"prod.sales.eu.orders", false, "sales", "policy sales: prod.sales.* is as specific as prod.sales.* of policy again, which comes after it"},
		{"prod.hr.staff", false, "sales", "policy sales: prod.* is more specific than * of policy all"},
		{"prod.sales.tmp_12", false, "again", "policy again: prod.sales.* is more specific than * of policy all; policy sales excludes it by prod.sales.tmp_*"},
		{"prod.sales.tmp_1", false, "all", "policy all: * matches; policy sales excludes it by prod.sales.tmp_*; policy again excludes it by *.sales.tmp_?"},
		{"test.sales.tmp_1", false, "all", "policy all: * matches"},
		{"prod.sales.orders", true, "sound", "policy sound: prod.* matches"},
		{"prod.hr.staff", true, "", "policy sound excludes it by prod.hr.*; no policy for checks takes it"},
		{"test.sales.orders", true, "", "no policy for checks takes it"},
	} {
		got, why := c.PolicyFor(tt.table, tt.check)
		if why != tt.want || (got == nil) != (tt.policy == "") || got != nil && got.Name != tt.policy {
			t.Errorf("%s: got %+v, %s", tt.table, got, why)
		}
	}
	if got, why := new(Config).PolicyFor("prod.sales.orders", false); got != nil || why != "no policy for maintenance takes it" {
		t.Errorf("without policies: got %+v, %s", got, why)
	}
}

func TestThePolicyIsThatOfTheConfiguration(t *testing.T) {
	t.Parallel()
	c := &Config{Policies: []Policy{{Name: "x", Tables: []string{"y.*"}}, {Name: "z", Tables: []string{"*"}}}}
	if got, _ := c.PolicyFor("a.b.c", false); got != &c.Policies[1] {
		t.Errorf("got %+v", got)
	}
}

func TestPatternsAreOrderedBySpecificity(t *testing.T) {
	t.Parallel()
	sorted := []string{"a.b", "a.b.cd*", "a.b.c?", "a.b.c*", "a.b.c?*", "a.b.*", "?.é.c?", "a.*.*", "a.*", "*.*", "*", "?*"}
	for i, first := range sorted {
		for j, second := range sorted {
			got := compareSpecificity(first, second)
			if tied := i != j && got == 0; tied != (min(i, j) == 2 && max(i, j) == 3) || !tied && (got < 0) != (i < j) {
				t.Errorf("%s and %s: got %d", first, second, got)
			}
		}
	}
}

// drawPolicies draws policies whose names are unique and whose tables often overlap.
func drawPolicies(t *rapid.T) []Policy {
	patterns := rapid.SliceOfN(rapid.StringMatching(`(a|b|\*|\?|a\*)(\.(a|b|\*|\?|a\*)){0,2}`), 0, 3)
	policies := make([]Policy, rapid.IntRange(0, 6).Draw(t, "policies"))
	for i := range policies {
		policies[i] = Policy{
			Name: fmt.Sprint(i), Action: rapid.SampledFrom([]string{ActionCompact, ActionMigrate, ActionCheck}).Draw(t, "action"),
			Tables: patterns.Draw(t, "tables"), Exclude: patterns.Draw(t, "exclude"),
		}
	}
	return policies
}

// bids returns the policies of a kind that may take a table, in their order, each with its best pattern as a text that
// sorts before those that are less specific.
func bids(policies []Policy, table string, check bool) map[string]string {
	levels := strings.Split(table, ".")
	matches := func(pattern string) bool { return MatchTable(strings.Split(pattern, "."), levels) }
	out := map[string]string{}
	for _, p := range policies {
		if (p.Action == ActionCheck) != check || slices.ContainsFunc(p.Exclude, matches) {
			continue
		}
		for _, pattern := range p.Tables {
			globs := len(pattern) - len(strings.NewReplacer("*", "", "?", "").Replace(pattern))
			bid := fmt.Sprintf("%t %02d %02d", globs > 0, 99-len(pattern)+globs, globs)
			if best, found := out[p.Name]; matches(pattern) && (!found || bid < best) {
				out[p.Name] = bid
			}
		}
	}
	return out
}

func TestTheOrderOfPoliciesMattersForTiesOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		policies := drawPolicies(t)
		table := rapid.StringMatching(`[ab](\.[ab]{1,2}){1,3}`).Draw(t, "table")
		check := rapid.Bool().Draw(t, "check")
		bids := bids(policies, table, check)
		order := rapid.Permutation(policies).Draw(t, "order")
		want := ""
		for _, p := range order {
			if bid, ok := bids[p.Name]; ok && (want == "" || bid < bids[want]) {
				want = p.Name
			}
		}
		got, why := (&Config{Policies: order}).PolicyFor(table, check)
		if (got == nil) != (want == "") || got != nil && got.Name != want || why == "" {
			t.Fatalf("got %+v, %s; want policy %q", got, why, want)
		}
	})
}
