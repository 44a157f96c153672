package maintenance

import (
	"fmt"
	"time"

	"github.com/apache/iceberg-go/table"
)

// clockTolerance is how far clocks may be apart without anybody hearing of it.
const clockTolerance = 5 * time.Second

// clockWarnings compares the clock with the newest time in a table's metadata. A table that is ahead of us was written
// by a machine with another clock. The next snapshot gets a time that is not before the table's, so nothing is wrong
// with it, but expiry by age and time travel follow these times.
func clockWarnings(meta table.Metadata, now time.Time) []string {
	newest := meta.LastUpdatedMillis()
	for _, s := range meta.Snapshots() {
		newest = max(newest, s.TimestampMs)
	}
	ahead := time.UnixMilli(newest).Sub(now).Truncate(time.Second)
	if ahead < clockTolerance {
		return []string{}
	}
	return []string{fmt.Sprintf("the table was last written at %s, %v after what this machine's clock says: one of the clocks is wrong; what is committed gets the time of the table",
		time.UnixMilli(newest).UTC().Format(time.RFC3339), ahead)}
}
