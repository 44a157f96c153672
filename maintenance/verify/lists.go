package verify

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/apache/iceberg-go"
)

// lists compares the two manifest lists, read from storage. What is in both is the same file, which nobody has to read
// again.
func (c *checker) lists() error {
	before, err := c.parent.Manifests(c.New)
	if err != nil {
		return fmt.Errorf("manifest list %s of the parent: %w", c.parent.ManifestList, err)
	}
	c.compared("C10", 1, "the parent's manifest list is there")
	old := map[string]iceberg.ManifestFile{}
	for _, m := range before {
		old[m.FilePath()] = m
	}
	data, deletes := 0, 0
	nextRowID := c.Before.Metadata.NextRowID()
	for _, m := range c.Now.Manifests {
		was := old[m.FilePath()]
		isData := m.ManifestContent() == iceberg.ManifestContentData
		switch {
		case was == nil && isData:
			c.differ("A1", "data manifest %s is new", m.FilePath())
			continue
		case was == nil:
			c.came = append(c.came, m)
			continue
		}
		delete(old, m.FilePath())
		if right := c.Corrected[m.FilePath()]; right != nil {
			was = right
		}
		if why := listedAs(m, was); why != "" {
			c.differ("C5", "manifest %s is listed with other %s", m.FilePath(), why)
		}
		if isData {
			data++
			nextRowID = c.firstRowID(m, was, nextRowID)
		} else {
			deletes++
		}
	}
	for _, m := range before {
		if old[m.FilePath()] == nil {
			continue
		}
		if m.ManifestContent() == iceberg.ManifestContentData {
			c.differ("A1", "data manifest %s is gone", m.FilePath())
		} else {
			c.gone = append(c.gone, m)
		}
	}
	c.compared("A1", data, "%d data manifests are the same, and with them the live data files", data)
	c.compared("C5", data+deletes, "%d data manifests and %d delete manifests are listed as before, with their first row ids", data, deletes)
	return nil
}

// listedAs names the first field in which two records of a manifest list differ, or none.
func listedAs(a, b iceberg.ManifestFile) string {
	switch {
	case a.ManifestContent() != b.ManifestContent():
		return "content"
	case a.Length() != b.Length():
		return "length"
	case a.PartitionSpecID() != b.PartitionSpecID():
		return "partition spec"
	case a.SequenceNum() != b.SequenceNum() || a.MinSequenceNum() != b.MinSequenceNum():
		return "sequence numbers"
	case a.SnapshotID() != b.SnapshotID():
		return "snapshot id"
	case !bytes.Equal(a.KeyMetadata(), b.KeyMetadata()):
		return "key metadata"
	case countsOf(a) != countsOf(b):
		return "counts"
	case !sameSummaries(a.Partitions(), b.Partitions()):
		return "partition summaries"
	}
	return ""
}

// countsOf returns the file and row counts of a manifest.
func countsOf(m iceberg.ManifestFile) [6]int64 {
	return [6]int64{
		int64(m.AddedDataFiles()), int64(m.ExistingDataFiles()), int64(m.DeletedDataFiles()), m.AddedRows(), m.ExistingRows(), m.DeletedRows(),
	}
}

func sameSummaries(a, b []iceberg.FieldSummary) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !sameSummary(a[i], b[i]) {
			return false
		}
	}
	return true
}

func sameSummary(a, b iceberg.FieldSummary) bool {
	nan := func(s iceberg.FieldSummary) bool { return s.ContainsNaN != nil && *s.ContainsNaN }
	bound := func(x, y *[]byte) bool {
		if x == nil || y == nil {
			return x == nil && y == nil
		}
		return bytes.Equal(*x, *y)
	}
	return a.ContainsNull == b.ContainsNull && nan(a) == nan(b) && bound(a.LowerBound, b.LowerBound) && bound(a.UpperBound, b.UpperBound)
}

// firstRowID compares the first_row_id of a data manifest: it keeps the one it has, or gets the next one. It returns the
// next one after it.
func (c *checker) firstRowID(m, was iceberg.ManifestFile, next int64) int64 {
	got, old := m.FirstRowID(), was.FirstRowID()
	switch {
	case c.After.Metadata.Version() < 3:
	case got == nil:
		c.differ("C5", "data manifest %s has no first_row_id", m.FilePath())
	case old != nil && *got != *old:
		c.differ("C5", "data manifest %s: first_row_id is %d, was %d", m.FilePath(), *got, *old)
	case old == nil && *got != next:
		c.differ("C5", "data manifest %s: first_row_id is %d, want %d", m.FilePath(), *got, next)
	case old == nil:
		return next + m.AddedRows() + m.ExistingRows()
	}
	return next
}

func summariesText(summaries []iceberg.FieldSummary) string {
	bound := func(b *[]byte) string {
		if b == nil {
			return "-"
		}
		return fmt.Sprintf("%x", *b)
	}
	texts := make([]string, 0, len(summaries))
	for _, s := range summaries {
		texts = append(texts, fmt.Sprintf("{%s to %s, null %t, NaN %t}", bound(s.LowerBound), bound(s.UpperBound), s.ContainsNull, s.ContainsNaN != nil && *s.ContainsNaN))
	}
	return strings.Join(texts, " ")
}
