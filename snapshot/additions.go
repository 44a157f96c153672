package snapshot

import (
	"fmt"

	"github.com/apache/iceberg-go"
)

func (p *producer) add(live *rollingManifest, a NewDV) error {
	b, err := iceberg.NewDataFileBuilder(*live.spec, iceberg.EntryContentPosDeletes, a.Puffin, iceberg.PuffinFile, a.Data.Group.Partition, nil, nil, a.Cardinality, a.PuffinSize)
	if err != nil {
		return fmt.Errorf("entry for the deletion vector of %s: %w", a.Data.Path, err)
	}
	f := b.ReferencedDataFile(a.Data.Path).ContentOffset(a.Offset).ContentSizeInBytes(a.Length).Build()
	p.staged.Delta.added(a)
	return p.addEntry(live, a.Seq, f)
}

// addFile adds the entry of a position delete file: what the reference says of one, and the bounds of all its columns also
// when it is about several data files. Counts of values and of nulls are left out as there: no column has nulls.
func (p *producer) addFile(live *rollingManifest, a NewPositionDeletes) error {
	b, err := iceberg.NewDataFileBuilder(*live.spec, iceberg.EntryContentPosDeletes, a.Location, iceberg.ParquetFile, a.Group.Partition, nil, nil, a.Records, a.Size)
	if err != nil {
		return fmt.Errorf("entry for the position delete file %s: %w", a.Location, err)
	}
	if a.Referenced != "" {
		b = b.ReferencedDataFile(a.Referenced)
	}
	p.staged.Delta.addedFile(a)
	b = b.LowerBoundValues(a.Lower).UpperBoundValues(a.Upper).ColumnSizes(a.ColumnSizes).SplitOffsets(a.SplitOffsets)
	return p.addEntry(live, a.Seq, b.Build())
}

func (p *producer) addEntry(live *rollingManifest, seq int64, f iceberg.DataFile) error {
	explicit := &seq
	if seq == Fresh {
		explicit = nil
	}
	e := iceberg.NewManifestEntry(iceberg.EntryStatusADDED, &p.change.SnapshotID, explicit, nil, f)
	return live.write(func(w *iceberg.ManifestWriter) error { return w.Add(e) })
}
