package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dvcompactor/dvcompactor/maintenance/where"
	"gopkg.in/yaml.v3"
)

// policies reads the list of policies, whose tables are in the given catalogs.
func (d *decoder) policies(root *mapping, catalogs []string) []Policy {
	var out []Policy
	lines := map[string]int{}
	for i, node := range root.list("policies") {
		m := d.mapping(node, fmt.Sprintf("policies[%d]", i))
		p := d.policy(m, catalogs)
		m.finish()
		if first, twice := lines[p.Name]; twice && p.Name != "" {
			m.fail("name", fmt.Sprintf("is that of another policy, on line %d; names are unique", first), "")
		}
		lines[p.Name] = m.lineOf("name")
		out = append(out, p)
	}
	return out
}

func (d *decoder) policy(m *mapping, catalogs []string) Policy {
	p := Policy{Name: m.policyName("name"), Tables: m.patterns("tables", catalogs), Exclude: m.patterns("exclude", catalogs)}
	if m.emptyList("tables") {
		m.fail("tables", `names no tables; write for instance ["prod.sales.*"]`, "")
	}
	action := m.required("action", "write compact, migrate or check")
	p.Action = m.oneOf("action", action, ActionCompact, ActionMigrate, ActionCheck)
	p.Ref = m.str("ref")
	m.schedule(&p)
	p.Window = m.window("window")
	p.Triggers = m.triggers("triggers")
	if coolDown := m.durationFrom(0, "cool_down", "must be a duration, for instance 15m, or 0s for none", 0); m.has("cool_down") {
		p.CoolDown = &coolDown
	}
	p.Where = m.predicate("where")
	p.Granularity = m.oneOf("granularity", m.scalar("granularity"), GranularityFile, GranularityPartition)
	p.MinInputFiles = m.integer("min_input_files", 1, 1<<20, 0)
	p.Budget = m.budget("budget")
	p.UpgradeFormat = m.boolean("upgrade_format")
	p.Level = m.oneOf("level", m.scalar("level"), LevelManifests, LevelFooters, LevelVectors)
	p.Subset = m.subset("subset")
	m.meaningless(p)
	return p
}

// predicate reads what selects partitions. Whether its names are columns of a table is known when there is one.
func (m *mapping) predicate(key string) string {
	s := m.scalar(key)
	if !s.set {
		return ""
	}
	if _, err := where.Parse(s.text); err != nil {
		m.fail(key, err.Error(), s.shown())
	}
	return s.text
}

// policyName reads a name that can stand in logs, labels and commands.
func (m *mapping) policyName(key string) string {
	s := m.required(key, "write for instance nightly")
	strange := func(c rune) bool {
		return !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_')
	}
	if s.set && strings.ContainsFunc(s.text, strange) {
		m.fail(key, "must be made of a to z, 0 to 9, - and _", s.shown())
	}
	return s.text
}

// patterns reads a list of patterns for tables.
func (m *mapping) patterns(key string, catalogs []string) []string {
	var out []string
	for i, node := range m.list(key) {
		s, reason := m.d.scalar(node)
		if s.set {
			reason = checkPattern(s.text, catalogs)
		}
		if reason != "" {
			m.d.fail(node.Line, fmt.Sprintf("%s[%d]", m.at(key), i), reason, s.shown())
			continue
		}
		out = append(out, s.text)
	}
	return out
}

// emptyList says whether a list is absent or has no elements.
func (m *mapping) emptyList(key string) bool {
	node := m.fields[key].value
	return node == nil || target(node).Kind == yaml.SequenceNode && len(target(node).Content) == 0
}

// oneOf returns the text under a key, which is one of a few or empty.
func (m *mapping) oneOf(key string, s scalar, words ...string) string {
	if s.text != "" && !slices.Contains(words, s.text) {
		last := len(words) - 1
		m.fail(key, "must be "+strings.Join(words[:last], ", ")+" or "+words[last], s.shown())
	}
	return s.text
}

// schedule reads when a policy is due.
func (m *mapping) schedule(p *Policy) {
	text := m.required("schedule", "write for instance 15 2 * * *, or @daily")
	zone := m.scalar("timezone")
	p.Schedule, p.Timezone = text.text, zone.text
	p.Jitter = m.durationFrom(0, "jitter", "must be a duration, for instance 10m, or 0s for none", 0)
	if err := checkTimezone(zone.text); err != nil {
		m.fail("timezone", err.Error(), zone.shown())
	}
	if !text.set {
		return
	}
	schedule, err := parseSchedule(text.text, "")
	switch {
	case err != nil:
		m.fail("schedule", err.Error(), text.shown())
	case !fires(schedule):
		m.fail("schedule", "never comes: there is no such day", text.shown())
	case p.Jitter > 0:
		if shortest := shortestInterval(schedule); shortest > 0 && p.Jitter >= shortest {
			m.fail("jitter", "must be shorter than the time between two runs, which is "+shortest.String(), p.Jitter.String())
		}
	}
}

func (m *mapping) budget(key string) Budget {
	const mostCommits = 1_000_000
	inner := m.mapping(key)
	out := Budget{
		Bytes:    inner.size("bytes", 1, 0),
		Duration: inner.duration("duration", 0),
		Commits:  inner.integer("commits", 1, mostCommits, 0),
	}
	inner.finish()
	return out
}

// subset reads the part of a check. What it means is for the check to say; here its form is enough.
func (m *mapping) subset(key string) string {
	s := m.scalar(key)
	if s.text != "" && !isSubset(s.text) {
		m.fail(key, "must be a part as 2/7 or a percentage as 10%", s.shown())
	}
	return s.text
}

func isSubset(text string) bool {
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		_, err := strconv.ParseFloat(percent, 64)
		return err == nil
	}
	n, of, ok := strings.Cut(text, "/")
	_, errN := strconv.ParseUint(n, 10, 31)
	_, errOf := strconv.ParseUint(of, 10, 31)
	return ok && errN == nil && errOf == nil
}

// meaningless reports keys that do nothing for the action of a policy.
func (m *mapping) meaningless(p Policy) {
	keys := map[string][]string{
		ActionCompact: {"upgrade_format", "level", "subset"},
		ActionMigrate: {"level", "subset", "granularity", "min_input_files"},
		ActionCheck:   {"upgrade_format", "triggers", "where", "cool_down", "granularity", "min_input_files"},
	}
	for _, key := range keys[p.Action] {
		if m.has(key) {
			m.fail(key, "has no meaning for the action "+p.Action+"; remove it", "")
		}
	}
	if p.Action == ActionCheck && p.Budget.Commits > 0 {
		m.fail("budget", "has commits, of which a check makes none; remove them", "")
	}
	if p.Action == ActionCheck && p.Subset != "" && p.Level != LevelVectors {
		m.fail("subset", "has a meaning only with level: vectors", "")
	}
}
