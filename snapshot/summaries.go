package snapshot

import (
	"github.com/apache/iceberg-go"
)

// withEmptyBounds returns a manifest's record for the manifest list in which a bound that is the empty string is written
// as such. iceberg-go makes it a nil slice, which is written as null, and a null bound says that all values are null: the
// reference then skips the manifest for every predicate on the column, and the rows that its entries delete are back.
func withEmptyBounds(m iceberg.ManifestFile) iceberg.ManifestFile {
	summaries := m.Partitions()
	found := false
	for _, s := range summaries {
		for _, bound := range []*[]byte{s.LowerBound, s.UpperBound} {
			if bound != nil && *bound == nil {
				*bound, found = []byte{}, true
			}
		}
	}
	if !found {
		return m
	}
	return iceberg.NewManifestFile(m.Version(), m.FilePath(), m.Length(), m.PartitionSpecID(), m.SnapshotID()).
		SequenceNum(m.SequenceNum(), m.MinSequenceNum()).Content(m.ManifestContent()).
		AddedFiles(m.AddedDataFiles()).ExistingFiles(m.ExistingDataFiles()).DeletedFiles(m.DeletedDataFiles()).
		AddedRows(m.AddedRows()).ExistingRows(m.ExistingRows()).DeletedRows(m.DeletedRows()).
		Partitions(summaries).KeyMetadata(m.KeyMetadata()).Build()
}
