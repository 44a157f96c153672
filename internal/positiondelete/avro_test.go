package positiondelete_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"

	"github.com/dvcompactor/dvcompactor/internal/avroheader"
	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
)

// Fields of Avro schemas of position delete files.
const (
	avroPath = `{"name":"file_path","type":"string","field-id":2147483546}`
	avroPos  = `{"name":"pos","type":"long","field-id":2147483545}`
	avroRow  = `{"name":"row","field-id":2147483544,"type":["null",{"type":"record","name":"r2147483544","fields":[
		{"name":"größe","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2},"field-id":1},
		{"name":"tags","type":{"type":"array","items":"string","element-id":3},"field-id":2},
		{"name":"m","type":{"type":"map","values":"double"},"field-id":4}]}]}`
)

// avroRow0 is a value for avroRow.
func avroRow0() any {
	return map[string]any{"größe": []byte{1, 2}, "tags": []string{"a", ""}, "m": map[string]float64{"x": 1}}
}

// encodeAvro writes records, given as maps, under a schema of these fields.
func encodeAvro(t testing.TB, fields []string, records []map[string]any, opts ...ocf.WriterOpt) []byte {
	schema, err := avro.Parse(avroSchemaOf(fields), avro.WithLaxNames(func(string) error { return nil }), rawDecimal())
	require.NoError(t, err)
	var buf bytes.Buffer
	w, err := ocf.NewWriter(&buf, schema, append([]ocf.WriterOpt{ocf.WithSyncMarker([16]byte{1, 2, 3})}, opts...)...)
	require.NoError(t, err)
	for _, r := range records {
		require.NoError(t, w.Encode(r))
	}
	require.NoError(t, w.Close())
	return buf.Bytes()
}

func avroSchemaOf(fields []string) string {
	return `{"type":"record","name":"table","fields":[` + strings.Join(fields, ",") + `]}`
}

// rawDecimal lets decimals be given as bytes.
func rawDecimal() avro.SchemaOpt { return avro.CustomType{LogicalType: "decimal"} }

// avroRecords turns records into what encodeAvro takes, under these names of the columns.
func avroRecords(records []record, path, pos string) []map[string]any {
	out := make([]map[string]any, len(records))
	for i, r := range records {
		out[i] = map[string]any{path: r.path, pos: r.pos, "row": avroRow0(), "other": int64(-1)}
	}
	return out
}

// readAvro collects what Read visits of an Avro file.
func readAvro(t testing.TB, o *object, records int64) (map[string][]int64, error) {
	got := map[string][]int64{}
	f := positiondelete.File{Location: "s3://b/d.avro", Source: o, Format: iceberg.AvroFile, Size: 17, Records: records}
	err := positiondelete.Read(t.Context(), f, func(path []byte, positions []int64) error {
		got[string(path)] = append(got[string(path)], positions...)
		return nil
	})
	return got, err
}

