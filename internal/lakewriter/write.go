package lakewriter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/apache/iceberg-go/table/dv"
	"github.com/google/uuid"
)

// FilePathID and posID are the reserved field ids of position delete files (table spec, "Reserved Field IDs").
const (
	FilePathID = 2147483546
	posID      = 2147483545
)

// Append adds n rows of one region, with ids from first on, as one data file and one commit.
func Append(ctx context.Context, t *table.Table, region int32, first, n int64) (*table.Table, error) {
	schema, err := table.SchemaToArrowSchema(Schema(), nil, true, false)
	if err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := first; i < first+n; i++ {
		b.Field(0).(*array.Int64Builder).Append(i)
		b.Field(1).(*array.Int32Builder).Append(region)
		b.Field(2).(*array.StringBuilder).Append(fmt.Sprintf("row %d", i))
	}
	rows := array.NewTableFromRecords(schema, []arrow.RecordBatch{b.NewRecordBatch()})
	defer rows.Release()
	tx := t.NewTransaction()
	if err := tx.AppendTable(ctx, rows, n, nil); err != nil {
		return nil, err
	}
	return tx.Commit(ctx)
}

// DataFiles returns the live data files of a branch, in the order of their paths.
func DataFiles(ctx context.Context, t *table.Table, ref string) ([]iceberg.DataFile, error) {
	return liveFiles(ctx, t, ref, iceberg.ManifestContentData)
}

// DeleteFiles returns the live delete files of a branch, in the order of their paths.
func DeleteFiles(ctx context.Context, t *table.Table, ref string) ([]iceberg.DataFile, error) {
	return liveFiles(ctx, t, ref, iceberg.ManifestContentDeletes)
}

func liveFiles(ctx context.Context, t *table.Table, ref string, content iceberg.ManifestContent) ([]iceberg.DataFile, error) {
	fs, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	snap := t.SnapshotByName(ref)
	if snap == nil {
		return nil, fmt.Errorf("no branch %q", ref)
	}
	manifests, err := snap.Manifests(fs)
	if err != nil {
		return nil, err
	}
	var out []iceberg.DataFile
	for _, m := range manifests {
		if m.ManifestContent() != content {
			continue
		}
		for e, err := range m.Entries(fs, true) {
			if err != nil {
				return nil, err
			}
			out = append(out, e.DataFile())
		}
	}
	slices.SortFunc(out, func(a, b iceberg.DataFile) int { return bytes.Compare([]byte(a.FilePath()), []byte(b.FilePath())) })
	return out, nil
}

// PositionDeletes writes a Parquet position delete file that deletes positions by data file path. It belongs to the
// spec and partition of like, a data file. With one path it gets equal file_path bounds, as file-scoped ones have.
func PositionDeletes(ctx context.Context, t *table.Table, like iceberg.DataFile, positions map[string][]int64) (iceberg.DataFile, error) {
	var records []Record
	paths := slices.Sorted(maps.Keys(positions))
	for _, p := range paths {
		for _, pos := range positions[p] {
			records = append(records, Record{p, pos})
		}
	}
	data, err := EncodePositionDeletes(records)
	if err != nil {
		return nil, err
	}
	location, err := put(ctx, t, "deletes.parquet", data)
	if err != nil {
		return nil, err
	}
	d, err := entry(t, like, location, iceberg.ParquetFile, int64(len(records)), int64(len(data)))
	if err != nil {
		return nil, err
	}
	return d.LowerBoundValues(map[int][]byte{FilePathID: []byte(paths[0])}).UpperBoundValues(map[int][]byte{FilePathID: []byte(paths[len(paths)-1])}).Build(), nil
}

// Record is a record of a position delete file.
type Record struct {
	Path string
	Pos  int64
}

