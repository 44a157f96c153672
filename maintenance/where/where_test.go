package where

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample is a value of a column and how it is written; those of one type are in ascending order.
type sample struct {
	text  string
	value iceberg.Literal
}

func lit[T iceberg.LiteralType](text string, v T) sample { return sample{text, iceberg.NewLiteral(v)} }

// column is a type with values of it and the transforms that a spec may have for it.
type column struct {
	typ        iceberg.Type
	samples    []sample
	transforms string
}

const micros = 1_000_000

func columns(t *testing.T) []column {
	decimal := func(text string) sample {
		v, err := iceberg.StringLiteral(text).To(iceberg.DecimalTypeOf(9, 2))
		require.NoError(t, err)
		return sample{text, v}
	}
	id := func(n byte) sample {
		u := uuid.UUID{0: n, 15: 7}
		return lit("'"+u.String()+"'", u)
	}
	fixed := func(text string, b ...byte) sample { return sample{text, iceberg.FixedLiteral(b)} }
	const day, year = int64(86400), int64(365 * 86400)
	at := []int64{-year - 3605, -1, 0, 3600, day, 40 * day, 500 * day}
	stamp := func(quote string, perSecond int64, make func(int64) iceberg.Literal) (out []sample) {
		for i, text := range []string{"1968-12-31 22:59:55", "1969-12-31T23:59:59", "1970-01-01", "1970-01-01 01:00", "1970-01-02", "1970-02-10", "1971-05-16"} {
			out = append(out, sample{fmt.Sprintf(quote, text), make(at[i] * perSecond)})
		}
		return out
	}
	micro := func(n int64) iceberg.Literal { return iceberg.NewLiteral(iceberg.Timestamp(n)) }
	nano := func(n int64) iceberg.Literal { return iceberg.NewLiteral(iceberg.TimestampNano(n)) }
	p := iceberg.PrimitiveTypes
	return []column{
		{p.Bool, []sample{lit("FALSE", false), lit("true", true)}, ""},
		{p.Int32, []sample{lit("-13", int32(-13)), lit("-1", int32(-1)), lit("0", int32(0)), lit("7", int32(7)), lit("+12", int32(12))}, "bucket[4] truncate[5]"},
		{p.Int64, []sample{lit("-13", int64(-13)), lit("0", int64(0)), lit("7", int64(7)), lit("9000000000", int64(9e9))}, "bucket[4] truncate[5]"},
		{p.Float32, []sample{lit("-1.5", float32(-1.5)), lit("0", float32(0)), lit(".5", float32(.5)), lit("1e3", float32(1000))}, ""},
		{p.Float64, []sample{lit("-1.5", -1.5), lit("0", 0.0), lit("2.25", 2.25), lit("1e-3", 1e-3)}[:3], ""},
		{iceberg.DecimalTypeOf(9, 2), []sample{decimal("-1.25"), decimal("0.00"), decimal("3.5"), decimal("12.34")}, "bucket[4] truncate[50]"},
		{p.Date, []sample{lit("'1968-12-31'", iceberg.Date(-366)), lit("'1969-12-31'", iceberg.Date(-1)), lit("'1970-01-01'", iceberg.Date(0)), lit("'1970-02-10'", iceberg.Date(40)), lit("'1971-05-16'", iceberg.Date(500))}, "bucket[4] year month day"},
		{p.Time, []sample{lit("'00:00:00'", iceberg.Time(0)), lit("'13:45:00'", iceberg.Time(49500*micros)), lit("'23:59:59'", iceberg.Time(86399*micros))}, "bucket[4]"},
		{p.Timestamp, stamp("'%s'", micros, micro), "bucket[4] year month day hour"},
		{p.TimestampTz, stamp("'%s'", micros, micro), "bucket[4] year month day hour"},
		{p.TimestampNs, stamp("'%s'", 1000*micros, nano), "bucket[4] year month day hour"},
		{p.TimestampTzNs, stamp("'%s'", 1000*micros, nano), "bucket[4] year month day hour"},
		{p.String, []sample{lit("''", ""), lit("'abc'", "abc"), lit("'abd'", "abd"), lit("'it''s'", "it's"), lit("'ж'", "ж")}, "bucket[4] truncate[2]"},
		{p.UUID, []sample{id(1), id(2), id(3)}, "bucket[4]"},
		{p.Binary, []sample{lit("X''", []byte{}), lit("X'00ff'", []byte{0, 255}), lit("x'01'", []byte{1})}, "bucket[4] truncate[1]"},
		{iceberg.FixedTypeOf(2), []sample{fixed("X'0001'", 0, 1), fixed("X'0100'", 1, 0)}, "bucket[4]"},
	}
}

