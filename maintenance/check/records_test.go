package check_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// records is a table of format version 2 with a position delete file of these records.
func records(list func(l *lab) []forge.Record) func(*testing.T) *lab {
	return v2(func(l *lab) []iceberg.DataFile { return []iceberg.DataFile{l.deletes(list(l)...).Build()} })
}

// upgraded is a table with position deletes from format version 2 and a deletion vector of data file 0 beside them.
func upgraded(list func(l *lab) []forge.Record, positions ...int64) func(*testing.T) *lab {
	return func(t *testing.T) *lab {
		l := records(list)(t)
		l.Update(table.NewUpgradeFormatVersionUpdate(3))
		l.add(one(l, positions...)...)
		return l
	}
}

func TestFaultsThatTheRecordsOfPositionDeleteFilesShow(t *testing.T) {
	t.Parallel()
	three := func(l *lab) []forge.Record { return []forge.Record{l.at(0, 1), l.at(0, 3), l.at(1, 5)} }
	treat(t, everything(), []wound{
		{"healthy", nil, records(three)},
		{"a record that comes twice", nil, records(func(l *lab) []forge.Record { return []forge.Record{l.at(0, 1), l.at(0, 1)} })},
		{"positions that are not sorted", []string{"delete-rows"}, records(func(l *lab) []forge.Record { return []forge.Record{l.at(0, 3), l.at(0, 1)} })},
		{"paths that are not sorted", []string{"delete-rows"}, records(func(l *lab) []forge.Record { return []forge.Record{l.at(1, 1), l.at(0, 3)} })},
		{"the last row", nil, records(func(l *lab) []forge.Record { return []forge.Record{l.at(0, rows-1)} })},
		{"the row after the last", []string{"position-out-of-range"}, records(func(l *lab) []forge.Record { return []forge.Record{l.at(0, 1), l.at(0, rows)} })},
		{"a negative position", []string{"position-out-of-range"}, records(func(l *lab) []forge.Record { return []forge.Record{l.at(0, -1)} })},
		{"a position that no vector can hold", []string{"position-out-of-range"}, records(func(l *lab) []forge.Record { return []forge.Record{l.at(0, 1<<63-1)} })},
		{"a data file that is gone", []string{"delete-dangling-records"}, records(func(l *lab) []forge.Record {
			return []forge.Record{l.at(0, 1), {Path: "s3://lake/t/data/gone.parquet", Pos: 1}}
		})},
		{"another spelling of a live data file", []string{"path-near-miss"}, records(func(l *lab) []forge.Record {
			return []forge.Record{l.at(0, 1), {Path: "s3a" + l.path(1)[2:], Pos: 1}}
		})},
		{"another partition", []string{"delete-partition"}, func(t *testing.T) *lab {
			l := newRegions(t, 2)
			l.add(l.deletes(l.at(1, 1)).Build())
			return l
		}},
		{"another partition beside its own", nil, func(t *testing.T) *lab {
			l := newRegions(t, 2)
			l.add(l.deletes(l.at(0, 1), l.at(1, 1)).Build())
			return l
		}},
		{"bounds that exclude a path", []string{"delete-bounds"}, v2(func(l *lab) []iceberg.DataFile {
			return []iceberg.DataFile{forge.Bounds(l.deletes(l.at(0, 1), l.at(1, 1)), l.path(0), l.path(0)).Build()}
		})},
		{"bounds that hold all paths", nil, v2(func(l *lab) []iceberg.DataFile {
			return []iceberg.DataFile{forge.Bounds(l.deletes(l.at(0, 1), l.at(1, 1)), l.path(0), l.path(1)).Build()}
		})},
		{"bounds of other cut letters", []string{"delete-bounds"}, v2(func(l *lab) []iceberg.DataFile {
			return []iceberg.DataFile{forge.Bounds(l.deletes(l.at(0, 1)), l.path(0)[:16], l.path(0)[:16]).Build()}
		})},
		{"garbage", []string{"delete-unreadable"}, v2(func(l *lab) []iceberg.DataFile {
			return []iceberg.DataFile{l.DeleteBytes(0, nil, iceberg.ParquetFile, 1, []byte("garbage")).Build()}
		})},
		{"no object", []string{"delete-unreadable"}, v2(func(l *lab) []iceberg.DataFile {
			f := l.deletes(l.at(0, 1)).Build()
			require.NoError(l.t, l.Remove(f.FilePath()))
			return []iceberg.DataFile{f}
		})},
		{"a referenced data file of another name", []string{"delete-after-upgrade", "delete-reference-stale"}, v3(func(l *lab) []iceberg.DataFile {
			return []iceberg.DataFile{l.deletes(l.at(0, 1)).ReferencedDataFile("s3://before/t/data/f001.parquet").Build()}
		})},
		{"a vector that holds the positions", nil, upgraded(three, 1, 3)},
		{"a vector that holds more", nil, upgraded(three, 1, 2, 3)},
		{"a vector that lacks a position", []string{"dv-incomplete"}, upgraded(three, 1, 2)},
		{"an empty vector that hides positions", []string{"dv-empty", "dv-incomplete"}, upgraded(three)},
		{"a vector that holds all there is", []string{"delete-superseded"}, upgraded(func(l *lab) []forge.Record { return []forge.Record{l.at(0, 1)} }, 1, 2)},
		{"a vector that is younger than the deletes", nil, func(t *testing.T) *lab {
			l := newLab(t, 2)
			seq := int64(1) // data files 1 and 2 are younger
			l.Commit(forge.Change{Add: []forge.Added{{File: l.deletes(l.at(0, 1), l.at(1, 7)).Build(), Seq: &seq}}})
			l.Update(table.NewUpgradeFormatVersionUpdate(3))
			l.add(l.put(container{parts: []part{l.vector(0, 1), l.vector(1, 2)}})[1])
			return l
		}},
	})
}

