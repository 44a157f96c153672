package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"
)

// ErrPartitionValue says that a partition tuple holds a value of a type this package cannot compare. Such a table is
// left alone: guessing whether two tuples are equal would guess which deletes apply.
var ErrPartitionValue = errors.New("partition value of an unknown type")

// GroupKey names a (spec id, partition tuple) pair: position deletes apply only within one (spec, "Scan Planning").
type GroupKey struct {
	SpecID int32
	Tuple  string // canonical encoding of the tuple: equal strings are equal tuples
}

// Group is one partition under one spec.
type Group struct {
	Key       GroupKey
	Partition map[int]any // field id -> value, as iceberg-go decodes it; copied into deletion vector entries
	Label     string      // for people: "1000=eu, 1001=null"

	Data            []*DataFile   // live data files kept from this partition
	PositionDeletes []*DeleteFile // live position delete files (not deletion vectors) of this partition
}

// DeleteRecords is the number of records in the position delete files of the partition.
func (g *Group) DeleteRecords() (n int64) {
	for _, d := range g.PositionDeletes {
		n += d.Records
	}
	return n
}

// tupleKey encodes a partition tuple so that equal tuples give equal strings.
//
// Integers of all widths compare by value because a partition source may have been promoted between two manifests of
// one spec; floats are compared by their bits with every NaN equal, as the spec's scan planning notes demand.
func tupleKey(partition map[int]any) (string, error) {
	if len(partition) == 0 {
		return "", nil
	}
	ids := make([]int, 0, len(partition))
	for id, v := range partition {
		if v != nil { // a null field and a missing one are the same: the spec of both tuples is
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	var b []byte
	for _, id := range ids {
		b = binary.AppendVarint(b, int64(id))
		var err error
		if b, err = appendValue(b, partition[id]); err != nil {
			return "", fmt.Errorf("partition field %d: %w", id, err)
		}
	}
	return string(b), nil
}

func appendValue(b []byte, v any) ([]byte, error) {
	if n, ok := Integer(v); ok {
		return binary.AppendVarint(append(b, 'i'), n), nil
	}
	switch v := v.(type) {
	case bool:
		if v {
			return append(b, 'T'), nil
		}
		return append(b, 'F'), nil
	case float32:
		return appendFloat(b, float64(v)), nil
	case float64:
		return appendFloat(b, v), nil
	case string:
		return appendBytes(append(b, 's'), []byte(v)), nil
	case []byte:
		return appendBytes(append(b, 'b'), v), nil
	case uuid.UUID:
		return appendBytes(append(b, 'u'), v[:]), nil
	case iceberg.Decimal:
		return appendBytes(append(b, 'd'), []byte(v.String())), nil
	case iceberg.DecimalLiteral:
		return appendBytes(append(b, 'd'), []byte(iceberg.Decimal(v).String())), nil
	}
	return nil, fmt.Errorf("%w: %T", ErrPartitionValue, v)
}

// Integer returns a partition value of any type that is a whole number: numbers of both widths, dates, times.
func Integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case iceberg.Date:
		return int64(v), true
	case iceberg.Time:
		return int64(v), true
	case iceberg.Timestamp:
		return int64(v), true
	case iceberg.TimestampNano:
		return int64(v), true
	}
	return 0, false
}

func appendFloat(b []byte, f float64) []byte {
	bits := math.Float64bits(f)
	if math.IsNaN(f) {
		bits = math.Float64bits(math.NaN())
	}
	return binary.BigEndian.AppendUint64(append(b, 'f'), bits)
}

func appendBytes(b, v []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(v))), v...)
}

// label renders a partition tuple for people, with the spec's field names where they are known.
func label(spec *iceberg.PartitionSpec, partition map[int]any) string {
	if len(partition) == 0 {
		return ""
	}
	names := map[int]string{}
	var order []int
	if spec != nil {
		for _, f := range spec.Fields() {
			names[f.FieldID] = f.Name
			order = append(order, f.FieldID)
		}
	}
	for id := range partition {
		if _, known := names[id]; !known {
			names[id] = strconv.Itoa(id)
			order = append(order, id)
		}
	}
	parts := make([]string, 0, len(order))
	for _, id := range order {
		parts = append(parts, fmt.Sprintf("%s=%s", names[id], valueText(partition[id])))
	}
	return strings.Join(parts, ", ")
}

func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case []byte:
		return fmt.Sprintf("0x%x", v)
	case string:
		return strconv.Quote(v)
	}
	return fmt.Sprint(v)
}