// partitioned makes a table with column c that has a transform in its spec, field id 1000.
func partitioned(t testing.TB, typ iceberg.Type, transform string) table.Metadata {
	parsed, err := iceberg.ParseTransform(transform)
	require.NoError(t, err)
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{1}, FieldID: 1000, Name: "p", Transform: parsed})
	schema := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "c", Type: typ}, iceberg.NestedField{ID: 2, Name: "other", Type: iceberg.PrimitiveTypes.Int64})
	meta, err := table.NewMetadata(schema, &spec, table.UnsortedSortOrder, "s3://lake/t", iceberg.Properties{"format-version": "3"})
	require.NoError(t, err)
	return meta
}

func filter(t testing.TB, meta table.Metadata, predicate string) *Filter {
	p, err := Parse(predicate)
	require.NoError(t, err)
	assert.Equal(t, predicate, p.String())
	f, err := p.Bind(meta)
	require.NoError(t, err, predicate)
	return f
}

// compare says whether value number a passes a comparison with value number b.
func compare(a int, op string, b int) bool {
	return map[string]bool{"=": a == b, "!=": a != b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]
}

// tupleOf is the partition tuple of a value.
func tupleOf(t *testing.T, transform string, v iceberg.Literal) map[int]any {
	parsed, err := iceberg.ParseTransform(transform)
	require.NoError(t, err)
	got := parsed.Apply(iceberg.Optional[iceberg.Literal]{Valid: true, Val: v})
	require.True(t, got.Valid)
	return map[int]any{1000: got.Val.Any()}
}

func TestEveryRowThatPassesIsInAPartitionThatIsTakenWhateverTypeAndTransform(t *testing.T) {
	t.Parallel()
	for _, c := range columns(t) {
		for _, transform := range append([]string{"identity"}, strings.Fields(c.transforms)...) {
			t.Run(fmt.Sprintf("%s of %s", transform, c.typ), func(t *testing.T) {
				t.Parallel()
				meta := partitioned(t, c.typ, transform)
				left := 0
				for i, s := range c.samples {
					for _, op := range []string{"=", "!=", "<>", "<", "<=", ">", ">="} {
						f, not := filter(t, meta, "c "+op+" "+s.text), filter(t, meta, "NOT (c "+op+" "+s.text+")")
						assert.False(t, f.Matches(0, map[int]any{}), "null: %s %s", op, s.text)
						assert.False(t, not.Matches(0, map[int]any{1000: nil}), "null: not %s %s", op, s.text)
						for j, v := range c.samples {
							partition := tupleOf(t, transform, v.value)
							want := compare(j, op, i)
							got, opposite := f.Matches(0, partition), not.Matches(0, partition)
							assert.True(t, got || !want, "%s %s %s", v.text, op, s.text)
							assert.True(t, opposite || want, "not %s %s %s", v.text, op, s.text)
							if transform == "identity" {
								assert.Equal(t, want, got, "%s %s %s", v.text, op, s.text)
								assert.Equal(t, !want, opposite, "not %s %s %s", v.text, op, s.text)
							}
							if !got {
								left++
							}
						}
					}
				}
				assert.Positive(t, left, "no partition is ever left out")
				null, notNull := filter(t, meta, "c IS NULL"), filter(t, meta, "c is not null")
				assert.True(t, null.Matches(0, map[int]any{}))
				assert.False(t, notNull.Matches(0, map[int]any{}))
				assert.False(t, null.Matches(0, tupleOf(t, transform, c.samples[0].value)))
				assert.True(t, notNull.Matches(0, tupleOf(t, transform, c.samples[0].value)))
			})
		}
	}
}

