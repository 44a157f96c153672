package verify

import (
	"maps"
	"slices"
	"strconv"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// delta counts added and removed delete entries as the snapshot summary does: a deletion vector is one, of the size of
// its blob.
type delta struct {
	addedDVs, removedDVs         int64
	addedFiles, removedFiles     int64
	addedRecords, removedRecords int64
	addedBytes, removedBytes     int64
}

func contentSize(f iceberg.DataFile) int64 {
	if n := f.ContentSizeInBytes(); n != nil && snapshot.FormatOf(f) == iceberg.PuffinFile {
		return *n
	}
	return f.FileSizeBytes()
}

func (d *delta) add(f iceberg.DataFile) {
	if snapshot.FormatOf(f) == iceberg.PuffinFile {
		d.addedDVs++
	} else {
		d.addedFiles++
	}
	d.addedRecords += f.Count()
	d.addedBytes += contentSize(f)
}

func (d *delta) remove(f iceberg.DataFile) {
	if snapshot.FormatOf(f) == iceberg.PuffinFile {
		d.removedDVs++
	} else {
		d.removedFiles++
	}
	d.removedRecords += f.Count()
	d.removedBytes += contentSize(f)
}

// counts are the summary fields that tell the difference; one that is 0 may be left out.
func (d *delta) counts() map[string]int64 {
	return map[string]int64{
		"added-dvs": d.addedDVs, "removed-dvs": d.removedDVs,
		"added-delete-files": d.addedDVs + d.addedFiles, "removed-delete-files": d.removedDVs + d.removedFiles,
		"added-position-delete-files": d.addedFiles, "removed-position-delete-files": d.removedFiles,
		"added-position-deletes": d.addedRecords, "removed-position-deletes": d.removedRecords,
		"added-equality-deletes": 0, "removed-equality-deletes": 0, "added-equality-delete-files": 0, "removed-equality-delete-files": 0,
		"added-files-size": d.addedBytes, "removed-files-size": d.removedBytes,
	}
}

// totals are by how much the totals change.
func (d *delta) totals() map[string]int64 {
	return map[string]int64{
		"total-data-files": 0, "total-records": 0, "total-equality-deletes": 0,
		"total-delete-files":     d.addedDVs + d.addedFiles - d.removedDVs - d.removedFiles,
		"total-position-deletes": d.addedRecords - d.removedRecords,
		"total-files-size":       d.addedBytes - d.removedBytes,
	}
}

// summary compares the snapshot summary with the difference of the manifests.
func (c *checker) summary() {
	if c.snap.Summary == nil {
		c.differ("C8", "there is no summary")
		return
	}
	got := c.snap.Summary.Properties
	for _, key := range []string{"added-data-files", "deleted-data-files", "added-records", "deleted-records"} {
		if v, ok := got[key]; ok && v != "0" {
			c.differ("C2", "%s is %s in the summary", key, v)
		}
	}
	c.compared("C2", 4, "no data file or row added or removed, says the summary")
	counts := c.found.delta.counts()
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		if n, ok := number(got[key]); got[key] != "" && !ok || n != counts[key] {
			c.differ("C8", "%s is %q in the summary, want %d", key, got[key], counts[key])
		}
	}
	for key, n := range c.manifestCounts() {
		if v, ok := got[key]; ok && v != strconv.Itoa(n) {
			c.differ("C8", "%s is %q in the summary, want %d", key, v, n)
		}
	}
	totals := c.found.delta.totals()
	for _, key := range slices.Sorted(maps.Keys(totals)) {
		c.total(key, got[key], totals[key])
	}
	c.compared("C8", len(counts)+len(totals), "%d counts and %d totals of the summary are those of the manifests' difference", len(counts), len(totals))
}

// manifestCounts are the counts of manifests that a summary may have.
func (c *checker) manifestCounts() map[string]int {
	return map[string]int{"manifests-created": len(c.came), "manifests-kept": len(c.Now.Manifests) - len(c.came), "manifests-replaced": len(c.gone)}
}

// total compares a total with the parent's: carried forward by the difference, or left out when that is not possible.
func (c *checker) total(key, got string, change int64) {
	text := ""
	if c.parent.Summary != nil {
		text = c.parent.Summary.Properties[key]
	}
	expected := ""
	if counted, ok := c.Totals[key]; ok {
		expected = strconv.FormatInt(counted+change, 10)
	} else if was, ok := number(text); ok && was+change >= 0 {
		expected = strconv.FormatInt(was+change, 10)
	}
	if got != expected {
		c.differ("C8", "%s is %q in the summary, want %q", key, got, expected)
	}
}

func number(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}
