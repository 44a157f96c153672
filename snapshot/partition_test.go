package snapshot

import (
	"math"
	"math/big"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/iceberg-go"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPartitionTuplesCompareByValue(t *testing.T) {
	t.Parallel()
	dec := func(n int64, scale int) iceberg.Decimal {
		return iceberg.Decimal{Val: decimal128.FromBigInt(big.NewInt(n)), Scale: scale}
	}
	id := uuid.New()
	for name, c := range map[string]struct {
		a, b  map[int]any
		equal bool
	}{
		"no fields":                       {nil, map[int]any{}, true},
		"int promoted to long":            {map[int]any{1000: int32(5)}, map[int]any{1000: int64(5)}, true},
		"date and its days":               {map[int]any{1000: iceberg.Date(7)}, map[int]any{1000: int32(7)}, true},
		"float promoted to double":        {map[int]any{1000: float32(0.5)}, map[int]any{1000: 0.5}, true},
		"NaNs of other bits":              {map[int]any{1000: math.NaN()}, map[int]any{1000: math.Float64frombits(0x7ff8000000000099)}, true},
		"zero and minus zero":             {map[int]any{1000: 0.0}, map[int]any{1000: math.Copysign(0, -1)}, false},
		"null and missing":                {map[int]any{1000: nil}, map[int]any{}, true},
		"null and empty string":           {map[int]any{1000: nil}, map[int]any{1000: ""}, false},
		"null and zero":                   {map[int]any{1000: nil}, map[int]any{1000: int32(0)}, false},
		"string and bytes":                {map[int]any{1000: "a"}, map[int]any{1000: []byte("a")}, false},
		"the same value in another field": {map[int]any{1000: "a"}, map[int]any{1001: "a"}, false},
		"values that join to one text":    {map[int]any{1000: "ab", 1001: "c"}, map[int]any{1000: "a", 1001: "bc"}, false},
		"decimals":                        {map[int]any{1000: dec(123, 2)}, map[int]any{1000: iceberg.DecimalLiteral(dec(123, 2))}, true},
		"decimals of another value":       {map[int]any{1000: dec(123, 2)}, map[int]any{1000: dec(124, 2)}, false},
		"uuids":                           {map[int]any{1000: id}, map[int]any{1000: id}, true},
		"booleans":                        {map[int]any{1000: true}, map[int]any{1000: false}, false},
		"timestamps in micros":            {map[int]any{1000: iceberg.Timestamp(9)}, map[int]any{1000: int64(9)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := tupleKey(c.a)
			require.NoError(t, err)
			b, err := tupleKey(c.b)
			require.NoError(t, err)
			assert.Equal(t, c.equal, a == b)
		})
	}
}

func TestAPartitionValueOfAnUnknownTypeIsRefused(t *testing.T) {
	t.Parallel()
	_, err := tupleKey(map[int]any{1000: struct{}{}})
	require.ErrorIs(t, err, ErrPartitionValue)
	assert.ErrorContains(t, err, "partition field 1000")
}

func TestPositionDeletesApplyBySpecPartitionAndSequenceNumber(t *testing.T) {
	t.Parallel()
	one, other := &Group{Key: GroupKey{SpecID: 0, Tuple: "a"}}, &Group{Key: GroupKey{SpecID: 1, Tuple: "a"}}
	for name, c := range map[string]struct {
		d    DeleteFile
		f    DataFile
		want bool
	}{
		"older data file":              {DeleteFile{Group: one, Seq: 3}, DataFile{Group: one, Seq: 2}, true},
		"data file of the same commit": {DeleteFile{Group: one, Seq: 3}, DataFile{Group: one, Seq: 3}, true},
		"newer data file":              {DeleteFile{Group: one, Seq: 3}, DataFile{Group: one, Seq: 4}, false},
		"another spec":                 {DeleteFile{Group: one, Seq: 3}, DataFile{Group: other, Seq: 2}, false},
		"the referenced data file":     {DeleteFile{Group: one, Seq: 3, Referenced: "f"}, DataFile{Path: "f", Group: one}, true},
		"not the referenced one":       {DeleteFile{Group: one, Seq: 3, Referenced: "g"}, DataFile{Path: "f", Group: one}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, c.d.AppliesTo(&c.f))
		})
	}
}