func TestPredicatesOfMoreThanOneTest(t *testing.T) {
	t.Parallel()
	meta := partitioned(t, iceberg.PrimitiveTypes.Int32, "identity")
	for predicate, want := range map[string]string{
		"c IN (1, 3)":                      "1 3",
		"c NOT IN (1, 3)":                  "0 2 4",
		"NOT c IN (1, 3)":                  "0 2 4",
		"c BETWEEN 1 AND 2 OR c = 4":       "1 2 4",
		"c NOT BETWEEN 1 AND 2 AND c <> 4": "0 3",
		"NOT c NOT BETWEEN 1 AND 2":        "1 2",
		"c = 1 OR c = 2 AND c = 3":         "1",
		"(c = 1 OR c = 2) AND c != 1":      "2",
		"NOT (c = 1 OR c > 2)":             "0 2",
		"NOT (c >= 1 AND NOT (c = 3))":     "0 3",
		"c IS NULL OR c = 0":               "0 null",
		"NOT (c IS NULL OR c = 0)":         "1 2 3 4",
		"p < 2":                            "0 1",
		"\"p\" < 2 and `c` > 0":            "1",
		"c < 9000000000":                   "0 1 2 3 4",
		"c = 9000000000":                   "",
		"c==1":                             "1",
		"c = -1":                           "",
		"c in(0)":                          "0",
		" ( ( c ) ) "[:0] + "((c = 1))":    "1",
	} {
		f := filter(t, meta, predicate)
		var got []string
		for i := range int32(5) {
			if f.Matches(0, map[int]any{1000: i}) {
				got = append(got, fmt.Sprint(i))
			}
		}
		if f.Matches(0, map[int]any{1000: nil}) {
			got = append(got, "null")
		}
		assert.Equal(t, want, strings.Join(got, " "), predicate)
	}
}

func TestPartitionFieldsOfTimeAreWrittenAsEnginesShowThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		transform, predicate string
		yes, no              any
	}{
		{"year", "p = '1971'", int32(1), int32(0)},
		{"month", "p >= '1970-02'", int32(1), int32(0)},
		{"day", "p = '1970-02-10'", iceberg.Date(40), iceberg.Date(41)},
		{"day", "p = '1970-02-10'", int32(40), int32(41)},
		{"hour", "p < '1970-01-01-02'", int32(1), int32(2)},
		{"hour", "p = '1969-12-31-23'", int32(-1), int32(0)},
		{"bucket[8]", "p = 3", int32(3), int32(4)},
		{"bucket[8]", "p IS NOT NULL", int32(3), nil},
	} {
		f := filter(t, partitioned(t, iceberg.PrimitiveTypes.TimestampTz, c.transform), c.predicate)
		assert.True(t, f.Matches(0, map[int]any{1000: c.yes}), "%v", c)
		assert.False(t, f.Matches(0, map[int]any{1000: c.no}), "%v", c)
	}
}

