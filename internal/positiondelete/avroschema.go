package positiondelete

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// avroSchema is what the header of an Avro file says about its records, made fit for reading two columns.
type avroSchema struct {
	// writer is the schema of the file, under which its bytes decode, with the two columns named file_path and pos and no
	// other column of these names. Of all other values it says only how long they are.
	writer []byte
	reader []byte // of the two columns alone
	byName bool   // a field id is missing
}

// object is a JSON object.
type object = map[string]any

// parseAvroSchema finds the columns among the fields of the record, by the reserved field ids, then by name. The ids are
// the attribute "field-id" of a field (table spec, "Avro").
func parseAvroSchema(schema []byte) (out avroSchema, err error) {
	var record object
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	if err := d.Decode(&record); err != nil {
		return out, fmt.Errorf("%w: its Avro schema: %w", ErrFormat, err)
	}
	fields := avroFields(record)
	path, pathByName := findAvroField(fields, FilePathID, "file_path")
	pos, posByName := findAvroField(fields, posID, "pos")
	if path < 0 || pos < 0 || path == pos {
		return out, fmt.Errorf("%w: no file_path and pos in %.1000s", ErrColumn, schema)
	}
	if t := fields[path]["type"]; !isAvro(t, "string") {
		return out, fmt.Errorf("%w: file_path is %v", ErrColumn, t)
	}
	if t := fields[pos]["type"]; !isAvro(t, "long") {
		return out, fmt.Errorf("%w: pos is %v", ErrColumn, t)
	}
	for i, f := range fields {
		f["name"] = "column" + strconv.Itoa(i)
	}
	fields[path]["name"], fields[pos]["name"] = "file_path", "pos"
	out.byName = pathByName || posByName
	if out.writer, err = json.Marshal(withoutMeaning(record)); err != nil {
		return out, fmt.Errorf("%w: its Avro schema: %w", ErrFormat, err)
	}
	reader := object{"type": "record", "name": record["name"], "fields": []object{
		{"name": "file_path", "type": []string{"null", "string"}},
		{"name": "pos", "type": []string{"null", "long"}},
	}}
	if namespace := record["namespace"]; namespace != nil {
		reader["namespace"] = namespace
	}
	out.reader, err = json.Marshal(reader)
	return out, err
}

// avroFields returns the fields of a record, nil when it has something else among them.
func avroFields(record object) []object {
	list, _ := record["fields"].([]any)
	out := make([]object, len(list))
	for i, v := range list {
		f, ok := v.(object)
		if !ok {
			return nil
		}
		out[i] = f
	}
	return out
}

// findAvroField returns the index of a column, -1 when there is none.
func findAvroField(fields []object, id int, name string) (index int, byName bool) {
	for i, f := range fields {
		if f["field-id"] == json.Number(strconv.Itoa(id)) {
			return i, false
		}
	}
	for i, f := range fields {
		if f["name"] == name {
			return i, true
		}
	}
	return -1, true
}

// isAvro tells whether a type is a primitive one without another meaning, or a union of it and null.
func isAvro(t any, want string) bool {
	switch t := t.(type) {
	case string:
		return t == want
	case object:
		return t["type"] == want && t["logicalType"] == nil
	case []any:
		other := 0 // the member of the union that is not null
		if len(t) == 2 && t[0] == "null" {
			other = 1
		}
		return len(t) == 2 && t[1-other] == "null" && isAvro(t[other], want)
	}
	return false
}

// withoutMeaning drops from a schema, at every depth, what changes only what values mean or what is read where a column
// is missing: they are skipped, and the library computes the power of ten that a decimal asks for.
func withoutMeaning(v any) any {
	switch v := v.(type) {
	case object:
		delete(v, "logicalType")
		delete(v, "default")
		for _, member := range v {
			withoutMeaning(member)
		}
	case []any:
		for _, member := range v {
			withoutMeaning(member)
		}
	}
	return v
}
