package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// IsRatio says whether the measure is a ratio from 0 to 1, and not a number of things.
func (t Trigger) IsRatio() bool { return strings.HasSuffix(t.Name, "_ratio") }

// MarshalYAML implements yaml.Marshaler: {min_delete_files: 100}.
func (t Trigger) MarshalYAML() (any, error) {
	if t.IsRatio() {
		return map[string]float64{t.Name: t.Least}, nil
	}
	return map[string]int64{t.Name: int64(t.Least)}, nil
}

func (m *mapping) triggers(key string) Triggers {
	inner := m.mapping(key)
	out := Triggers{Any: inner.triggerList("any"), All: inner.triggerList("all")}
	inner.finish()
	return out
}

func (m *mapping) triggerList(key string) []Trigger {
	var out []Trigger
	for i, node := range m.list(key) {
		inner := m.d.mapping(node, fmt.Sprintf("%s[%d]", m.at(key), i))
		if len(inner.keys) != 1 && target(node).Kind == yaml.MappingNode {
			m.d.fail(inner.line, inner.path, "must have one key and its least value, for instance {min_delete_files: 100}", "")
		}
		out = append(out, inner.trigger())
	}
	return out
}

// trigger reads a mapping of which the one key is the name of a measure.
func (m *mapping) trigger() Trigger {
	var t Trigger
	for _, name := range TriggerNames() {
		if m.has(name) {
			t.Name = name
			t.Least = m.least(t)
		}
	}
	m.asked = TriggerNames()
	m.finish()
	return t
}

// least reads the value of a trigger.
func (m *mapping) least(t Trigger) float64 {
	if !t.IsRatio() {
		return float64(m.integer(t.Name, 0, math.MaxInt32, 0))
	}
	s := m.scalar(t.Name)
	ratio, err := strconv.ParseFloat(s.text, 64)
	if s.set && (err != nil || !(ratio >= 0 && ratio <= 1)) { // which NaN is not either
		m.fail(t.Name, "must be a ratio from 0 to 1", s.shown())
	}
	return ratio
}
