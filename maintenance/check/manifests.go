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
	if want, got := m.File.ManifestContent().String(), string(m.Header["content"]); m.Header != nil && wrongContent(m.File, got) {
		at("manifest-content", fmt.Sprintf("the header of the Avro file says content %q, the manifest list says %q", got, want), want, got)
	}
	if m.Err != nil {
		return // counts of what was not read to its end say nothing
	}
	c.counted(m, at)
	if summary != nil && summary.fault != "" {
		at("manifest-summary", summary.fault, "", "")
	}
	if m.File.ManifestContent() == iceberg.ManifestContentDeletes && m.File.FirstRowID() != nil {
		at("entry-extras", "a delete manifest has a first_row_id, which is for data manifests", "", fmt.Sprint(*m.File.FirstRowID()))
	}
}

// wrongContent says whether a header contradicts the manifest list. Data manifests of format version 1 have no content.
func wrongContent(m iceberg.ManifestFile, header string) bool {
	return header != m.ManifestContent().String() && (header != "" || m.ManifestContent() == iceberg.ManifestContentDeletes)
}

// counted compares counts and the smallest sequence number. Unknown counts are negative, and a sequence number that is
// too small only costs readers time.
func (c *checker) counted(m snapshot.Surveyed, at func(issue, detail, expected, actual string)) {
	added, existing := int64(m.File.AddedDataFiles()), int64(m.File.ExistingDataFiles())
	if added >= 0 && existing >= 0 && added+existing != m.Live {
		at("manifest-summary", fmt.Sprintf("the manifest list counts %d live entries, the manifest has %d", added+existing, m.Live), fmt.Sprint(m.Live), fmt.Sprint(added+existing))
	}
	if rows := m.File.AddedRows() + m.File.ExistingRows(); m.File.AddedRows() >= 0 && m.File.ExistingRows() >= 0 && rows != m.Rows {
		at("manifest-summary", fmt.Sprintf("the manifest list counts %d records of live entries, the manifest has %d", rows, m.Rows), fmt.Sprint(m.Rows), fmt.Sprint(rows))
	}
	if least := m.File.MinSequenceNum(); m.MinSeq >= 0 && least > m.MinSeq {
		at("manifest-summary", fmt.Sprintf("the manifest list says that no entry is older than data sequence number %d, one has %d", least, m.MinSeq), fmt.Sprint(m.MinSeq), fmt.Sprint(least))
	}
}
