package parquetfile

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/dvcompactor/dvcompactor/internal/objectfile"
)

// ErrFormat tells that a file is not Parquet, is damaged or encrypted, or needs a codec that nobody here has.
var ErrFormat = objectfile.ErrFormat

// The ends of a file whose footer is plain, and of one whose footer is encrypted.
const (
	magic          = "PAR1"
	magicEncrypted = "PARE"
)

const (
	// maxPage bounds what one page may hold when it is not compressed, in bytes. Writers make pages of about one mebibyte.
	maxPage = 64 << 20
	// maxFooter bounds the footer, in bytes. Those of tables with thousands of columns have some mebibytes.
	maxFooter = 128 << 20
	endBytes  = 8 // length of the footer and magic
)

// Ends tells whether bytes end like a Parquet file, plain or encrypted.
func Ends(tail []byte) bool {
	return bytes.HasSuffix(tail, []byte(magic)) || bytes.HasSuffix(tail, []byte(magicEncrypted))
}

// Decode hands the file that r reads to use, which must not keep it. The number of rows in the footer is that of the row
// groups. It is to be called within [objectfile.Reader.Decode]; an error is what use returns, or [ErrFormat].
func Decode(r *objectfile.Reader, use func(*file.Reader) error) error {
	if err := checkEnd(r.Tail(), r.Size()); err != nil {
		return err
	}
	props := parquet.NewReaderProperties(memory.DefaultAllocator)
	props.MaxUncompressedPageSize = maxPage
	pf, err := file.NewParquetReader(r, file.WithReadProps(props))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	defer pf.Close()
	if err := checkRows(pf.MetaData()); err != nil {
		return err
	}
	return use(pf)
}

// checkEnd refuses a footer of which the library would read more than there is, or so much that memory ends.
func checkEnd(tail []byte, size int64) error {
	if len(tail) < endBytes {
		return fmt.Errorf("%w: %d bytes are no Parquet file", ErrFormat, size)
	}
	end := tail[len(tail)-endBytes:]
	switch string(end[4:]) {
	case magic:
	case magicEncrypted:
		return fmt.Errorf("%w: its footer is encrypted", ErrFormat)
	default:
		return fmt.Errorf("%w: it does not end like a Parquet file", ErrFormat)
	}
	if n := int64(binary.LittleEndian.Uint32(end)); n > min(size-endBytes, maxFooter) {
		return fmt.Errorf("%w: a footer of %d bytes in a file of %d", ErrFormat, n, size)
	}
	return nil
}

// checkRows refuses a footer whose row groups do not add up to its number of rows.
func checkRows(m *metadata.FileMetaData) error {
	var rows int64
	for i := range len(m.RowGroups) {
		n := m.RowGroup(i).NumRows()
		if n < 0 || n > m.NumRows-rows {
			return fmt.Errorf("%w: row group %d has %d rows, the file %d", ErrFormat, i, n, m.NumRows)
		}
		rows += n
	}
	if rows != m.NumRows {
		return fmt.Errorf("%w: the row groups have %d rows, the file %d", ErrFormat, rows, m.NumRows)
	}
	return nil
}
