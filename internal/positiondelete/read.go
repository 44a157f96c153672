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

	"github.com/dvcompactor/dvcompactor/internal/parquetfile"
)

// FilePathID and posID are the reserved field ids of the two columns (table spec, "Reserved Field IDs").
const (
	FilePathID = 2147483546
	posID      = 2147483545
)

// batchRows is how many records are decoded at once: 512 KiB of positions.
const batchRows = 1 << 16

// wholeFile is the size in bytes up to which a file is fetched with one request: cheaper than a footer and two columns.
const wholeFile = 4 << 20

// Source is an object in a store.
type Source = parquetfile.Source

// File is a position delete file to read.
type File struct {
	Location string
	Source   Source
	Size     int64 // file_size_in_bytes of the manifest; 0 when not known
	// ByName, if set, is called when a column has no field id and is taken for what its name says.
	ByName func()
	// Nulls, if set, makes Read leave out the records with a null path or a null position instead of failing with
	// [ErrNull]. It is called with how many there are; of a large file more than once, each time with further ones.
	Nulls func(records int64)
}

// Visit receives the records of one data file that follow each other: its path and their positions, in the file's
// order. Both are valid only during the call.
type Visit func(path []byte, positions []int64) error

// Read passes every record of a Parquet position delete file to visit. An error of the file itself is an [*Error]; an
// error of the store or of visit is returned as it is.
func Read(ctx context.Context, f File, visit Visit) error {
	r := parquetfile.NewReader(ctx, f.Source, parquetfile.Options{Size: f.Size, Whole: wholeFile})
	var visitErr error
	err := r.Decode(func(pf *file.Reader) (err error) {
		visitErr, err = read(ctx, pf, r.Size(), f, visit)
		return err
	})
	switch {
	case visitErr != nil:
		return visitErr
	case err == nil || r.Failed():
		return err
	}
	return &Error{Location: f.Location, Err: err}
}

// read keeps the errors of visit apart from those of the file.
func read(ctx context.Context, pf *file.Reader, size int64, f File, visit Visit) (visitErr, err error) {
	cols, err := findColumns(pf.MetaData().Schema)
	if err != nil {
		return nil, err
	}
	if cols.byName && f.ByName != nil {
		f.ByName()
	}
	if err := checkChunks(pf.MetaData(), cols, size); err != nil {
		return nil, err
	}
	if pf.NumRows() == 0 {
		return nil, nil
	}
	props := pqarrow.ArrowReadProperties{BatchSize: min(batchRows, pf.NumRows())} // buffers of a batch are made for each file
	props.SetReadDict(cols.path, true)
	fr, err := pqarrow.NewFileReader(pf, props, memory.DefaultAllocator)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	rr, err := fr.GetRecordReader(ctx, []int{cols.path, cols.pos}, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	defer rr.Release()
	var seen int64
	for rr.Next() {
		batch := rr.RecordBatch()
		seen += batch.NumRows()
		if visitErr, err = visitBatch(batch, f, visit); visitErr != nil || err != nil {
			return visitErr, err
		}
	}
	if err := rr.Err(); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if seen != pf.NumRows() {
		return nil, fmt.Errorf("%w: %d of %d records decoded", ErrFormat, seen, pf.NumRows())
	}
	return nil, ctx.Err()
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
func visitBatch(batch arrow.RecordBatch, f File, visit Visit) (visitErr, err error) {
	b, err := findValues(batch)
	if err != nil {
		return nil, err
	}
	if paths, positions := b.paths.NullN(), b.pos.NullN(); paths+positions > 0 && f.Nulls == nil {
		return nil, fmt.Errorf("%w: %d null paths and %d null positions", ErrNull, paths, positions)
	}
	value, err := dictionary(b.paths)
	if err != nil {
		return nil, err
	}
	var skipped int64
	for start := 0; start < len(b.keys); {
		if b.null(start) {
			start, skipped = start+1, skipped+1
			continue
		}
		end := b.runEnd(start)
		if err := visit(value(int(b.keys[start])), b.values[start:end]); err != nil {
			return err, nil
		}
		start = end
	}
	if skipped > 0 {
		f.Nulls(skipped)
	}
	return nil, nil
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
