package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// policy is the shortest valid policy, as a list with one element in flow style; text is put into it.
func policy(text string) string {
	return minimal("policies: [{name: p, tables: [c.*], action: compact, schedule: '@daily'" + text + "}]\n")
}

// checking is policy for the action check.
func checking(text string) string {
	return strings.Replace(policy(text), "compact", "check", 1)
}

func TestEveryKeyOfPoliciesIsRead(t *testing.T) {
	t.Parallel()
	const text = `policies:
  - name: compact-1
    tables: [c.n.t, "c.n?.*", "*.n.t_*", c.*, "*"]
    exclude: [c.n.tmp_*]
    action: compact
    ref: dev
    schedule: 15 2 * * MON-FRI
    timezone: Europe/Berlin
    jitter: 10m
    window: {start: 22:00, end: 02:30}
    triggers:
      any: [{min_delete_files: 1000000}, {max_delete_files_per_data_file: 4}, {min_puffin_files: 50}]
      all: [{deleted_row_ratio: 0.1}, {dead_puffin_ratio: 1}]
    where: day >= '2026-01-01'
    cool_down: 0s
    granularity: file
    min_input_files: 2
    budget: {bytes: 50GiB, duration: 1h, commits: 20}
  - {name: migrate_2, tables: [c.*], action: migrate, schedule: "@every 6h", upgrade_format: true, window: {start: "00:00", end: "24:00"}}
  - {name: "3", tables: [c.*], action: check, schedule: "@hourly", level: vectors, subset: 2.5%}
`
	c, err := Parse("f", []byte(minimal(text)), nil)
	if err != nil {
		t.Fatal(err)
	}
	none := time.Duration(0)
	want := []Policy{
		{
			Name: "compact-1", Tables: []string{"c.n.t", "c.n?.*", "*.n.t_*", "c.*", "*"}, Exclude: []string{"c.n.tmp_*"}, Action: ActionCompact, Ref: "dev",
			Schedule: "15 2 * * MON-FRI", Timezone: "Europe/Berlin", Jitter: 10 * time.Minute, Window: &Window{Start: 22 * 60, End: 2*60 + 30},
			Triggers: Triggers{
				Any: []Trigger{{"min_delete_files", 1_000_000}, {"max_delete_files_per_data_file", 4}, {"min_puffin_files", 50}},
				All: []Trigger{{"deleted_row_ratio", 0.1}, {"dead_puffin_ratio", 1}},
			},
			Where: "day >= '2026-01-01'", CoolDown: &none, Granularity: GranularityFile, MinInputFiles: 2, Budget: Budget{Bytes: 50 * GiB, Duration: time.Hour, Commits: 20},
		},
		{Name: "migrate_2", Tables: []string{"c.*"}, Action: ActionMigrate, Schedule: "@every 6h", UpgradeFormat: true, Window: &Window{End: 24 * 60}},
		{Name: "3", Tables: []string{"c.*"}, Action: ActionCheck, Schedule: "@hourly", Level: LevelVectors, Subset: "2.5%"},
	}
	if !reflect.DeepEqual(c.Policies, want) {
		t.Errorf("got %+v, want %+v", c.Policies, want)
	}
	out, err := c.Effective()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Parse("printed", out, nil); err != nil || !reflect.DeepEqual(again, c) {
		t.Errorf("%v: what was printed reads as %+v\n%s", err, again, out)
	}
}

