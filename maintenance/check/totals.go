package check

import (
	"fmt"
	"strconv"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// totals are what a snapshot summary counts.
type totals struct{ dataFiles, records, deleteFiles, positionDeletes, equalityDeletes, bytes int64 }

// count adds a live entry. A deletion vector is as large as its blob (spec, "Optional Snapshot Summary Fields", as the
// reference counts).
func (t *totals) count(f iceberg.DataFile) {
	switch f.ContentType() {
	case iceberg.EntryContentData:
		t.dataFiles++
		t.records += f.Count()
	case iceberg.EntryContentEqDeletes:
		t.deleteFiles++
		t.equalityDeletes += f.Count()
	default:
		t.deleteFiles++
		t.positionDeletes += f.Count()
	}
	size := f.FileSizeBytes()
	if n := f.ContentSizeInBytes(); n != nil && snapshot.FormatOf(f) == iceberg.PuffinFile {
		size = *n
	}
	t.bytes += size
}

// filesSize is the total that writers do not agree about: some count a whole Puffin file for each of its deletion
// vectors.
const filesSize = "total-files-size"

// byKey returns the totals under their keys in the summary.
func (t *totals) byKey() map[string]int64 {
	return map[string]int64{
		"total-data-files": t.dataFiles, "total-records": t.records, "total-delete-files": t.deleteFiles,
		"total-position-deletes": t.positionDeletes, "total-equality-deletes": t.equalityDeletes, filesSize: t.bytes,
	}
}

// totals compares the totals of the snapshot summary with what is live. Totals that are not there are left alone: they
// are optional, and a reader that finds none counts.
func (c *checker) totals() error {
	if c.unread || c.head.Summary == nil {
		return nil
	}
	for key, live := range c.seen.total.byKey() {
		said, ok := c.head.Summary.Properties[key]
		if n, err := strconv.ParseInt(said, 10, 64); ok && key != filesSize && (err != nil || n != live) {
			c.add(Finding{Issue: "summary-drift", Location: c.head.ManifestList, Expected: fmt.Sprint(live), Actual: said, snapshotID: c.head.SnapshotID,
				Detail: fmt.Sprintf("the summary of snapshot %d says %s=%s, live are %d", c.head.SnapshotID, key, said, live)})
		}
	}
	return nil
}