func TestEveryWayToStoreRecordsInAvroIsRead(t *testing.T) {
	t.Parallel()
	records, want := many(5000)
	zstd, err := ocf.ZstdCodec(nil, nil)
	require.NoError(t, err)
	standard := []string{avroPath, avroPos}
	for name, c := range map[string]struct {
		fields    []string
		path, pos string
		opts      []ocf.WriterOpt
	}{
		"uncompressed":    {},
		"deflate":         {opts: []ocf.WriterOpt{ocf.WithCodec(ocf.DeflateCodec(6))}},
		"snappy":          {opts: []ocf.WriterOpt{ocf.WithCodec(ocf.SnappyCodec())}},
		"zstandard":       {opts: []ocf.WriterOpt{ocf.WithCodec(zstd)}},
		"one block":       {opts: []ocf.WriterOpt{ocf.WithBlockBytes(1 << 30)}},
		"many blocks":     {opts: []ocf.WriterOpt{ocf.WithBlockCount(7)}},
		"columns swapped": {fields: []string{avroPos, avroPath}},
		"with row":        {fields: []string{avroPath, avroPos, avroRow}},
		"row first":       {fields: []string{avroRow, avroPath, avroPos}},
		"columns that may be null": {fields: []string{`{"name":"file_path","type":["null","string"],"field-id":2147483546}`,
			`{"name":"pos","type":[{"type":"long"},"null"],"field-id":2147483545}`}},
		"no field ids":                 {fields: []string{`{"name":"file_path","type":"string"}`, `{"name":"pos","type":"long"}`}},
		"wrong field ids, right names": {fields: []string{`{"name":"file_path","type":"string","field-id":7}`, `{"name":"pos","type":"long","field-id":8}`}},
		"right field ids, other names": {path: "p", pos: "q",
			fields: []string{strings.Replace(avroPath, "file_path", "p", 1), strings.Replace(avroPos, "pos", "q", 1)}},
		"the names of each other": {path: "pos", pos: "file_path",
			fields: []string{strings.Replace(avroPath, "file_path", "pos", 1), strings.Replace(avroPos, "pos", "file_path", 1)}},
		"a type with attributes":                    {fields: []string{`{"name":"file_path","type":{"type":"string","avro.java.string":"String"},"field-id":2147483546}`, avroPos}},
		"another column that is named like a third": {fields: []string{`{"name":"other","type":"long","field-id":1}`, avroPath, avroPos}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.fields == nil {
				c.fields = standard
			}
			if c.path == "" {
				c.path, c.pos = "file_path", "pos"
			}
			o := &object{data: encodeAvro(t, c.fields, avroRecords(records, c.path, c.pos), c.opts...)}
			got, err := readAvro(t, o, int64(len(records)))
			require.NoError(t, err)
			assert.Equal(t, want, got)
			assert.EqualValues(t, 1, o.ranges.Load(), "a small file is one request")
			assert.EqualValues(t, 1, o.heads.Load(), "the size of the manifest is not believed: what lies behind it would be lost")
		})
	}
}

func TestColumnsOfAvroFilesWithoutTheirFieldIDsAreToldOf(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]bool{avroPath + "," + avroPos: false, `{"name":"file_path","type":"string"},` + avroPos: true} {
		told := false
		o := &object{data: encodeAvro(t, []string{fields}, avroRecords([]record{rec("f", 1)}, "file_path", "pos"))}
		f := positiondelete.File{Source: o, Format: iceberg.AvroFile, ByName: func() { told = true }}
		require.NoError(t, positiondelete.Read(t.Context(), f, func([]byte, []int64) error { return nil }))
		assert.Equal(t, want, told)
	}
}

func TestALargeAvroFileIsReadInWindowsAndRuns(t *testing.T) {
	t.Parallel()
	const n = 1_500_000
	schema := avro.MustParse(avroSchemaOf([]string{avroPath, avroPos}))
	var buf bytes.Buffer
	w, err := ocf.NewWriter(&buf, schema)
	require.NoError(t, err)
	for i := range int64(n) {
		require.NoError(t, w.Encode(map[string]any{"file_path": "f", "pos": i}))
	}
	require.NoError(t, w.Close())
	o := &object{data: buf.Bytes()}
	var next int64
	f := positiondelete.File{Source: o, Format: iceberg.AvroFile, Records: n}
	require.NoError(t, positiondelete.Read(t.Context(), f, func(_ []byte, positions []int64) error {
		assert.LessOrEqual(t, len(positions), 1<<16)
		for _, p := range positions {
			require.Equal(t, next, p)
			next++
		}
		return nil
	}))
	assert.EqualValues(t, n, next)
	assert.LessOrEqual(t, int(o.ranges.Load()), len(o.data)/(4<<20)+1)
}

