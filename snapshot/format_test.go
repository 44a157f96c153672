package snapshot

import (
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/stretchr/testify/assert"
)

// named is a file whose entry says its format so.
type named struct {
	iceberg.DataFile
	format iceberg.FileFormat
}

// FileFormat implements iceberg.DataFile.
func (n named) FileFormat() iceberg.FileFormat { return n.format }

func TestAFileFormatIsTheSameInAnyCase(t *testing.T) {
	t.Parallel()
	for _, name := range []iceberg.FileFormat{"PUFFIN", "puffin", "Puffin"} {
		assert.Equal(t, iceberg.PuffinFile, FormatOf(named{format: name}), name)
	}
}
