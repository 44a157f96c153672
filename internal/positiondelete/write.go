package positiondelete

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/dvcompactor/dvcompactor/puffin"
)

// Reasons why a position delete file cannot be written.
var (
	// ErrPaths tells that the paths do not ascend in the order of their bytes, or that one of them is no text.
	ErrPaths = errors.New("paths of data files are not text in ascending order")
	// ErrNoRecords tells that there is no position to write. A position delete file without records deletes nothing.
	ErrNoRecords = errors.New("no positions for a position delete file")
)

// groupRows is the number of records of a row group, unless the options say otherwise.
const groupRows = 1 << 20

// Written is what a manifest entry says about a position delete file.
type Written struct {
	Records int64 // record_count
	// LowerPath and UpperPath are the bounds of file_path: the first and the last path, never cut. They are equal when
	// the file is about one data file.
	LowerPath, UpperPath string
	// LowerPos and UpperPos are the bounds of pos: the smallest and the largest position of all data files.
	LowerPos, UpperPos int64
	// ColumnSizes are the compressed bytes of each column, by field id, and SplitOffsets where the row groups begin, in
	// ascending order.
	ColumnSizes  map[int]int64
	SplitOffsets []int64
}

// Bounds are the column bounds of a manifest entry, by field id.
func (w Written) Bounds() (lower, upper map[int][]byte) {
	at := func(path string, pos int64) map[int][]byte {
		return map[int][]byte{FilePathID: []byte(path), posID: binary.LittleEndian.AppendUint64(nil, uint64(pos))}
	}
	return at(w.LowerPath, w.LowerPos), at(w.UpperPath, w.UpperPos)
}

// WriterOptions of a position delete file.
type WriterOptions struct {
	// GroupRows is the number of records of a row group, which is in memory until it is complete; default 2^20.
	GroupRows int
}

// Writer writes a Parquet position delete file: the records of each data file, in the order that the table spec asks for
// ("Position Delete Files"). At most one row group is kept in memory, compressed.
type Writer struct {
	file      *file.Writer
	group     file.BufferedRowGroupWriter // nil before the first and after each full one
	rows      int                         // of group
	groupRows int
	batch     int // records that are handed over at once

	paths     []parquet.ByteArray
	positions []int64
	last      string // path that came last
	started   bool   // last is one
	written   Written
}

// NewWriter begins a file. What goes to w is no file before Close has succeeded. w is not closed.
func NewWriter(w io.Writer, o WriterOptions) (*Writer, error) {
	root, err := fileSchema()
	if err != nil {
		return nil, fmt.Errorf("writing a position delete file: %w", err)
	}
	props := parquet.NewWriterProperties(
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithDictionaryFor("pos", false), // hardly a position comes twice
	)
	// The struct hides Close, which the Parquet writer would call.
	out, err := file.NewParquetWriterWithError(struct{ io.Writer }{w}, root, file.WithWriterProps(props))
	if err != nil {
		return nil, fmt.Errorf("writing a position delete file: %w", err)
	}
	rows := o.GroupRows
	if rows <= 0 {
		rows = groupRows
	}
	return &Writer{file: out, groupRows: rows, batch: min(rows, batchRows)}, nil
}

// Add appends the records of one data file: its path and the set of its deleted positions. Paths have to come in
// ascending order, else the error is [ErrPaths]; a data file without positions adds nothing.
func (e *Writer) Add(path string, positions *puffin.Bitmap) error {
	if err := e.add(path, positions); err != nil {
		return fmt.Errorf("writing the positions of %s to a position delete file: %w", path, err)
	}
	return nil
}

// Close completes the file and says what its manifest entry has to. No positions at all are [ErrNoRecords].
func (e *Writer) Close() (Written, error) {
	if err := e.close(); err != nil {
		return Written{}, fmt.Errorf("writing a position delete file: %w", err)
	}
	return e.written, nil
}

// fileSchema returns the two required columns with their reserved field ids.
func fileSchema() (*schema.GroupNode, error) {
	path, err := schema.NewPrimitiveNodeLogical("file_path", parquet.Repetitions.Required, schema.StringLogicalType{},
		parquet.Types.ByteArray, -1, FilePathID)
	if err != nil {
		return nil, err
	}
	pos, err := schema.NewPrimitiveNode("pos", parquet.Repetitions.Required, parquet.Types.Int64, posID, -1)
	if err != nil {
		return nil, err
	}
	return schema.NewGroupNode("table", parquet.Repetitions.Required, schema.FieldList{path, pos}, -1)
}

func (e *Writer) add(path string, positions *puffin.Bitmap) error {
	if e.started && path <= e.last {
		return fmt.Errorf("%w: it comes after %s", ErrPaths, e.last)
	}
	if path == "" || !utf8.ValidString(path) {
		return fmt.Errorf("%w: %q", ErrPaths, path)
	}
	e.last, e.started = path, true
	text := parquet.ByteArray(path)
	for pos := range positions.Positions() {
		e.count(path, pos)
		e.paths, e.positions = append(e.paths, text), append(e.positions, pos)
		if len(e.positions) == e.batch {
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Writer) count(path string, pos int64) {
	w := &e.written
	if w.Records == 0 {
		*w = Written{LowerPath: path, LowerPos: pos, UpperPos: pos}
	}
	w.Records++
	w.UpperPath = path
	w.LowerPos, w.UpperPos = min(w.LowerPos, pos), max(w.UpperPos, pos)
}

// flush writes the collected records to the row group and ends it when it is full.
func (e *Writer) flush() error {
	if len(e.positions) == 0 {
		return nil
	}
	if e.group == nil {
		group, err := e.file.AppendBufferedRowGroupChecked()
		if err != nil {
			return err
		}
		e.group, e.rows = group, 0
	}
	if err := e.writeColumns(); err != nil {
		return err
	}
	e.rows += len(e.positions)
	e.paths, e.positions = e.paths[:0], e.positions[:0]
	if e.rows < e.groupRows {
		return nil
	}
	group := e.group
	e.group = nil
	return group.Close()
}

func (e *Writer) writeColumns() error {
	for i := range e.file.NumColumns() {
		column, err := e.group.Column(i)
		if err != nil {
			return err
		}
		switch c := column.(type) {
		case *file.ByteArrayColumnChunkWriter:
			_, err = c.WriteBatch(e.paths, nil, nil)
		case *file.Int64ColumnChunkWriter:
			_, err = c.WriteBatch(e.positions, nil, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *Writer) close() error {
	if e.written.Records == 0 {
		return ErrNoRecords
	}
	if err := e.flush(); err != nil {
		return err
	}
	if err := e.file.Close(); err != nil {
		return err
	}
	return e.measure()
}

// measure takes from the footer where row groups begin and how large the columns are.
func (e *Writer) measure() error {
	footer, err := e.file.FileMetadata()
	if err != nil {
		return err
	}
	e.written.ColumnSizes = map[int]int64{}
	for i := range footer.NumRowGroups() {
		group := footer.RowGroup(i)
		e.written.SplitOffsets = append(e.written.SplitOffsets, group.FileOffset())
		for c := range group.NumColumns() {
			chunk, err := group.ColumnChunk(c)
			if err != nil {
				return err
			}
			e.written.ColumnSizes[int(footer.Schema.Column(c).SchemaNode().FieldID())] += chunk.TotalCompressedSize()
		}
	}
	return nil
}
