// Package rowcount learns from a data file itself how many rows it has, where the manifest's record_count is in doubt.
package rowcount

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/iceberg-go"

	"github.com/dvcompactor/dvcompactor/internal/objectfile"
	"github.com/dvcompactor/dvcompactor/internal/parquetfile"
)

// Reasons why the number of rows is not known.
var (
	// ErrUnsupported tells that files of this format do not say how many rows they have in a place that is read here.
	ErrUnsupported = errors.New("rows are counted in Parquet files only")
	// ErrDamaged tells that the file does not say it, or says two different things: it is damaged, encrypted or no
	// Parquet file.
	ErrDamaged = parquetfile.ErrFormat
)

// Of returns the number of rows that a data file says it has in its own footer. size is its size in bytes as the
// manifest says; 0 when it is not known, and a wrong one does no harm. One request for the last 64 KiB of the object is
// enough for most files; a second one fetches the rest of a large footer.
//
// Errors are [ErrUnsupported] and [ErrDamaged]; one of the store is returned as it is.
func Of(ctx context.Context, object objectfile.Source, size int64, format iceberg.FileFormat) (int64, error) {
	if format != iceberg.ParquetFile {
		return 0, fmt.Errorf("%w, this one is %s", ErrUnsupported, format)
	}
	var rows int64
	r := objectfile.NewReader(ctx, object, objectfile.Options{Size: size, Ends: parquetfile.Ends})
	err := r.Decode(func() error {
		return parquetfile.Decode(r, func(pf *file.Reader) error {
			rows = pf.NumRows()
			return check(pf.MetaData())
		})
	})
	if err != nil {
		return 0, err
	}
	return rows, nil
}

// check compares the rows of each row group with the values of its columns, so that one changed number in a footer is
// noticed: whoever drops positions beyond the last row relies on it.
func check(m *metadata.FileMetaData) error {
	if m.IsSetEncryptionAlgorithm() {
		return fmt.Errorf("%w: it is encrypted", ErrDamaged)
	}
	repeated := make([]bool, m.Schema.NumColumns())
	for i := range repeated {
		repeated[i] = m.Schema.Column(i).MaxRepetitionLevel() > 0
	}
	for g, group := range m.RowGroups {
		if len(group.Columns) != len(repeated) {
			return fmt.Errorf("%w: row group %d has %d columns, the file %d", ErrDamaged, g, len(group.Columns), len(repeated))
		}
		for i, column := range group.Columns {
			if column.MetaData == nil {
				return fmt.Errorf("%w: row group %d says nothing of column %d", ErrDamaged, g, i)
			}
			values := column.MetaData.NumValues
			if values < group.NumRows || values > group.NumRows && !repeated[i] {
				return fmt.Errorf("%w: row group %d has %d rows and %d values of column %d", ErrDamaged, g, group.NumRows, values, i)
			}
		}
	}
	return nil
}
