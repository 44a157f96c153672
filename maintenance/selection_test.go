package maintenance

import (
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/stretchr/testify/assert"

	"github.com/dvcompactor/dvcompactor/snapshot"
)

func TestAPositionDeleteFileOfAFormatThatNobodyReadsBlocksTheDataFilesThatItMayApplyTo(t *testing.T) {
	t.Parallel()
	g := &snapshot.Group{}
	old, young := &snapshot.DataFile{Path: "old", Group: g, Seq: 1}, &snapshot.DataFile{Path: "young", Group: g, Seq: 3}
	g.Data = []*snapshot.DataFile{old, young}
	for _, format := range []iceberg.FileFormat{iceberg.ParquetFile, iceberg.AvroFile, iceberg.OrcFile, "LANCE"} {
		id := snapshot.FileID{Path: "deletes"}
		g.PositionDeletes = append(g.PositionDeletes, &snapshot.DeleteFile{FileID: id, Format: format, Group: g, Seq: 2})
	}
	s := &selection{blocked: map[*snapshot.DataFile]bool{}, fixed: map[*snapshot.DeleteFile]bool{}, chosen: func(*snapshot.Group) bool { return true }}
	s.blockUnreadable(g)
	assert.Equal(t, map[*snapshot.DataFile]bool{old: true}, s.blocked)
	assert.Len(t, s.skipped, 2, "the file and the data file")
	assert.Equal(t, "position delete file in LANCE", s.skipped[0].Detail)
	assert.Equal(t, Skip{Reason: "format-unreadable", DataFile: "old", Detail: "position delete file deletes may apply and is in LANCE"}, s.skipped[1])
}