// EncodePositionDeletes returns a Parquet position delete file with these records in this order.
func EncodePositionDeletes(records []Record) ([]byte, error) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "file_path", Type: arrow.BinaryTypes.String, Metadata: fieldID(FilePathID)},
		{Name: "pos", Type: arrow.PrimitiveTypes.Int64, Metadata: fieldID(posID)},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for _, r := range records {
		b.Field(0).(*array.StringBuilder).Append(r.Path)
		b.Field(1).(*array.Int64Builder).Append(r.Pos)
	}
	return encodeParquet(schema, b.NewRecordBatch())
}

func fieldID(id int) arrow.Metadata {
	return arrow.NewMetadata([]string{"PARQUET:field_id"}, []string{fmt.Sprint(id)})
}

func encodeParquet(schema *arrow.Schema, batch arrow.RecordBatch) ([]byte, error) {
	defer batch.Release()
	var buf bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &buf, parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd)), pqarrow.DefaultWriterProps())
	if err != nil {
		return nil, err
	}
	if err := errors.Join(w.Write(batch), w.Close()); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func put(ctx context.Context, t *table.Table, name string, data []byte) (string, error) {
	fs, err := t.FS(ctx)
	if err != nil {
		return "", err
	}
	w, ok := fs.(iceio.WriteFileIO)
	if !ok {
		return "", fmt.Errorf("the table's file io cannot write: %T", fs)
	}
	location := fmt.Sprintf("%s/data/%s-%s", t.Location(), uuid.NewString(), name)
	return location, w.WriteFile(location, data)
}

func entry(t *table.Table, like iceberg.DataFile, location string, format iceberg.FileFormat, records, size int64) (*iceberg.DataFileBuilder, error) {
	spec := t.Metadata().PartitionSpecByID(int(like.SpecID()))
	if spec == nil {
		return nil, fmt.Errorf("no partition spec %d", like.SpecID())
	}
	return iceberg.NewDataFileBuilder(*spec, iceberg.EntryContentPosDeletes, location, format, like.Partition(), nil, nil, records, size)
}

// DeletionVectors writes one Puffin file with a deletion vector for each data file, with iceberg-go's writer.
func DeletionVectors(ctx context.Context, t *table.Table, positions map[string][]int64, files ...iceberg.DataFile) ([]iceberg.DataFile, error) {
	fs, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	out, ok := fs.(iceio.WriteFileIO)
	if !ok {
		return nil, fmt.Errorf("the table's file io cannot write: %T", fs)
	}
	w := dv.NewDVWriter(out, func(id int32) *iceberg.PartitionSpec { return t.Metadata().PartitionSpecByID(int(id)) })
	for _, f := range files {
		if err := w.Add(f.FilePath(), positions[f.FilePath()], f.SpecID(), f.Partition()); err != nil {
			return nil, err
		}
	}
	return w.Flush(ctx, fmt.Sprintf("%s/data/%s-dv.puffin", t.Location(), uuid.NewString()))
}

// Delta commits added and removed delete files on a branch.
func Delta(ctx context.Context, t *table.Table, ref string, add, remove []iceberg.DataFile) (*table.Table, error) {
	tx, err := t.NewTransactionOnBranchWithError(ref)
	if err != nil {
		return nil, err
	}
	d := tx.NewRowDelta(nil).AddDeletes(add...)
	if len(remove) > 0 {
		d = d.RemoveDeletes(remove...)
	}
	if err := d.Commit(ctx); err != nil {
		return nil, err
	}
	return tx.Commit(ctx)
}

// ReplaceVector commits a deletion vector with exactly these positions for a data file, in a Puffin of its own, in the
// place of the ones it has.
func ReplaceVector(ctx context.Context, t *table.Table, ref string, f iceberg.DataFile, positions []int64) (*table.Table, error) {
	add, err := DeletionVectors(ctx, t, map[string][]int64{f.FilePath(): positions}, f)
	if err != nil {
		return nil, err
	}
	live, err := DeleteFiles(ctx, t, ref)
	if err != nil {
		return nil, err
	}
	old := slices.DeleteFunc(live, func(d iceberg.DataFile) bool {
		r := d.ReferencedDataFile()
		return r == nil || *r != f.FilePath()
	})
	return Delta(ctx, t, ref, add, old)
}
