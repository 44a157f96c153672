package reports

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// partitioned is a table whose only partition field is column 1, of some type, under some transform.
func partitioned(kind iceberg.Type, transform iceberg.Transform, version int) forge.Options {
	schema := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "k", Type: kind},
		iceberg.NestedField{ID: 2, Name: "n", Type: iceberg.PrimitiveTypes.Int64},
	)
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{1}, FieldID: 1000, Name: "p", Transform: transform})
	return forge.Options{Version: version, Schema: schema, Spec: &spec}
}

// separated checks that each of some partition values is a partition of its own: in each one data file and one delete
// file of the partition, whose records name the data files of all of them.
func separated(t *testing.T, o forge.Options, values []any) {
	t.Helper()
	l := newLab(t, o)
	var files []iceberg.DataFile
	for _, v := range values {
		files = append(files, l.DataFile("", 0, forge.Tuple{1000: v}, 1000))
	}
	l.append(files...)
	all := map[string][]int64{}
	want := map[string][][2]int64{}
	tuples := map[string]map[int]any{}
	for i, f := range files {
		positions := map[string][]int64{}
		for _, g := range files {
			positions[g.FilePath()] = []int64{int64(i)} // applies to one of them
		}
		l.delete(l.PositionDeletes(0, forge.Tuple{1000: values[i]}, forge.Records(positions)...).Build())
		all[f.FilePath()], want[f.FilePath()] = []int64{int64(i)}, one(int64(i))
	}
	before := l.read("main")
	require.Equal(t, want, before.Positions, "the table is what it was meant to be")
	for path, e := range before.Entries {
		tuples[path] = e.DataFile().Partition()
	}
	l.tidy(o.Version)
	got := l.read("main")
	assert.Equal(t, want, got.Positions)
	assert.Equal(t, len(files), got.DVs)
	for _, entries := range l.liveDeletes() {
		for _, e := range entries {
			d := e.DataFile()
			if ref := d.ReferencedDataFile(); ref != nil {
				assert.True(t, testlake.EqualTuples(tuples[*ref], d.Partition()), "%v, its data file has %v", d.Partition(), tuples[*ref])
			}
		}
	}
}

// tidy migrates a table of version 2 and compacts one of version 3, until no position delete file is left.
func (l *lab) tidy(version int) {
	l.t.Helper()
	o := options(maintenance.Compact)
	if version == 2 {
		o = options(maintenance.Migrate)
	}
	r := l.run(o)
	assert.Zero(l.t, r.After.PositionDeleteFiles, "%+v", r.Skipped)
}

// decimalOf is a decimal as writers hand it to a manifest.
func decimalOf(digits string, scale int) any {
	n, _ := new(big.Int).SetString(digits, 10)
	return iceberg.DecimalLiteral{Val: decimal128.FromBigInt(n), Scale: scale}
}

