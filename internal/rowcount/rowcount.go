// Package rowcount learns from a data file itself how many rows it has, where the manifest's record_count is in doubt.
package rowcount

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/dvcompactor/dvcompactor/internal/objectfile"
	"github.com/dvcompactor/dvcompactor/internal/orcfile"
	"github.com/dvcompactor/dvcompactor/internal/parquetfile"
)

// ErrDamaged tells that a file does not say how many rows it has, or says two different things: it is damaged, encrypted,
// of another format than Parquet, ORC and Avro, or needs a codec that nobody here has.
var ErrDamaged = objectfile.ErrFormat

// Options say what a manifest entry says of a data file.
type Options struct {
	// Size in bytes; 0 when it is not known, and a wrong one does no harm.
	Size int64
	// Rows is the record_count. An Avro file has no total, so that one which was cut between two blocks looks whole: one
	// with fewer rows is [ErrDamaged].
	Rows int64
}

// Of returns the number of rows that a data file says it has: in the footer of Parquet and ORC, of which the last 64 KiB of
// the object are fetched first and mostly enough; or in the blocks of Avro, which are all fetched. The format is what the
// bytes are.
//
// Errors are [ErrDamaged]; one of the store is returned as it is.
func Of(ctx context.Context, object objectfile.Source, o Options) (rows int64, err error) {
	r := objectfile.NewReader(ctx, object, objectfile.Options{Size: o.Size, Ends: func(tail []byte) bool {
		return parquetfile.Ends(tail) || orcfile.Ends(tail)
	}})
	err = r.Decode(func() (err error) {
		switch {
		case parquetfile.Ends(r.Tail()):
			rows, err = ofParquet(r)
		case orcfile.Ends(r.Tail()):
			rows, err = ofORC(r)
		default:
			rows, err = ofAvro(r, o.Rows)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return rows, nil
}

func ofParquet(r *objectfile.Reader) (rows int64, err error) {
	err = parquetfile.Decode(r, func(pf *file.Reader) error {
		rows = pf.NumRows()
		return check(pf.MetaData())
	})
	return rows, err
}

func ofORC(r *objectfile.Reader) (int64, error) {
	f, err := orcfile.Open(r, r.Size())
	if err != nil {
		return 0, err
	}
	return f.Rows, nil
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
