package snapshot

import (
	"bytes"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// listWriter encodes a manifest list and completes the snapshot's row lineage.
type listWriter struct {
	w       *iceberg.ManifestListWriter
	buf     bytes.Buffer
	snap    *table.Snapshot
	version int
}

func newListWriter(version int, snap *table.Snapshot, nextRowID int64) (*listWriter, error) {
	l := &listWriter{snap: snap, version: version}
	var err error
	if version >= 3 {
		first := nextRowID
		snap.FirstRowID = &first
		l.w, err = iceberg.NewManifestListWriterV3(&l.buf, snap.SnapshotID, snap.SequenceNumber, nextRowID, snap.ParentSnapshotID)
	} else {
		l.w, err = iceberg.NewManifestListWriterV2(&l.buf, snap.SnapshotID, snap.SequenceNumber, snap.ParentSnapshotID)
	}
	return l, err
}

// write encodes the list. On v3 every data manifest without first_row_id gets one, which after an upgrade assigns ids
// to all rows; otherwise no row gets an id and added-rows is 0 (spec, "Row Lineage").
func (l *listWriter) write(manifests []iceberg.ManifestFile) ([]byte, error) {
	if err := l.w.AddManifests(manifests); err != nil {
		return nil, err
	}
	if err := l.w.Close(); err != nil {
		return nil, err
	}
	if l.version >= 3 {
		added := *l.w.NextRowID() - *l.snap.FirstRowID
		l.snap.AddedRows = &added
	}
	return l.buf.Bytes(), nil
}
