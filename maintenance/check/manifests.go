package check

import (
	"fmt"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// manifest compares a manifest with what its header and the manifest list say of it.
func (c *checker) manifest(m snapshot.Surveyed, summary *summaryCheck) {
	at := func(issue, detail, expected, actual string) {
		c.add(Finding{Issue: issue, Location: m.File.FilePath(), Detail: detail, Expected: expected, Actual: actual, snapshotID: m.File.SnapshotID()})
	}
	if m.Err != nil {
		at("manifest-unreadable", m.Err.Error(), "", "")
	}
	if n := len(m.Odd); n > 0 {
		at("manifest-unreadable", fmt.Sprintf("%d of its entries say something that cannot be: %v", n, m.Odd[0]), "", "")
	}
	if want, got := m.File.ManifestContent().String(), string(m.Header["content"]); got != want && (got != "" || string(m.Header["format-version"]) > "1") {
		// a header of format version 1 has no content, whatever the manifest holds
		at("manifest-content", fmt.Sprintf("the header of the Avro file says content %q, the manifest list says %q", got, want), want, got)
	}
	if m.Err != nil {
		return // counts of what was not read to its end say nothing
	}
	c.counted(m)
	if summary != nil && summary.fault != "" {
		at("manifest-summary", summary.fault, "", "")
	}
	if m.File.ManifestContent() == iceberg.ManifestContentDeletes && m.File.FirstRowID() != nil {
		at("entry-extras", "a delete manifest has a first_row_id, which is for data manifests", "", fmt.Sprint(*m.File.FirstRowID()))
	}
}

// counted compares counts and the smallest sequence number. Unknown counts are negative, and a sequence number that is
// too small only costs readers time. Readers skip a manifest that counts no live entries, and entries that are counted and
// not there are lost; other wrong counts mislead planners, and the numbering of rows.
func (c *checker) counted(m snapshot.Surveyed) {
	f := Finding{Issue: "manifest-summary", Location: m.File.FilePath(), snapshotID: m.File.SnapshotID()}
	entries, rows := sum(int64(m.File.AddedDataFiles()), int64(m.File.ExistingDataFiles())), sum(m.File.AddedRows(), m.File.ExistingRows())
	if entries >= 0 && entries != m.Live || rows >= 0 && rows != m.Rows {
		f.Effect = Risk
		if entries > m.Live || entries == 0 && m.Live > 0 {
			f.Effect = Wrong
		}
		f.Expected, f.Actual = fmt.Sprintf("%d entries, %d records", m.Live, m.Rows), fmt.Sprintf("%d entries, %d records", entries, rows)
		f.Detail = fmt.Sprintf("the manifest list counts %s that are live, the manifest has %s", f.Actual, f.Expected)
		c.add(f)
	}
	if least := m.File.MinSequenceNum(); m.MinSeq >= 0 && least > m.MinSeq {
		f.Effect, f.Expected, f.Actual = Wrong, fmt.Sprintf("at most %d", m.MinSeq), fmt.Sprint(least)
		f.Detail = fmt.Sprintf("the manifest list says that no entry is older than data sequence number %d, one has %d", least, m.MinSeq)
		c.add(f)
	}
}

// sum adds two counts, or is -1 when one is unknown.
func sum(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}