func TestAnIncompleteVectorIsCountedOnceForEachPositionInEveryAmountOfMemory(t *testing.T) {
	t.Parallel()
	var requests []int64
	for _, memory := range []int64{0, 1} {
		l := newLab(t, 2)
		l.add(l.deletes(l.at(0, 1), l.at(0, 2), l.at(1, 1)).Build())
		l.add(l.deletes(l.at(0, 2), l.at(0, 3), l.at(2, 1)).Build())
		l.Update(table.NewUpgradeFormatVersionUpdate(3))
		l.add(l.put(container{parts: []part{l.vector(0, 1), l.vector(1, 1), l.vector(2, 9)}})...)
		o := everything()
		o.Memory, o.Parallelism = memory, 3
		r := l.check(o)
		require.Equal(t, []string{"dv-incomplete"}, issues(r), "%+v", r.Findings)
		require.Len(t, r.Findings, 2)
		assert.Equal(t, l.path(0), r.Findings[0].DataFile)
		assert.EqualValues(t, 2, *r.Findings[0].Rows, "2 and 3, one of them in two files")
		assert.Equal(t, l.path(2), r.Findings[1].DataFile)
		assert.EqualValues(t, 1, *r.Findings[1].Rows)
		requests = append(requests, r.Requests.RangeGets)
	}
	assert.Greater(t, requests[1], requests[0], "little memory is paid for with more requests")
}

func TestOnlyTheIssuesThatWereAskedForAreReported(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	l.add(one(l, 1)...)
	l.add(one(l)...)
	o := check.Options{Issues: []string{"dv-empty"}}
	r := l.check(o)
	assert.Equal(t, []string{"dv-empty"}, issues(r))
	assert.False(t, r.Damaged)
	_, err := check.Run(t.Context(), l.Load(), check.Options{Issues: []string{"dv-emty"}})
	assert.ErrorIs(t, err, check.ErrOptions)
}

