package positiondelete

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/iceberg-go"

	"github.com/dvcompactor/dvcompactor/internal/objectfile"
	"github.com/dvcompactor/dvcompactor/internal/orcfile"
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
type Source = objectfile.Source

// File is a position delete file to read.
type File struct {
	Location string
	Source   Source
	Format   iceberg.FileFormat // "" is Parquet
	Size     int64              // file_size_in_bytes of the manifest; 0 when not known
	Records  int64              // record_count of the manifest; 0 when not known
	// ByName, if set, is called when a column has no field id and is taken for what its name says.
	ByName func()
	// Nulls, if set, makes Read leave out the records with a null path or a null position instead of failing with
	// [ErrNull]. It is called with how many there are; of a large file more than once, each time with further ones.
	Nulls func(records int64)
}

// Visit receives the records of one data file that follow each other: its path and their positions, in the file's
// order. Both are valid only during the call.
type Visit func(path []byte, positions []int64) error

// Readable says whether [Read] knows the format of a position delete file.
func Readable(format iceberg.FileFormat) bool {
	return format == iceberg.ParquetFile || format == iceberg.AvroFile || format == iceberg.OrcFile
}

// Read passes every record of a position delete file to visit. An error of the file itself is an [*Error]; an error of
// the store or of visit is returned as it is.
func Read(ctx context.Context, f File, visit Visit) error {
	if f.Format == "" {
		f.Format = iceberg.ParquetFile
	}
	if !Readable(f.Format) {
		return &Error{Location: f.Location, Err: fmt.Errorf("%w: it is %s", ErrFormat, f.Format)}
	}
	var visitErr error
	r := objectfile.NewReader(ctx, f.Source, objectfile.Options{Size: f.Size, Whole: wholeFile, Ends: f.ends()})
	err := r.Decode(func() error {
		return f.decode(ctx, r, func(path []byte, positions []int64) error {
			if visitErr = ctx.Err(); visitErr == nil {
				visitErr = visit(path, positions)
			}
			return visitErr
		})
	})
	switch {
	case visitErr != nil:
		return visitErr
	case err == nil || r.Failed():
		return err
	}
	return &Error{Location: f.Location, Err: err}
}

// ends returns how files of the format end, nil when they are read from their start.
func (f File) ends() func([]byte) bool {
	switch f.Format {
	case iceberg.AvroFile:
		return nil
	case iceberg.OrcFile:
		return orcfile.Ends
	}
	return parquetfile.Ends
}

// decode passes the records of the file that r reads to visit, whose first error ends it.
func (f File) decode(ctx context.Context, r *objectfile.Reader, visit Visit) error {
	switch f.Format {
	case iceberg.AvroFile:
		return readAvro(r, f, visit)
	case iceberg.OrcFile:
		return readORC(r, f, visit)
	}
	return parquetfile.Decode(r, func(pf *file.Reader) error { return readParquet(ctx, pf, r.Size(), f, visit) })
}
