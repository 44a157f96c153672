package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/apache/iceberg-go"
)

// avroSpec returns the spec with field names that Avro allows, for the schema of a manifest: a partition field may be
// named "da#a" or "größe", a field of an Avro record may not. Readers know partition fields by their ids, and the
// reference escapes names too.
func avroSpec(spec *iceberg.PartitionSpec) *iceberg.PartitionSpec {
	var fields []iceberg.PartitionField
	taken := map[string]bool{}
	for _, f := range spec.Fields() {
		f.Name = avroName(f.Name)
		if taken[f.Name] {
			f.Name = fmt.Sprintf("%s_%d", f.Name, f.FieldID)
		}
		taken[f.Name] = true
		fields = append(fields, f)
	}
	out := iceberg.NewPartitionSpecID(spec.ID(), fields...)
	return &out
}

// avroName replaces what a name in Avro cannot have (Avro specification, "Names") by its code in hexadecimal digits.
func avroName(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch digit := r >= '0' && r <= '9'; {
		case r == '_', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', digit && i > 0:
			b.WriteRune(r)
		case digit:
			b.WriteString("_" + string(r))
		default:
			fmt.Fprintf(&b, "_x%X", r)
		}
	}
	return b.String()
}

// plainNames returns the Avro schema of a manifest with names that Avro allows, and whether any had to be replaced. The
// reference leaves letters of every language in them, for which the library would refuse the manifest. Names of fields
// say nothing about how their values are encoded.
func plainNames(schema []byte) ([]byte, bool) {
	if !bytes.ContainsFunc(schema, func(r rune) bool { return r >= utf8.RuneSelf || r == '\\' }) {
		return schema, false
	}
	var parsed any
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	if d.Decode(&parsed) != nil || !renameFields(parsed) {
		return schema, false
	}
	renamed, err := json.Marshal(parsed)
	return renamed, err == nil
}

// renameFields gives the fields of every record in a parsed Avro schema names that Avro allows.
func renameFields(v any) (changed bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			changed = renameFields(e) || changed
		}
	case map[string]any:
		for _, e := range v {
			changed = renameFields(e) || changed
		}
		if name, ok := v["name"].(string); ok && avroName(name) != name && v["type"] != nil && v["fields"] == nil {
			v["name"], changed = avroName(name), true
		}
	}
	return changed
}