func TestFindingsWithWrongRowsComeFirst(t *testing.T) {
	t.Parallel()
	l := newLab(t, 2)
	l.add(l.deletes(l.at(0, 1), l.at(2, 1)).Build())
	l.Update(table.NewUpgradeFormatVersionUpdate(3))
	l.add(one(l)...)
	l.add(l.put(container{parts: []part{l.vector(0, 5), {blob: flipped(-1)(blob(t, 1)), of: l.path(1), n: 1}, l.vector(2, 5)}})...)
	r := l.check(everything())
	var effects []check.Effect
	for _, f := range r.Findings {
		if len(effects) == 0 || effects[len(effects)-1] != f.Effect {
			effects = append(effects, f.Effect)
		}
	}
	assert.Equal(t, []check.Effect{check.Wrong, check.Unreadable, check.Waste}, effects, "%+v", r.Findings)
}

func TestWhatNoStoreHoldsIsSaidAndDoesNotStopTheCheck(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	p := part{blob: blob(t, 1), of: l.path(0), n: 1}
	bad := l.vector(1, 2)
	bad.blob = flipped(-1)(bad.blob)
	location, size, at := l.puffin(container{parts: []part{bad}})
	l.add(l.entry(0, "gopher://lake/x.puffin", 100, 4, p).Build(), l.entry(1, location, size, at[0], bad).Build())
	r := l.check(everything())
	assert.Equal(t, []string{"dv-corrupt"}, issues(r))
	require.Len(t, r.Skipped, 1)
	assert.Equal(t, "unreachable", r.Skipped[0].Reason)
	assert.Equal(t, "gopher://lake/x.puffin", r.Skipped[0].Location)
}

// stored writes a position delete file of data file 0 with columns as told: a position that is nil is null.
func stored(withIDs bool, positions ...*int64) func(*testing.T) *lab {
	return v2(func(l *lab) []iceberg.DataFile {
		id := func(id string) arrow.Metadata {
			if !withIDs {
				return arrow.Metadata{}
			}
			return arrow.NewMetadata([]string{"PARQUET:field_id"}, []string{id})
		}
		schema := arrow.NewSchema([]arrow.Field{
			{Name: "file_path", Type: arrow.BinaryTypes.String, Metadata: id("2147483546")},
			{Name: "pos", Type: arrow.PrimitiveTypes.Int64, Nullable: true, Metadata: id("2147483545")},
		}, nil)
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		defer b.Release()
		for _, p := range positions {
			b.Field(0).(*array.StringBuilder).Append(l.path(0))
			if p == nil {
				b.Field(1).AppendNull()
			} else {
				b.Field(1).(*array.Int64Builder).Append(*p)
			}
		}
		batch := b.NewRecordBatch()
		defer batch.Release()
		var out buffer
		w, err := pqarrow.NewFileWriter(schema, &out, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
		require.NoError(l.t, err)
		require.NoError(l.t, w.Write(batch))
		require.NoError(l.t, w.Close())
		return []iceberg.DataFile{l.DeleteBytes(0, nil, iceberg.ParquetFile, int64(len(positions)), out).Build()}
	})
}

func TestFaultsOfTheColumnsOfPositionDeleteFiles(t *testing.T) {
	t.Parallel()
	one, two := int64(1), int64(2)
	treat(t, everything(), []wound{
		{"as they should be", nil, stored(true, &one, &two)},
		{"a null position", []string{"delete-rows"}, stored(true, &one, nil)},
		{"no field ids", []string{"delete-rows"}, stored(false, &one, &two)},
	})
	r := stored(true, &one, nil)(t).check(everything())
	assert.Equal(t, check.Ask, r.Findings[0].Repair, "nobody knows which row a null means")
	r = stored(false, &one)(t).check(everything())
	assert.Equal(t, check.Safe, r.Findings[0].Repair)
}