func TestNullsOfAvroFilesAreLeftOutAndCountedOnRequest(t *testing.T) {
	t.Parallel()
	nullable := []string{`{"name":"file_path","type":["null","string"],"field-id":2147483546}`, `{"name":"pos","type":["null","long"],"field-id":2147483545}`}
	three := int64(3)
	o := &object{data: encodeAvro(t, nullable, avroRecords([]record{rec("a", 1), {nil, &three}, {}, rec("a", 2)}, "file_path", "pos"))}
	_, err := readAvro(t, o, 4)
	require.ErrorIs(t, err, positiondelete.ErrNull)
	var nulls int64
	var got []int64
	f := positiondelete.File{Source: o, Format: iceberg.AvroFile, Records: 4, Nulls: func(n int64) { nulls += n }}
	require.NoError(t, positiondelete.Read(t.Context(), f, func(_ []byte, positions []int64) error {
		got = append(got, positions...)
		return nil
	}))
	assert.EqualValues(t, 2, nulls)
	assert.Equal(t, []int64{1, 2}, got)
}

// avroBlock makes an Avro file of one block, which is said to have this many records and bytes.
func avroBlock(schema, codec string, count, size int64, block []byte) []byte {
	sync := bytes.Repeat([]byte{9}, 16)
	header := avroheader.Header{Meta: map[string][]byte{"avro.schema": []byte(schema), "avro.codec": []byte(codec)}}
	out := append(header.Encode(), sync...)
	out = binary.AppendVarint(binary.AppendVarint(out, count), size)
	return append(append(out, block...), sync...)
}

func TestAnAvroFileThatCannotBeReadExactlyHasANamedError(t *testing.T) {
	t.Parallel()
	standard := avroSchemaOf([]string{avroPath, avroPos})
	records := avroRecords([]record{rec("f", 1), rec("f", 2), rec("f", 3), rec("f", 4)}, "file_path", "pos")
	good := encodeAvro(t, []string{avroPath, avroPos}, records, ocf.WithBlockCount(2))
	other := slices.Clone(good)
	other[len(other)-1] ^= 1
	second := bytes.LastIndex(good[:len(good)-16], good[len(good)-16:]) + 16
	block := []byte{2, 'f', 2} // file_path f, pos 1
	with := func(fields ...string) []byte { return encodeAvro(t, fields, nil) }
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"no pos":                       {with(avroPath), positiondelete.ErrColumn},
		"no file_path":                 {with(avroPos), positiondelete.ErrColumn},
		"pos as an int":                {with(avroPath, `{"name":"pos","type":"int","field-id":2147483545}`), positiondelete.ErrColumn},
		"pos as a time":                {with(avroPath, `{"name":"pos","type":{"type":"long","logicalType":"timestamp-micros"},"field-id":2147483545}`), positiondelete.ErrColumn},
		"pos as one of two":            {with(avroPath, `{"name":"pos","type":["string","long"],"field-id":2147483545}`), positiondelete.ErrColumn},
		"file_path as bytes":           {with(avroPos, `{"name":"file_path","type":"bytes","field-id":2147483546}`), positiondelete.ErrColumn},
		"columns within another":       {with(`{"name":"row","type":{"type":"record","name":"r","fields":[` + avroPath + `,` + avroPos + `]}}`), positiondelete.ErrColumn},
		"nothing":                      {nil, positiondelete.ErrFormat},
		"not Avro":                     {bytes.Repeat([]byte("<xml/>"), 50), positiondelete.ErrFormat},
		"a Parquet file":               {encode(t, []column{pathColumn, posColumn}, []record{rec("f", 1)}, 1), positiondelete.ErrFormat},
		"cut in the header":            {good[:100], positiondelete.ErrFormat},
		"cut in a block":               {good[:len(good)-18], positiondelete.ErrFormat},
		"cut in a sync marker":         {good[:len(good)-1], positiondelete.ErrFormat},
		"cut between two blocks":       {good[:second], positiondelete.ErrFormat},
		"cut behind the header":        {encodeAvro(t, []string{avroPath, avroPos}, nil), positiondelete.ErrFormat},
		"another sync marker":          {other, positiondelete.ErrFormat},
		"a codec that nobody has":      {avroBlock(standard, "xz", 1, 3, block), positiondelete.ErrFormat},
		"more records than there are":  {avroBlock(standard, "null", 2, 3, block), positiondelete.ErrFormat},
		"fewer records than there are": {avroBlock(standard, "null", 1, 6, append(block, block...)), positiondelete.ErrFormat},
		"a negative number of records": {avroBlock(standard, "null", -1, 3, block), positiondelete.ErrFormat},
		"more bytes than there are":    {avroBlock(standard, "null", 1, 1<<40, block), positiondelete.ErrFormat},
		"a negative number of bytes":   {avroBlock(standard, "null", 1, -3, block), positiondelete.ErrFormat},
		"a path longer than the block": {avroBlock(standard, "null", 1, 3, []byte{126, 'f', 2}), positiondelete.ErrFormat},
		"a schema that is no record":   {avroBlock(`"string"`, "null", 1, 3, block), positiondelete.ErrFormat},
		"a schema that is no JSON":     {avroBlock(`{"type":`, "null", 1, 3, block), positiondelete.ErrFormat},
		"a record without a name":      {avroBlock(`{"type":"record","fields":[`+avroPath+`,`+avroPos+`]}`, "null", 1, 3, block), positiondelete.ErrFormat},
		"a field that is none":         {avroBlock(avroSchemaOf([]string{avroPath, avroPos, "7"}), "null", 1, 3, block), positiondelete.ErrColumn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := readAvro(t, &object{data: c.data}, 4)
			require.ErrorIs(t, err, c.want)
			var e *positiondelete.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, "s3://b/d.avro", e.Location)
		})
	}
	got, err := readAvro(t, &object{data: avroBlock(standard, "null", 1, 3, block)}, 1)
	require.NoError(t, err, "the same block in order")
	assert.Equal(t, map[string][]int64{"f": {1}}, got)
}