func TestWhatIsWrongWithAPredicateIsSaidWithItsPlace(t *testing.T) {
	t.Parallel()
	meta := partitioned(t, iceberg.PrimitiveTypes.Int32, "identity")
	for predicate, want := range map[string]string{
		"":                       "at character 1: expected the name of a column, not the end",
		"c":                      "at character 2: expected a comparison, IN, BETWEEN or IS, not the end",
		"c =":                    "at character 4: expected a value, not the end; text is written 'so'",
		"c = d":                  "at character 5: expected a value, not d; text is written 'so'",
		"c = 1 c":                "at character 7: expected AND, OR or the end, not c",
		"c = 1 AND":              "at character 10: expected the name of a column, not the end",
		"(c = 1":                 "at character 7: expected ), not the end",
		"c IN 1":                 "at character 6: expected (, not 1",
		"c IN (1":                "at character 8: expected ), not the end",
		"c IN ()":                "at character 7: expected a value, not ); text is written 'so'",
		"c BETWEEN 1":            "at character 12: expected AND, not the end",
		"c IS 1":                 "at character 6: expected NULL, not 1",
		"c NOT = 1":              "at character 7: expected IN or BETWEEN, not =",
		"ж = 1 AND c = 'x":       "at character 15: there is no closing '",
		"c = 1; DROP":            `at character 6: unexpected ";"`,
		"select = 1 and null=1":  "at character 16: expected the name of a column, not null",
		strings.Repeat("(", 500): "more than 200 parentheses or NOTs in each other",
		"c = '1'":                "at character 1: c: 1 is no int: write a number without quotes",
		"c = 1.5":                "at character 1: c: 1.5 is no int: it cannot be read",
		"p = 1 AND other = 2":    "at character 11: other does not partition the table; what does is c, p",
	} {
		p, err := Parse(predicate)
		if err == nil {
			_, err = p.Bind(meta)
		}
		require.ErrorIs(t, err, ErrPredicate, predicate)
		assert.Contains(t, err.Error(), want, predicate)
	}
	p, err := Parse("c = 1")
	require.NoError(t, err)
	bare, err := table.NewMetadata(iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "c", Type: iceberg.PrimitiveTypes.Int32}), iceberg.UnpartitionedSpec, table.UnsortedSortOrder, "s3://lake/t", nil)
	require.NoError(t, err)
	_, err = p.Bind(bare)
	require.ErrorContains(t, err, "the table has no partitions")
}

func TestASpecThatSaysNothingOfANameKeepsNothingOut(t *testing.T) {
	t.Parallel()
	meta := partitioned(t, iceberg.PrimitiveTypes.Int32, "identity")
	b, err := table.MetadataBuilderFromBase(meta, "")
	require.NoError(t, err)
	spec := iceberg.NewPartitionSpecID(1, iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1001, Name: "o", Transform: iceberg.IdentityTransform{}},
		iceberg.PartitionField{SourceIDs: []int{1}, FieldID: 1000, Name: "p", Transform: iceberg.VoidTransform{}})
	require.NoError(t, b.AddPartitionSpec(&spec, false))
	meta, err = b.Build()
	require.NoError(t, err)
	f := filter(t, meta, "c = 1 AND other = 5")
	assert.True(t, f.Matches(0, map[int]any{1000: int32(1)}))
	assert.False(t, f.Matches(0, map[int]any{1000: int32(2)}))
	assert.True(t, f.Matches(1, map[int]any{1001: int64(5)}))
	assert.False(t, f.Matches(1, map[int]any{1001: int64(6)}))
	assert.True(t, f.Matches(7, nil), "nobody knows the spec")
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"c = 1", "NOT (c IN (1,2) OR p IS NOT NULL)", "c BETWEEN '2026-01-01' AND X'00'", "\"a.b\" <> -1e+5 and `c`<=.5", "((((", "c = 'it''s"} {
		f.Add(seed)
	}
	metas := []table.Metadata{partitioned(f, iceberg.PrimitiveTypes.Int32, "truncate[5]"), partitioned(f, iceberg.PrimitiveTypes.TimestampTz, "hour"), partitioned(f, iceberg.DecimalTypeOf(9, 2), "bucket[4]")}
	f.Fuzz(func(t *testing.T, predicate string) {
		p, err := Parse(predicate)
		if err != nil {
			require.ErrorIs(t, err, ErrPredicate)
			return
		}
		for _, meta := range metas {
			filter, err := p.Bind(meta)
			if err != nil {
				require.ErrorIs(t, err, ErrPredicate)
				continue
			}
			filter.Matches(0, map[int]any{1000: int32(3)})
		}
	})
}
