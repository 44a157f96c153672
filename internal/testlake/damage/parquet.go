package damage

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"
)

// rowsFile is a Parquet data file of so many rows.
func rowsFile(t require.TestingT, rows int64) []byte {
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Metadata: fieldID("1")}}, nil)
	return parquetFile(t, schema, func(b *array.RecordBuilder) {
		for i := range rows {
			b.Field(0).(*array.Int64Builder).Append(i)
		}
	})
}

func fieldID(id string) arrow.Metadata {
	if id == "" {
		return arrow.Metadata{}
	}
	return arrow.NewMetadata([]string{"PARQUET:field_id"}, []string{id})
}

// nullable is a record of a position delete file that may lack its path or its position.
type nullable struct {
	path *string
	pos  *int64
}

// deletesFile is a Parquet position delete file as writers make it that let nulls through, or leave the field ids out.
func deletesFile(t require.TestingT, pathID, posID string, records ...nullable) []byte {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "file_path", Type: arrow.BinaryTypes.String, Nullable: true, Metadata: fieldID(pathID)},
		{Name: "pos", Type: arrow.PrimitiveTypes.Int64, Nullable: true, Metadata: fieldID(posID)},
	}, nil)
	return parquetFile(t, schema, func(b *array.RecordBuilder) {
		paths, positions := b.Field(0).(*array.StringBuilder), b.Field(1).(*array.Int64Builder)
		for _, r := range records {
			if r.path == nil {
				paths.AppendNull()
			} else {
				paths.Append(*r.path)
			}
			if r.pos == nil {
				positions.AppendNull()
			} else {
				positions.Append(*r.pos)
			}
		}
	})
}

func parquetFile(t require.TestingT, schema *arrow.Schema, fill func(*array.RecordBuilder)) []byte {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	fill(b)
	batch := b.NewRecordBatch()
	defer batch.Release()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	require.NoError(t, err)
	require.NoError(t, w.Write(batch))
	require.NoError(t, w.Close())
	return out.Bytes()
}