func TestPartitionValuesOfEveryTypeStayApart(t *testing.T) {
	t.Parallel()
	p := iceberg.PrimitiveTypes
	for name, c := range map[string]struct {
		kind   iceberg.Type
		values []any
	}{
		"boolean":        {p.Bool, []any{true, false, nil}},
		"int":            {p.Int32, []any{int32(0), int32(-1), int32(math.MaxInt32), int32(math.MinInt32), nil}},
		"long":           {p.Int64, []any{int64(0), int64(-1), int64(math.MaxInt64), int64(math.MinInt64), int64(1) << 53, int64(1)<<53 + 1, nil}},
		"float":          {p.Float32, []any{float32(0), float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), float32(0.1), nil}},
		"double":         {p.Float64, []any{0.0, math.Copysign(0, -1), math.NaN(), math.Inf(-1), 0.1, math.SmallestNonzeroFloat64, nil}},
		"decimal(9,2)":   {iceberg.DecimalTypeOf(9, 2), []any{decimalOf("0", 2), decimalOf("-1", 2), decimalOf("123456789", 2), nil}},
		"decimal(18,4)":  {iceberg.DecimalTypeOf(18, 4), []any{decimalOf("1", 4), decimalOf("-1", 4), decimalOf("100000000000000000", 4), decimalOf("-128", 4)}},
		"decimal(38,10)": {iceberg.DecimalTypeOf(38, 10), []any{decimalOf("99999999999999999999999999999999999999", 10), decimalOf("-99999999999999999999999999999999999999", 10), decimalOf("0", 10), nil}},
		"date":           {p.Date, []any{iceberg.Date(0), iceberg.Date(-1), iceberg.Date(20000), nil}},
		"time":           {p.Time, []any{iceberg.Time(0), iceberg.Time(1), iceberg.Time(86399999999), nil}},
		"timestamp":      {p.Timestamp, []any{iceberg.Timestamp(0), iceberg.Timestamp(-1), iceberg.Timestamp(1700000000000001), nil}},
		"timestamptz":    {p.TimestampTz, []any{iceberg.Timestamp(0), iceberg.Timestamp(-1), iceberg.Timestamp(1700000000000001), nil}},
		"string":         {p.String, []any{"", "null", "a/b=c", "ü\u0301\u00fc", "\x00", "日本", " ", nil}},
		"uuid":           {p.UUID, []any{uuid.UUID{}, uuid.UUID{15: 1}, uuid.UUID{0: 0xff}, nil}},
		"fixed":          {iceberg.FixedTypeOf(4), []any{[]byte{0, 0, 0, 0}, []byte{0, 0, 0, 1}, []byte("null"), nil}},
		"binary":         {p.Binary, []any{[]byte{}, []byte{0}, []byte{0, 0}, []byte("\xff\xfe"), nil}},
	} {
		for _, version := range []int{2, 3} {
			t.Run(fmt.Sprintf("%s in version %d", name, version), func(t *testing.T) {
				t.Parallel()
				separated(t, partitioned(c.kind, iceberg.IdentityTransform{}, version), c.values)
			})
		}
	}
}

func TestPartitionValuesInNanosecondsStayApart(t *testing.T) {
	t.Parallel()
	for _, kind := range []iceberg.Type{iceberg.PrimitiveTypes.TimestampNs, iceberg.PrimitiveTypes.TimestampTzNs} {
		separated(t, partitioned(kind, iceberg.IdentityTransform{}, 3), []any{iceberg.TimestampNano(0), iceberg.TimestampNano(1), iceberg.TimestampNano(-1), iceberg.TimestampNano(1700000000000000001), nil})
	}
}

func TestValuesOfEveryTransformStayApart(t *testing.T) {
	t.Parallel()
	p := iceberg.PrimitiveTypes
	for name, c := range map[string]struct {
		kind      iceberg.Type
		transform iceberg.Transform
		values    []any
	}{
		"bucket of string":     {p.String, iceberg.BucketTransform{NumBuckets: 16}, []any{int32(0), int32(15), nil}},
		"bucket of decimal":    {iceberg.DecimalTypeOf(9, 2), iceberg.BucketTransform{NumBuckets: 4}, []any{int32(0), int32(3), nil}},
		"bucket of binary":     {p.Binary, iceberg.BucketTransform{NumBuckets: 4}, []any{int32(0), int32(3), nil}},
		"truncated string":     {p.String, iceberg.TruncateTransform{Width: 3}, []any{"", "abc", "ab", nil}},
		"truncated long":       {p.Int64, iceberg.TruncateTransform{Width: 10}, []any{int64(0), int64(-10), int64(10), nil}},
		"truncated decimal":    {iceberg.DecimalTypeOf(9, 2), iceberg.TruncateTransform{Width: 50}, []any{decimalOf("100", 2), decimalOf("-50", 2), nil}},
		"truncated binary":     {p.Binary, iceberg.TruncateTransform{Width: 2}, []any{[]byte{}, []byte{1, 2}, nil}},
		"year":                 {p.Timestamp, iceberg.YearTransform{}, []any{int32(0), int32(-1), int32(54), nil}},
		"month":                {p.Date, iceberg.MonthTransform{}, []any{int32(0), int32(-1), int32(650), nil}},
		"day":                  {p.TimestampTz, iceberg.DayTransform{}, []any{iceberg.Date(0), iceberg.Date(-1), iceberg.Date(19999), nil}},
		"hour":                 {p.Timestamp, iceberg.HourTransform{}, []any{int32(0), int32(-1), int32(480000), nil}},
		"void, always null":    {p.String, iceberg.VoidTransform{}, []any{nil}},
		"void of a wide value": {iceberg.DecimalTypeOf(38, 10), iceberg.VoidTransform{}, []any{nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			separated(t, partitioned(c.kind, c.transform, 2), c.values)
		})
	}
}