func TestMistakesInPolicies(t *testing.T) {
	t.Parallel()
	checkMistakes(t, []mistake{
		{"policies that are no list", minimal("policies: {a: b}\n"), []string{"f:6: policies: must be a list (got a mapping)"}},
		{"an empty policy", minimal("policies:\n  - {}\n"), []string{
			"f:7: policies[0].name: is missing; write for instance nightly",
			`f:7: policies[0].tables: names no tables; write for instance ["prod.sales.*"]`,
			"f:7: policies[0].action: is missing; write compact, migrate or check",
			"f:7: policies[0].schedule: is missing; write for instance 15 2 * * *, or @daily",
		}},
		{"a mistyped key", policy(", shedule: x"), []string{"f:6: policies[0].shedule: is not a known key here; did you mean schedule?"}},
		{"a strange name", strings.Replace(policy(""), "name: p", "name: Every Night", 1), []string{"f:6: policies[0].name: must be made of a to z, 0 to 9, - and _ (got Every Night)"}},
		{"a name twice", minimal("policies:\n  - {name: p, tables: [c.*], action: check, schedule: '@daily'}\n  - {name: p, tables: [c.*], action: compact, schedule: '@daily'}\n"), []string{"f:8: policies[1].name: is that of another policy, on line 7; names are unique"}},
		{"another action", strings.Replace(policy(""), "compact", "expire", 1), []string{"f:6: policies[0].action: must be compact, migrate or check (got expire)"}},
		{"no tables", strings.Replace(policy(""), "[c.*]", "[]", 1), []string{`f:6: policies[0].tables: names no tables; write for instance ["prod.sales.*"]`}},
		{"tables that are no list", strings.Replace(policy(""), "[c.*]", "c.*", 1), []string{"f:6: policies[0].tables: must be a list (got a single value)"}},
		{"bad patterns", minimal("policies:\n  - name: p\n    action: compact\n    schedule: '@daily'\n    tables:\n      - c.n\n      - c..t\n      - ''\n      - c.{a,b}.*\n      - d.n.*\n      - {a: b}\n      - c.**\n      - n.t.*\n    exclude: [x*.*]\n"), []string{
			"f:11: policies[0].tables[0]: is not the name of a table; write catalog.namespace.table, where * and ? are allowed, or catalog.* for everything in it (got c.n)",
			"f:12: policies[0].tables[1]: has an empty level; write catalog.namespace.table, where * and ? are allowed (got c..t)",
			"f:13: policies[0].tables[2]: has an empty level; write catalog.namespace.table, where * and ? are allowed",
			"f:14: policies[0].tables[3]: has a character that means nothing in a pattern; write catalog.namespace.table, where * and ? are allowed, and ? for an unusual character in a name (got c.{a,b}.*)",
			"f:15: policies[0].tables[4]: is in no catalog of this file; it has c (got d.n.*)",
			"f:16: policies[0].tables[5]: must be a single value, not a mapping",
			"f:17: policies[0].tables[6]: is not the name of a table; write catalog.namespace.table, where * and ? are allowed, or catalog.* for everything in it (got c.**)",
			"f:18: policies[0].tables[7]: is in no catalog of this file; it has c (got n.t.*)",
			"f:19: policies[0].exclude[0]: is in no catalog of this file; it has c (got x*.*)",
		}},
		{"patterns of a file without catalogs", strings.Replace(policy(""), "catalogs:\n  c:\n    type: sql\n    uri: sqlite:///c.db\n", "", 1), []string{"f:1: catalogs: is missing; write catalogs: {NAME: {type: rest, uri: ...}}"}},
		{"triggers that contradict the action", checking(", triggers: {any: [{min_puffin_files: 1}]}, cool_down: 1m, upgrade_format: false"), []string{
			"f:6: policies[0].upgrade_format: has no meaning for the action check; remove it",
			"f:6: policies[0].triggers: has no meaning for the action check; remove it",
			"f:6: policies[0].cool_down: has no meaning for the action check; remove it",
		}},
		{"commits of a check", checking(", budget: {commits: 1}"), []string{"f:6: policies[0].budget: has commits, of which a check makes none; remove them"}},
		{"keys of a check for compact", policy(", upgrade_format: true, level: vectors, subset: 10%"), []string{
			"f:6: policies[0].upgrade_format: has no meaning for the action compact; remove it",
			"f:6: policies[0].level: has no meaning for the action compact; remove it",
			"f:6: policies[0].subset: has no meaning for the action compact; remove it",
		}},
		{"keys of a check for migrate", strings.Replace(policy(", level: vectors, subset: 10%"), "compact", "migrate", 1), []string{
			"f:6: policies[0].level: has no meaning for the action migrate; remove it",
			"f:6: policies[0].subset: has no meaning for the action migrate; remove it",
		}},
		{"another level", checking(", level: all"), []string{"f:6: policies[0].level: must be manifests, footers or vectors (got all)"}},
		{"a subset of what is not read", checking(", level: footers, subset: 10%"), []string{"f:6: policies[0].subset: has a meaning only with level: vectors"}},
		{"a subset of the default level", checking(", subset: 1/7"), []string{"f:6: policies[0].subset: has a meaning only with level: vectors"}},
		{"a subset that is none", checking(", level: vectors, subset: 10"), []string{"f:6: policies[0].subset: must be a part as 2/7 or a percentage as 10% (got 10)"}},
		{"half a subset", checking(", level: vectors, subset: 2/"), []string{"f:6: policies[0].subset: must be a part as 2/7 or a percentage as 10% (got 2/)"}},
		{"a predicate that cannot be read", policy(", where: day > "), []string{
			`f:6: policies[0].where: predicate "day >", at character 6: expected a value, not the end; text is written 'so' (got day >)`,
		}},
		{"bad times", policy(", jitter: -1s, cool_down: 5"), []string{
			"f:6: policies[0].jitter: must be a duration, for instance 10m, or 0s for none (got -1s)",
			"f:6: policies[0].cool_down: must be a duration, for instance 15m, or 0s for none (got 5)",
		}},
		{"a budget of nothing", policy(", budget: {bytes: 0, duration: 0s, commits: 0, files: 1}"), []string{
			"f:6: policies[0].budget.bytes: must be at least 1 (got 0)",
			"f:6: policies[0].budget.duration: must be a positive duration, for instance 100ms or 5s (got 0s)",
			"f:6: policies[0].budget.commits: must be a whole number from 1 to 1000000 (got 0)",
			"f:6: policies[0].budget.files: is not a known key here; known are bytes, duration, commits",
		}},
	})
}

