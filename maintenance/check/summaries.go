package check

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/snapshot"
	"github.com/google/uuid"
)

// summaryCheck compares the partitions of a manifest's entries with the partition summaries in the manifest list. Only a
// summary that excludes an entry is a fault: readers skip the manifest and its deletes. One that is too wide is not.
type summaryCheck struct {
	fields []summarised
	fault  string // the first one found
}

// summarised is one partition field and what the manifest list says of its values.
type summarised struct {
	id           int
	name         string
	said         iceberg.FieldSummary
	lower, upper any // nil when there is no bound, or none that can be decoded
	known        bool
}

// newSummaryCheck prepares the check of a manifest. Where no summaries are given there is nothing to check.
func newSummaryCheck(meta table.Metadata, m iceberg.ManifestFile) *summaryCheck {
	c := &summaryCheck{}
	spec := meta.PartitionSpecByID(int(m.PartitionSpecID()))
	said := m.Partitions()
	if spec == nil || len(said) != spec.NumFields() {
		return c
	}
	types := partitionTypes(meta, spec)
	for i, f := range spec.Fields() {
		s := summarised{id: f.FieldID, name: f.Name, said: said[i]}
		if t := types[f.FieldID]; t != nil {
			s.known = decodeBound(t, said[i].LowerBound, &s.lower) && decodeBound(t, said[i].UpperBound, &s.upper)
		}
		c.fields = append(c.fields, s)
	}
	return c
}

// partitionTypes returns the types of the fields of a spec by field id, from any schema that still has their sources.
func partitionTypes(meta table.Metadata, spec *iceberg.PartitionSpec) map[int]iceberg.Type {
	out := map[int]iceberg.Type{}
	for _, schema := range append([]*iceberg.Schema{meta.CurrentSchema()}, meta.Schemas()...) {
		for i, f := range spec.PartitionType(schema).FieldList {
			if _, has := schema.FindTypeByID(spec.Field(i).SourceID()); has && out[f.ID] == nil {
				out[f.ID] = f.Type
			}
		}
	}
	return out
}

// decodeBound decodes a bound, and says whether it could. There may be none.
func decodeBound(t iceberg.Type, data *[]byte, value *any) bool {
	if data == nil {
		return true
	}
	raw := *data
	if raw == nil {
		raw = []byte{} // the empty text
	}
	l, err := iceberg.LiteralFromBytes(t, raw)
	if err == nil {
		*value = l.Any()
	}
	return err == nil
}

// see compares the partition of an entry. It is called by one goroutine.
func (c *summaryCheck) see(f iceberg.DataFile) {
	if c.fault != "" || len(c.fields) == 0 {
		return
	}
	partition := f.Partition()
	for i := range c.fields {
		if why := c.fields[i].excludes(partition[c.fields[i].id]); why != "" {
			c.fault = fmt.Sprintf("the manifest list says of partition field %s that %s, but %s is in it", c.fields[i].name, why, f.FilePath())
			return
		}
	}
}

// excludes says why a value cannot be in the manifest if its summary is right, or nothing.
func (s *summarised) excludes(value any) string {
	switch {
	case value == nil && !s.said.ContainsNull:
		return "no value is null"
	case value == nil:
		return ""
	case isNaN(value):
		if s.said.ContainsNaN != nil && !*s.said.ContainsNaN {
			return "no value is NaN"
		}
		return ""
	case s.said.LowerBound == nil && s.said.UpperBound == nil:
		return "every value is null or NaN"
	case !s.known:
		return ""
	}
	if n, ok := compareValues(value, s.lower); ok && n < 0 {
		return fmt.Sprintf("no value is below %v, while %v is", s.lower, value)
	}
	if n, ok := compareValues(value, s.upper); ok && n > 0 {
		return fmt.Sprintf("no value is above %v, while %v is", s.upper, value)
	}
	return ""
}

func isNaN(value any) bool {
	f, ok := float(value)
	return ok && math.IsNaN(f)
}

// compareValues orders two partition values, and says whether they can be compared.
func compareValues(a, b any) (int, bool) {
	if x, ok := snapshot.Integer(a); ok {
		y, ok := snapshot.Integer(b)
		return cmp.Compare(x, y), ok
	}
	if x, ok := float(a); ok {
		y, ok := float(b)
		return cmp.Compare(x, y), ok
	}
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		return strings.Compare(x, y), ok
	case []byte:
		y, ok := b.([]byte)
		return bytes.Compare(x, y), ok
	case uuid.UUID:
		y, ok := b.(uuid.UUID)
		return bytes.Compare(x[:], y[:]), ok
	}
	x, okX := decimal(a)
	y, okY := decimal(b)
	return x.Val.Cmp(y.Val), okX && okY && x.Scale == y.Scale
}

func float(v any) (float64, bool) {
	switch v := v.(type) {
	case float32:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func decimal(v any) (iceberg.Decimal, bool) {
	switch v := v.(type) {
	case iceberg.Decimal:
		return v, true
	case iceberg.DecimalLiteral:
		return iceberg.Decimal(v), true
	}
	return iceberg.Decimal{}, false
}
