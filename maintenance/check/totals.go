package check

import (
	"fmt"
	"strconv"
)

// totals compares the totals of the snapshot summary with what is live. Totals that are not there are left alone: they
// are optional, and a reader that finds none counts.
func (c *checker) totals() error {
	if c.unread || c.head.Summary == nil {
		return nil
	}
	t := c.seen.total
	for _, total := range []struct {
		key  string
		live int64
	}{
		{"total-data-files", t.dataFiles}, {"total-records", t.records}, {"total-delete-files", t.deleteFiles},
		{"total-position-deletes", t.positionDeletes}, {"total-equality-deletes", t.equalityDeletes},
	} {
		said, ok := c.head.Summary.Properties[total.key]
		if n, err := strconv.ParseInt(said, 10, 64); ok && (err != nil || n != total.live) {
			c.add(Finding{Issue: "summary-drift", Location: c.head.ManifestList, Expected: fmt.Sprint(total.live), Actual: said, snapshotID: c.head.SnapshotID,
				Detail: fmt.Sprintf("the summary of snapshot %d says %s=%s, live are %d", c.head.SnapshotID, total.key, said, total.live)})
		}
	}
	return nil
}