func TestMistakesInTriggers(t *testing.T) {
	t.Parallel()
	const known = "min_delete_files, max_delete_files_per_data_file, min_puffin_files, min_delete_manifests, deleted_row_ratio, dead_puffin_ratio"
	checkMistakes(t, []mistake{
		{"a list", policy(", triggers: []"), []string{"f:6: policies[0].triggers: must be a mapping of keys to values (got a list)"}},
		{"a mapping for a list", policy(", triggers: {any: {min_puffin_files: 1}}"), []string{"f:6: policies[0].triggers.any: must be a list (got a mapping)"}},
		{"neither any nor all", policy(", triggers: {min_puffin_files: 1}"), []string{"f:6: policies[0].triggers.min_puffin_files: is not a known key here; known are any, all"}},
		{"a mistyped one", policy(", triggers: {all: [{min_pufin_files: 1}]}"), []string{"f:6: policies[0].triggers.all[0].min_pufin_files: is not a known key here; did you mean min_puffin_files?"}},
		{"an unknown one", policy(", triggers: {any: [{age: 1}]}"), []string{"f:6: policies[0].triggers.any[0].age: is not a known key here; known are " + known}},
		{"two in one", policy(", triggers: {any: [{min_puffin_files: 1}, {min_puffin_files: 1, dead_puffin_ratio: 1}]}"), []string{"f:6: policies[0].triggers.any[1]: must have one key and its least value, for instance {min_delete_files: 100}"}},
		{"none", policy(", triggers: {any: [{}]}"), []string{"f:6: policies[0].triggers.any[0]: must have one key and its least value, for instance {min_delete_files: 100}"}},
		{"a name alone", policy(", triggers: {any: [min_puffin_files]}"), []string{"f:6: policies[0].triggers.any[0]: must be a mapping of keys to values (got a single value)"}},
		{"no numbers", policy(", triggers: {any: [{min_puffin_files: -1}, {min_delete_files: 1.5}, {dead_puffin_ratio: 1.5}, {deleted_row_ratio: -0.1}, {deleted_row_ratio: NaN}, {deleted_row_ratio: 10%}]}"), []string{
			"f:6: policies[0].triggers.any[0].min_puffin_files: must be a whole number from 0 to 2147483647 (got -1)",
			"f:6: policies[0].triggers.any[1].min_delete_files: must be a whole number from 0 to 2147483647 (got 1.5)",
			"f:6: policies[0].triggers.any[2].dead_puffin_ratio: must be a ratio from 0 to 1 (got 1.5)",
			"f:6: policies[0].triggers.any[3].deleted_row_ratio: must be a ratio from 0 to 1 (got -0.1)",
			"f:6: policies[0].triggers.any[4].deleted_row_ratio: must be a ratio from 0 to 1 (got NaN)",
			"f:6: policies[0].triggers.any[5].deleted_row_ratio: must be a ratio from 0 to 1 (got 10%)",
		}},
		{"no value", policy(", triggers: {any: [{deleted_row_ratio: }]}"), []string{"f:6: policies[0].triggers.any[0].deleted_row_ratio: has no value; give it one or remove the key"}},
	})
}
