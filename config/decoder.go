package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// decoder collects the mistakes found while the nodes of a document are read.
type decoder struct {
	file string
	env  LookupEnv
	errs Errors
}

func (d *decoder) fail(line int, path, reason, got string) {
	d.errs = append(d.errs, &Error{File: d.file, Line: line, Path: path, Reason: reason, Got: got})
}

// target follows an alias to what it stands for.
func target(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode && node.Alias != nil {
		return node.Alias
	}
	return node
}

// describe names what kind of thing a node is.
func describe(node *yaml.Node) string {
	switch target(node).Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		return "a single value"
	}
}

// mapping is a YAML mapping of which every key must be asked for.
type mapping struct {
	d      *decoder
	line   int
	path   string
	keys   []string // in the order of the file
	fields map[string]field
	asked  []string
}

// field is a key with its value.
type field struct {
	line  int
	value *yaml.Node
}

// mapping reads node as a mapping. It never returns nil: what is not a mapping is reported and read as an empty one.
func (d *decoder) mapping(node *yaml.Node, path string) *mapping {
	m := &mapping{d: d, line: node.Line, path: path, fields: map[string]field{}}
	node = target(node)
	if node.Kind != yaml.MappingNode {
		d.fail(m.line, path, "must be a mapping of keys to values", describe(node))
		return m
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		m.add(key, value)
	}
	return m
}

func (m *mapping) add(key, value *yaml.Node) {
	name := target(key).Value
	switch {
	case target(key).Kind != yaml.ScalarNode:
		m.d.fail(key.Line, m.path, "has a key that is not a single value", describe(key))
	case key.Tag == "!!merge":
		m.d.fail(key.Line, m.path, "merge keys (<<) are not supported; repeat the keys", "")
	case m.has(name):
		m.d.fail(key.Line, m.at(name), fmt.Sprintf("is there twice, first on line %d; keep one of them", m.fields[name].line), "")
	default:
		m.keys = append(m.keys, name)
		m.fields[name] = field{line: key.Line, value: value}
	}
}

func (m *mapping) has(key string) bool {
	_, ok := m.fields[key]
	return ok
}

// at is the path of a key.
func (m *mapping) at(key string) string {
	if m.path == "" {
		return key
	}
	return m.path + "." + key
}

func (m *mapping) lineOf(key string) int {
	if f, ok := m.fields[key]; ok {
		return f.line
	}
	return m.line
}

func (m *mapping) fail(key, reason, got string) { m.d.fail(m.lineOf(key), m.at(key), reason, got) }

// node returns the value of a key, or nil when it is absent.
func (m *mapping) node(key string) *yaml.Node {
	m.asked = append(m.asked, key)
	return m.fields[key].value
}

// mapping returns the mapping under a key; absent is empty.
func (m *mapping) mapping(key string) *mapping {
	node := m.node(key)
	if node == nil {
		return &mapping{d: m.d, line: m.line, path: m.at(key)}
	}
	return m.d.mapping(node, m.at(key))
}

// finish reports the keys that nobody asked for.
func (m *mapping) finish() {
	for _, key := range m.keys {
		if slices.Contains(m.asked, key) {
			continue
		}
		reason := "is not a known key here"
		if near := nearest(key, m.asked); near != "" {
			reason += "; did you mean " + near + "?"
		} else if len(m.asked) > 0 {
			reason += "; known are " + strings.Join(m.asked, ", ")
		}
		m.fail(key, reason, "")
	}
}

// list returns the elements of the list under a key; absent is empty.
func (m *mapping) list(key string) []*yaml.Node {
	node := m.node(key)
	if node == nil {
		return nil
	}
	if target(node).Kind != yaml.SequenceNode {
		m.fail(key, "must be a list", describe(node))
		return nil
	}
	return target(node).Content
}

// scalar is a single value.
type scalar struct {
	raw, text string // as it is in the file, and with references replaced
	set       bool   // it is there and could be read
}

// shown is what an error may say about the value.
func (s scalar) shown() string {
	const longest = 120
	got := strconv.Quote(Redact(s.raw))
	if len(got) > longest {
		got = strings.ToValidUTF8(got[:longest], "") + "..."
	}
	return strings.Trim(got, `"`)
}

func (m *mapping) scalar(key string) scalar {
	node := m.node(key)
	if node == nil {
		return scalar{}
	}
	s, reason := m.d.scalar(node)
	if reason != "" {
		m.fail(key, reason, "")
	}
	return s
}

// scalar reads a single value; the reason says why it cannot, and never holds the value.
func (d *decoder) scalar(node *yaml.Node) (scalar, string) {
	node = target(node)
	if node.Kind != yaml.ScalarNode {
		return scalar{}, "must be a single value, not " + strings.TrimPrefix(describe(node), "a single ")
	}
	switch node.Tag {
	case "!!null":
		return scalar{}, "has no value; give it one or remove the key"
	case "!!str", "!!int", "!!float", "!!bool", "!!timestamp":
	default:
		return scalar{}, "has a YAML tag; remove it"
	}
	text, err := expand(node.Value, d.env)
	if err != nil {
		return scalar{}, err.Error()
	}
	return scalar{raw: node.Value, text: text, set: true}, ""
}

// str returns the text under a key.
func (m *mapping) str(key string) string { return m.scalar(key).text }

// required is str for keys that must be there.
func (m *mapping) required(key, hint string) scalar {
	if !m.has(key) {
		m.asked = append(m.asked, key)
		m.fail(key, "is missing; "+hint, "")
		return scalar{}
	}
	s := m.scalar(key)
	if s.set && s.text == "" {
		m.fail(key, "is empty; "+hint, "")
		return scalar{}
	}
	return s
}

// boolean returns the truth value under a key.
func (m *mapping) boolean(key string) bool {
	s := m.scalar(key)
	if s.set && s.text != "true" && s.text != "false" {
		m.fail(key, "must be true or false", s.shown())
	}
	return s.text == "true"
}

// integer returns the whole number under a key, or otherwise when it is absent.
func (m *mapping) integer(key string, least, most, otherwise int) int {
	s := m.scalar(key)
	if !s.set {
		return otherwise
	}
	n, err := strconv.Atoi(s.text)
	if err != nil || n < least || n > most {
		m.fail(key, fmt.Sprintf("must be a whole number from %d to %d", least, most), s.shown())
		return otherwise
	}
	return n
}

// size returns the size under a key, or otherwise when it is absent.
func (m *mapping) size(key string, least, otherwise Size) Size {
	s := m.scalar(key)
	if !s.set {
		return otherwise
	}
	n, err := ParseSize(s.text)
	switch {
	case err != nil && s.raw == s.text:
		m.fail(key, err.Error(), s.shown())
	case err != nil: // the reason may hold what the reference brought
		m.fail(key, "is not a size; write for instance 512MiB", s.shown())
	case n < least:
		m.fail(key, "must be at least "+least.String(), s.shown())
	default:
		return n
	}
	return otherwise
}

// strings returns the mapping of texts under a key. check, if not nil, returns why an entry is wrong, or "".
func (m *mapping) strings(key string, check func(name, value string) string) map[string]string {
	if m.node(key) == nil {
		return nil
	}
	inner := m.mapping(key)
	out := make(map[string]string, len(inner.keys))
	for _, k := range inner.keys {
		out[k] = inner.str(k)
		if check == nil {
			continue
		}
		if reason := check(k, out[k]); reason != "" {
			inner.fail(k, reason, "")
		}
	}
	return out
}
