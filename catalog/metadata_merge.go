package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/apache/iceberg-go/table"
)

// mergeMetadata encodes next, which was made of old, whose file holds raw. Only what the change touched is taken from
// the library's encoding: everything else keeps the bytes it has in the file, with the fields that the library does not
// know, at every depth.
func mergeMetadata(raw []byte, old, next table.Metadata) ([]byte, error) {
	was, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	is, err := json.Marshal(next)
	if err != nil {
		return nil, err
	}
	merged, err := mergeValue(version{file: raw, was: was, is: is}, "metadata")
	if err != nil {
		return nil, err
	}
	if next.Version() > 1 && !bytes.Equal(was, is) {
		return modern(merged, old.Version() == 1)
	}
	return merged, nil
}

// modern gives metadata what format version 2 asks for and version 1 had not: every snapshot has a sequence number, 0
// where version 1 wrote it, and lists take the place of the one schema and partition spec. Some writers leave the number
// out, which iceberg-rust refuses to read (spec, "Snapshots").
func modern(metadata json.RawMessage, upgraded bool) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	var snapshots []map[string]json.RawMessage
	if err := json.Unmarshal(metadata, &members); err != nil {
		return nil, err
	}
	if list := members["snapshots"]; list != nil {
		if err := json.Unmarshal(list, &snapshots); err != nil {
			return nil, err
		}
	}
	if upgraded {
		delete(members, "schema")
		delete(members, "partition-spec")
	}
	added := false
	for _, s := range snapshots {
		if s["sequence-number"] == nil {
			s["sequence-number"], added = json.RawMessage("0"), true
		}
	}
	if !added && !upgraded {
		return metadata, nil
	}
	if added {
		list, err := json.Marshal(snapshots)
		if err != nil {
			return nil, err
		}
		members["snapshots"] = list
	}
	return json.Marshal(members)
}

// version is one JSON value before and after a change. A missing value is nil.
type version struct {
	file json.RawMessage // as the metadata file has it
	was  json.RawMessage // as the library writes what it understood of file
	is   json.RawMessage // as the library writes it after the change
}

// mergeValue applies the difference between was and is to file. where names the value in errors.
func mergeValue(v version, where string) (json.RawMessage, error) {
	switch {
	case v.was != nil && bytes.Equal(v.was, v.is):
		return v.file, nil // nil when the file has none: the library made it up
	case isJSON('{', v.file, v.was, v.is):
		return mergeObject(v, where)
	case isJSON('[', v.file, v.was, v.is):
		return mergeList(v, where)
	}
	return v.is, nil
}

// isJSON tells whether all values begin with the same bracket.
func isJSON(bracket byte, values ...json.RawMessage) bool {
	for _, v := range values {
		if t := bytes.TrimLeft(v, " \t\r\n"); len(t) == 0 || t[0] != bracket {
			return false
		}
	}
	return true
}

func mergeObject(v version, where string) (json.RawMessage, error) {
	var file, was, is map[string]json.RawMessage
	if err := decodeAll(v, &file, &was, &is); err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	out := make(map[string]json.RawMessage, len(is))
	for key, value := range is {
		member, err := mergeValue(version{file: file[key], was: was[key], is: value}, where+"."+key)
		if err != nil {
			return nil, err
		}
		if member != nil {
			out[key] = member
		}
	}
	for key, value := range file {
		_, known := was[key]
		if _, there := is[key]; !known && !there {
			out[key] = value
		}
	}
	return json.Marshal(out)
}

// mergeList finds for each element what it was in the file: one that did not change has the same encoding as before, and
// one that did has its place.
func mergeList(v version, where string) (json.RawMessage, error) {
	var file, was, is []json.RawMessage
	if err := decodeAll(v, &file, &was, &is); err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	if len(file) != len(was) {
		return nil, fmt.Errorf("%s has %d entries, of which %d were understood: a commit would lose the others", where, len(file), len(was))
	}
	from, taken := unchanged(was, is)
	out := make([]json.RawMessage, len(is))
	for i, element := range is {
		e := version{is: element}
		switch {
		case from[i] >= 0:
			e.file, e.was = file[from[i]], was[from[i]]
		case i < len(was) && !taken[i]:
			e.file, e.was = file[i], was[i]
		}
		var err error
		if out[i], err = mergeValue(e, fmt.Sprintf("%s[%d]", where, i)); err != nil {
			return nil, err
		}
	}
	return json.Marshal(out)
}

// unchanged returns for each element of is the index of the same one in was, or -1, and which of was are found so.
func unchanged(was, is []json.RawMessage) (from []int, taken []bool) {
	at := map[string][]int{}
	for i, element := range was {
		at[string(element)] = append(at[string(element)], i)
	}
	from, taken = make([]int, len(is)), make([]bool, len(was))
	for i, element := range is {
		from[i] = -1
		if same := at[string(element)]; len(same) > 0 {
			from[i], taken[same[0]], at[string(element)] = same[0], true, same[1:]
		}
	}
	return from, taken
}

func decodeAll(v version, file, was, is any) error {
	for _, d := range []struct {
		data json.RawMessage
		into any
	}{{v.file, file}, {v.was, was}, {v.is, is}} {
		if err := json.Unmarshal(d.data, d.into); err != nil {
			return err
		}
	}
	return nil
}
