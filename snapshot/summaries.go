package snapshot

import (
	"github.com/apache/iceberg-go"
)

// recordOf returns a manifest's record for the manifest list of a format version in which a bound that is the empty string is
// written as such. iceberg-go makes it a nil slice, which is written as null, and a null bound says that all values are null: the
// reference then skips the manifest for every predicate on the column, and the rows that its entries delete are back.
func recordOf(m iceberg.ManifestFile, version int) iceberg.ManifestFile {
	summaries := m.Partitions()
	found := false
	for _, s := range summaries {
		for _, bound := range []*[]byte{s.LowerBound, s.UpperBound} {
			if bound != nil && *bound == nil {
				*bound, found = []byte{}, true
			}
		}
	}
	if !found && m.Version() == version {
		return m
	}
	return iceberg.NewManifestFile(version, m.FilePath(), m.Length(), m.PartitionSpecID(), m.SnapshotID()).
		SequenceNum(m.SequenceNum(), m.MinSequenceNum()).Content(m.ManifestContent()).
		AddedFiles(m.AddedDataFiles()).ExistingFiles(m.ExistingDataFiles()).DeletedFiles(m.DeletedDataFiles()).
		AddedRows(m.AddedRows()).ExistingRows(m.ExistingRows()).DeletedRows(m.DeletedRows()).
		Partitions(summaries).KeyMetadata(m.KeyMetadata()).Build()
}