func TestEqualTuplesOfTwoSpecsAreTwoPartitions(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{"a value": int32(7), "null": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			byRegion := iceberg.NewPartitionSpec(identity(2, 1000, "region"))
			l := newLab(t, forge.Options{Spec: &byRegion})
			other := iceberg.NewPartitionSpecID(1, identity(2, 1000, "region"), iceberg.PartitionField{SourceIDs: []int{4}, FieldID: 1001, Name: "note", Transform: iceberg.VoidTransform{}})
			l.Update(table.NewAddPartitionSpecUpdate(&other, false))
			tuple := forge.Tuple{1000: value}
			f, g := l.DataFile("", 0, tuple, 100), l.DataFile("", 1, tuple, 100)
			l.append(f, g)
			both := func(p int64) []forge.Record {
				return forge.Records(map[string][]int64{f.FilePath(): {p}, g.FilePath(): {p}})
			}
			l.delete(l.PositionDeletes(0, tuple, both(1)...).Build(), l.PositionDeletes(1, tuple, both(2)...).Build())
			r := l.migrate()
			assert.Zero(t, r.After.PositionDeleteFiles)
			got := l.read("main")
			assert.Equal(t, map[string][][2]int64{f.FilePath(): one(1), g.FilePath(): one(2)}, got.Positions)
			assert.Len(t, got.Puffins, 2, "a Puffin file holds the vectors of one spec")
		})
	}
}

func TestDeletesUnderTheSpecOfNewFilesDoNotReachOldOnes(t *testing.T) {
	t.Parallel()
	byDay := iceberg.NewPartitionSpec(identity(3, 1000, "day"))
	for name, c := range map[string]struct {
		spec  int
		tuple forge.Tuple
		want  [][2]int64
		skip  map[string]int
	}{
		"the data file's own spec": {0, forge.Tuple{1000: iceberg.Date(3)}, one(1), map[string]int{}},
		"the new spec":             {1, forge.Tuple{1001: int32(72)}, [][2]int64{}, map[string]int{"delete-partition": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, forge.Options{Spec: &byDay})
			f := l.DataFile("", 0, forge.Tuple{1000: iceberg.Date(3)}, 10)
			l.append(f)
			other := iceberg.NewPartitionSpecID(1, identity(2, 1001, "region"))
			l.Update(table.NewAddPartitionSpecUpdate(&other, false), table.NewSetDefaultSpecUpdate(1))
			l.delete(l.PositionDeletes(c.spec, c.tuple, forge.Record{Path: f.FilePath(), Pos: 1}).Build())
			r := l.migrate()
			assert.Equal(t, c.skip, reasons(r))
			assert.Equal(t, c.want, l.read("main").Positions[f.FilePath()])
			assert.Equal(t, len(c.skip), r.After.PositionDeleteFiles)
		})
	}
}