func TestADecimalBesideTheColumnsOfAnAvroFileIsNotComputed(t *testing.T) {
	t.Parallel()
	wide := `{"name":"row","type":["null",{"type":"bytes","logicalType":"decimal","precision":2000000000,"scale":1999999999}]}`
	o := &object{data: avroBlock(avroSchemaOf([]string{avroPath, avroPos, wide}), "null", 1, 6, []byte{2, 'f', 2, 2, 2, 1})}
	got, err := readAvro(t, o, 1)
	require.NoError(t, err)
	assert.Equal(t, map[string][]int64{"f": {1}}, got)
}

func TestAFailingStoreIsNotADamagedAvroFile(t *testing.T) {
	t.Parallel()
	down := errors.New("store is down")
	_, err := readAvro(t, &object{data: encodeAvro(t, []string{avroPath, avroPos}, nil), fail: down}, 0)
	require.ErrorIs(t, err, down)
	assert.False(t, positiondelete.Unreadable(err))
}

func TestTheFirstErrorOfAVisitorEndsTheReadingOfAnAvroFile(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	o := &object{data: encodeAvro(t, []string{avroPath, avroPos}, avroRecords([]record{rec("a", 1), rec("b", 1), rec("c", 1)}, "file_path", "pos"))}
	calls := 0
	err := positiondelete.Read(t.Context(), positiondelete.File{Source: o, Format: iceberg.AvroFile}, func([]byte, []int64) error {
		calls++
		return enough
	})
	require.Equal(t, enough, err)
	assert.Equal(t, 1, calls)
}

func FuzzReadAvro(f *testing.F) {
	records, _ := many(20)
	standard := []string{avroPath, avroPos}
	f.Add(encodeAvro(f, standard, avroRecords(records, "file_path", "pos"), ocf.WithBlockCount(7)))
	f.Add(encodeAvro(f, []string{avroPath, avroRow, avroPos}, avroRecords(records, "file_path", "pos"), ocf.WithCodec(ocf.DeflateCodec(6))))
	f.Add(encodeAvro(f, standard, avroRecords(records, "file_path", "pos"), ocf.WithCodec(ocf.SnappyCodec())))
	f.Add(avroBlock(avroSchemaOf(standard), "null", 1, 1<<30, []byte{2, 'f', 2}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := readAvro(t, &object{data: data}, 1); err != nil && !errors.As(err, new(*positiondelete.Error)) {
			t.Fatalf("an error without a name: %v", err)
		}
	})
}
