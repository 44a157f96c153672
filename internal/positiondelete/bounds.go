package positiondelete

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// checkChunks refuses a footer whose numbers are not those of a file of size bytes. The decoder asks for as much memory
// as a column chunk is said to have, before it reads it, and a process that asks for too much is ended.
func checkChunks(m *metadata.FileMetaData, cols columns, size int64) error {
	for i := range len(m.RowGroups) {
		group := m.RowGroup(i)
		for _, col := range []int{cols.path, cols.pos} {
			chunk, err := group.ColumnChunk(col)
			if err != nil {
				return fmt.Errorf("%w: row group %d: %w", ErrFormat, i, err)
			}
			if err := checkChunk(chunk, size); err != nil {
				return fmt.Errorf("%w: row group %d, column %d: %w", ErrFormat, i, col, err)
			}
		}
	}
	return nil
}

func checkChunk(chunk *metadata.ColumnChunkMetaData, size int64) error {
	start, length := chunk.DataPageOffset(), chunk.TotalCompressedSize()
	if chunk.HasDictionaryPage() && chunk.DictionaryPageOffset() > 0 {
		start = min(start, chunk.DictionaryPageOffset())
	}
	if start < 0 || length < 0 || start > size || length > size-start {
		return fmt.Errorf("%d bytes at %d of a file of %d", length, start, size)
	}
	return nil
}
