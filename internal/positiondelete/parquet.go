package positiondelete

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// readParquet passes the records of a Parquet file of size bytes to visit.
func readParquet(ctx context.Context, pf *file.Reader, size int64, f File, visit Visit) error {
	cols, err := findColumns(pf.MetaData().Schema)
	if err != nil {
		return err
	}
	if cols.byName && f.ByName != nil {
		f.ByName()
	}
	if err := checkChunks(pf.MetaData(), cols, size); err != nil {
		return err
	}
	if pf.NumRows() == 0 {
		return nil
	}
	props := pqarrow.ArrowReadProperties{BatchSize: min(batchRows, pf.NumRows())} // buffers of a batch are made for each file
	props.SetReadDict(cols.path, true)
	fr, err := pqarrow.NewFileReader(pf, props, memory.DefaultAllocator)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	rr, err := fr.GetRecordReader(ctx, []int{cols.path, cols.pos}, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	defer rr.Release()
	var seen int64
	for rr.Next() {
		batch := rr.RecordBatch()
		seen += batch.NumRows()
		if err := visitBatch(batch, f, visit); err != nil {
			return err
		}
	}
	if err := rr.Err(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if seen != pf.NumRows() {
		return fmt.Errorf("%w: %d of %d records decoded", ErrFormat, seen, pf.NumRows())
	}
	return ctx.Err()
}

// columns are the leaf indexes and the names of the two columns.
type columns struct {
	path, pos int
	byName    bool // a field id is missing
}

// findColumns looks for the reserved field ids among the top-level columns, then for the names.
func findColumns(s *schema.Schema) (columns, error) {
	c := columns{path: -1, pos: -1}
	for _, byID := range []bool{true, false} {
		for i := range s.NumColumns() {
			col := s.Column(i)
			if len(col.ColumnPath()) != 1 {
				continue // part of row
			}
			id, name := col.SchemaNode().FieldID(), col.Name()
			if c.path < 0 && (byID && id == FilePathID || !byID && name == "file_path") {
				c.path, c.byName = i, !byID
			} else if c.pos < 0 && (byID && id == posID || !byID && name == "pos") {
				c.pos, c.byName = i, c.byName || !byID
			}
		}
	}
	if c.path < 0 || c.pos < 0 || c.path == c.pos {
		return c, fmt.Errorf("%w: no file_path and pos in %v", ErrColumn, s)
	}
	if t := s.Column(c.path).PhysicalType(); t != parquet.Types.ByteArray {
		return c, fmt.Errorf("%w: file_path is %v", ErrColumn, t)
	}
	if t := s.Column(c.pos).PhysicalType(); t != parquet.Types.Int64 {
		return c, fmt.Errorf("%w: pos is %v", ErrColumn, t)
	}
	if s.Column(c.path).MaxRepetitionLevel() > 0 || s.Column(c.pos).MaxRepetitionLevel() > 0 {
		return c, fmt.Errorf("%w: file_path or pos is repeated", ErrColumn)
	}
	return c, nil
}

// visitBatch cuts a batch into runs of one path.
func visitBatch(batch arrow.RecordBatch, f File, visit Visit) error {
	b, err := findValues(batch)
	if err != nil {
		return err
	}
	if paths, positions := b.paths.NullN(), b.pos.NullN(); paths+positions > 0 && f.Nulls == nil {
		return fmt.Errorf("%w: %d null paths and %d null positions", ErrNull, paths, positions)
	}
	value, err := dictionary(b.paths)
	if err != nil {
		return err
	}
	var skipped int64
	for start := 0; start < len(b.keys); {
		if b.null(start) {
			start, skipped = start+1, skipped+1
			continue
		}
		end := b.runEnd(start)
		if err := visit(value(int(b.keys[start])), b.values[start:end]); err != nil {
			return err
		}
		start = end
	}
	if skipped > 0 {
		f.Nulls(skipped)
	}
	return nil
}

// values are the columns of a batch.
type values struct {
	paths  *array.Dictionary
	keys   []int32 // of paths
	pos    *array.Int64
	values []int64 // of pos
}

func findValues(batch arrow.RecordBatch) (values, error) {
	var b values
	for i, field := range batch.Schema().Fields() {
		switch c := batch.Column(i).(type) {
		case *array.Dictionary:
			b.paths = c
		case *array.Int64:
			b.pos, b.values = c, c.Int64Values()
		case *array.Timestamp, *array.Time64, *array.Duration, *array.Uint64:
			return b, fmt.Errorf("%w: %s is %v", ErrColumn, field.Name, field.Type)
		}
	}
	if b.paths == nil || b.pos == nil {
		return b, fmt.Errorf("%w: columns are %v", ErrColumn, batch.Schema())
	}
	index, ok := b.paths.Indices().(*array.Int32)
	if !ok {
		return b, fmt.Errorf("%w: dictionary indexes are %v", ErrFormat, b.paths.Indices().DataType())
	}
	b.keys = index.Int32Values()
	return b, nil
}

// null tells whether record i lacks its path or its position.
func (b values) null(i int) bool { return b.paths.IsNull(i) || b.pos.IsNull(i) }

// runEnd returns the end of the records that follow record start and have its path.
func (b values) runEnd(start int) int {
	end := start + 1
	for end < len(b.keys) && b.keys[end] == b.keys[start] && !b.null(end) {
		end++
	}
	return end
}

// dictionary returns the bytes of a dictionary's values, whose column may be annotated as text or not.
func dictionary(d *array.Dictionary) (func(int) []byte, error) {
	switch values := d.Dictionary().(type) {
	case *array.String:
		offsets, data := values.ValueOffsets(), values.ValueBytes()
		base := offsets[0]
		return func(i int) []byte { return data[offsets[i]-base : offsets[i+1]-base] }, nil
	case *array.Binary:
		return values.Value, nil
	}
	return nil, fmt.Errorf("%w: %w", ErrColumn, errDictionaryOf)
}
