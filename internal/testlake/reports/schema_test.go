package reports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// columns is a schema with a partition source, field 1, before other fields. Ids have no gaps: a new table has none.
func columns(fields ...iceberg.NestedField) *iceberg.Schema {
	return iceberg.NewSchema(0, append([]iceberg.NestedField{{ID: 1, Name: "region", Type: iceberg.PrimitiveTypes.Int32}}, fields...)...)
}

func TestColumnsOfAnyNameAndShapeAreNobodysBusiness(t *testing.T) {
	t.Parallel()
	text := iceberg.PrimitiveTypes.String
	wide := []iceberg.NestedField{}
	for i := range 1500 {
		wide = append(wide, iceberg.NestedField{ID: 10 + i, Name: fmt.Sprintf("c%d", i), Type: text})
	}
	for name, schema := range map[string]*iceberg.Schema{
		"a column named partition":            columns(iceberg.NestedField{ID: 5, Name: "partition", Type: text}),
		"a column with dots":                  columns(iceberg.NestedField{ID: 5, Name: "a.b.c", Type: text}),
		"columns named like those of deletes": columns(iceberg.NestedField{ID: 5, Name: "file_path", Type: text}, iceberg.NestedField{ID: 6, Name: "pos", Type: iceberg.PrimitiveTypes.Int64}),
		"1500 columns":                        columns(wide...),
		"a list and a map": columns(
			iceberg.NestedField{ID: 5, Name: "l", Type: &iceberg.ListType{ElementID: 6, Element: text}},
			iceberg.NestedField{ID: 7, Name: "m", Type: &iceberg.MapType{KeyID: 8, KeyType: text, ValueID: 9, ValueType: text}}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := iceberg.NewPartitionSpec(identity(1, 1000, "region"))
			l := newLab(t, forge.Options{Schema: schema, Spec: &spec})
			f, g := l.DataFile("", 0, forge.Tuple{1000: int32(1)}, 10), l.DataFile("", 0, forge.Tuple{1000: int32(2)}, 10)
			l.append(f, g)
			l.delete(l.PositionDeletes(0, f.Partition(), forge.Record{Path: f.FilePath(), Pos: 1}).Build())
			l.delete(l.PositionDeletes(0, g.Partition(), forge.Record{Path: g.FilePath(), Pos: 2}).Build())
			r := l.migrate()
			assert.Zero(t, r.After.PositionDeleteFiles)
			assert.Equal(t, map[string][][2]int64{f.FilePath(): one(1), g.FilePath(): one(2)}, l.read("main").Positions)
		})
	}
}

// nested is a schema whose partition source is a field of a struct.
func nested(id int, name string) *iceberg.Schema {
	return iceberg.NewSchema(id, iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64},
		iceberg.NestedField{ID: 2, Name: name, Type: &iceberg.StructType{FieldList: []iceberg.NestedField{{ID: 3, Name: "k.1", Type: iceberg.PrimitiveTypes.String}}}})
}

func TestThePartitionSourceMayBeRenamedDroppedOrNested(t *testing.T) {
	t.Parallel()
	flat := func(id int, name string) *iceberg.Schema {
		return iceberg.NewSchema(id, iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64}, iceberg.NestedField{ID: 2, Name: name, Type: iceberg.PrimitiveTypes.String})
	}
	dropped := iceberg.NewSchema(1, iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64})
	for name, c := range map[string]struct {
		before, after *iceberg.Schema
		source        int
	}{
		"a nested source that stays":      {nested(0, "s"), nil, 3},
		"a nested source that is dropped": {nested(0, "s"), dropped, 3},
		"a source that is dropped":        {flat(0, "k"), dropped, 2},
		"a source renamed to partition":   {flat(0, "k"), flat(1, "partition"), 2},
		"a struct renamed around it":      {nested(0, "s"), nested(1, "partition"), 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := iceberg.NewPartitionSpec(identity(c.source, 1000, "k"))
			l := newLab(t, forge.Options{Schema: c.before, Spec: &spec})
			f, g := l.DataFile("", 0, forge.Tuple{1000: "a"}, 10), l.DataFile("", 0, forge.Tuple{1000: "b"}, 10)
			l.append(f, g)
			both := func(p int64) []forge.Record {
				return []forge.Record{{Path: f.FilePath(), Pos: p}, {Path: g.FilePath(), Pos: p}}
			}
			l.delete(l.PositionDeletes(0, f.Partition(), both(1)...).Build(), l.PositionDeletes(0, g.Partition(), both(2)...).Build())
			if c.after != nil {
				none := iceberg.NewPartitionSpecID(1)
				l.Update(table.NewAddPartitionSpecUpdate(&none, false), table.NewSetDefaultSpecUpdate(-1))
				l.Update(table.NewAddSchemaUpdate(c.after), table.NewSetCurrentSchemaUpdate(-1))
			}
			l.migrate()
			assert.Equal(t, map[string][][2]int64{f.FilePath(): one(1), g.FilePath(): one(2)}, l.read("main").Positions)
			l.replaceVector(f, 1, 5)
			require.True(t, l.compact().Committed)
			assert.Equal(t, map[string][][2]int64{f.FilePath(): at(1, 5), g.FilePath(): one(2)}, l.read("main").Positions)
		})
	}
}

// The spec keeps a manifest's records of partitions apart by spec; a reader that takes null for null in any spec does not.
func TestNullTuplesOfTwoSpecsAreNotOnePartition(t *testing.T) {
	t.Parallel()
	byRegion := iceberg.NewPartitionSpec(identity(2, 1000, "region"))
	l := newLab(t, forge.Options{Spec: &byRegion})
	byNote := iceberg.NewPartitionSpecID(1, identity(4, 1001, "note"))
	l.Update(table.NewAddPartitionSpecUpdate(&byNote, false))
	f, g := l.DataFile("", 0, forge.Tuple{1000: nil}, 10), l.DataFile("", 1, forge.Tuple{1001: nil}, 10)
	l.append(f, g)
	l.delete(l.PositionDeletes(0, f.Partition(), forge.Record{Path: f.FilePath(), Pos: 1}, forge.Record{Path: g.FilePath(), Pos: 1}).Build())
	r := l.migrate()
	assert.Equal(t, map[string][][2]int64{f.FilePath(): one(1), g.FilePath(): {}}, l.read("main").Positions)
	assert.Zero(t, r.After.PositionDeleteFiles)
}

func TestAPartitionIsNamedForPeople(t *testing.T) {
	t.Parallel()
	spec := iceberg.NewPartitionSpec(identity(3, 1000, "day"), identity(4, 1001, "note"))
	l := newLab(t, forge.Options{Spec: &spec})
	f := l.DataFile("", 0, forge.Tuple{1000: iceberg.Date(3), 1001: nil}, 10)
	l.append(f)
	l.delete(l.PositionDeletes(0, f.Partition(), forge.Record{Path: f.FilePath(), Pos: 1}).Build())
	p := l.plan()
	require.Len(t, p.Partitions, 1)
	assert.True(t, strings.Contains(p.Partitions[0].Partition, "day=") && strings.Contains(p.Partitions[0].Partition, "note=null"), p.Partitions[0].Partition)
	l.migrate()
}