func TestADeletionVectorOfAnotherPartitionStaysAsItIs(t *testing.T) {
	t.Parallel()
	byRegion := iceberg.NewPartitionSpec(identity(2, 1000, "region"))
	l := newDamagedLab(t, forge.Options{Version: 3, Spec: &byRegion})
	here, there := forge.Tuple{1000: int32(1)}, forge.Tuple{1000: int32(2)}
	f, g, h := l.DataFile("", 0, here, 10), l.DataFile("", 0, here, 10), l.DataFile("", 0, here, 10)
	l.append(f, g, h)
	d := l.DeletionVectors(forge.Vector{Data: f, Positions: []int64{1}})[0]
	wrong := l.Entry(0, there, iceberg.EntryContentPosDeletes, d.FilePath(), iceberg.PuffinFile, 1, d.FileSizeBytes())
	l.delete(wrong.ReferencedDataFile(f.FilePath()).ContentOffset(*d.ContentOffset()).ContentSizeInBytes(*d.ContentSizeInBytes()).Build())
	l.vector(g, 2)
	l.vector(h, 3)
	r := l.compact()
	assert.Equal(t, map[string]int{"dv-partition": 1}, reasons(r))
	assert.True(t, r.Committed)
	assert.Contains(t, l.livePaths(), d.FilePath())
}

func TestWrongPartitionSummariesHideNothing(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]iceberg.Type{"binary": iceberg.PrimitiveTypes.Binary, "fixed": iceberg.FixedTypeOf(2)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, partitioned(kind, iceberg.IdentityTransform{}, 2))
			a, b := forge.Tuple{1000: []byte("aa")}, forge.Tuple{1000: []byte("bb")}
			f, g := l.DataFile("", 0, a, 10), l.DataFile("", 0, b, 10)
			narrow := func(m iceberg.ManifestFile, builder *iceberg.ManifestBuilder) {
				lower, upper := []byte("aa"), []byte("aa") // nothing of the second partition, says the manifest list
				no := false
				builder.Partitions([]iceberg.FieldSummary{{ContainsNull: false, ContainsNaN: &no, LowerBound: &lower, UpperBound: &upper}})
			}
			l.Commit(forge.Change{Operation: table.OpAppend, Add: forge.Files(f, g), Record: narrow})
			l.Commit(forge.Change{Operation: table.OpDelete, Record: narrow, Add: forge.Files(
				l.PositionDeletes(0, a, forge.Record{Path: f.FilePath(), Pos: 1}).Build(), l.PositionDeletes(0, b, forge.Record{Path: g.FilePath(), Pos: 2}).Build())})
			l.migrate()
			got := l.read("main")
			assert.Equal(t, map[string][][2]int64{f.FilePath(): one(1), g.FilePath(): one(2)}, got.Positions)
			assert.Equal(t, 2, got.DVs)
		})
	}
}

// The bits of a NaN say nothing: any of them is the same partition, while 0 and -0 are two.
func TestDeletesInThePartitionOfNaNApplyWhateverItsBits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind iceberg.Type
		a, b any
		want [][2]int64
	}{
		"float NaN":  {iceberg.PrimitiveTypes.Float32, math.Float32frombits(0x7fc00001), math.Float32frombits(0xffc00000), one(1)},
		"double NaN": {iceberg.PrimitiveTypes.Float64, math.Float64frombits(0x7ff8000000000001), math.Float64frombits(0xfff8000000000000), one(1)},
		"zeros":      {iceberg.PrimitiveTypes.Float64, 0.0, math.Copysign(0, -1), [][2]int64{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, partitioned(c.kind, iceberg.IdentityTransform{}, 3))
			f := l.DataFile("", 0, forge.Tuple{1000: c.a}, 10)
			l.append(f)
			l.delete(l.PositionDeletes(0, forge.Tuple{1000: c.b}, forge.Record{Path: f.FilePath(), Pos: 1}).Build())
			l.compact()
			assert.Equal(t, c.want, l.read("main").Positions[f.FilePath()])
			assert.Equal(t, len(c.want), l.read("main").DVs)
		})
	}
}
