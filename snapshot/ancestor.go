package snapshot

import (
	"context"
	"fmt"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// Listed returns the manifests that a snapshot lists. It is false when the list is missing or damaged; an error is of
// the store, or of ctx.
func Listed(ctx context.Context, files iceio.IO, snap *table.Snapshot) ([]iceberg.ManifestFile, bool, error) {
	noted := &notedIO{IO: files}
	manifests, err := readList(noted, snap)
	if noted.err != nil {
		return nil, false, storeFailed(ctx, noted.err)
	}
	return manifests, err == nil, ctx.Err()
}

// LiveEntries tells of the live entries of a manifest, of delete files with their column bounds. It is false when the
// manifest is missing or damaged, or lists something impossible; an error is of the store, or of ctx.
func LiveEntries(ctx context.Context, files iceio.IO, m iceberg.ManifestFile, each func(iceberg.ManifestEntry)) (bool, error) {
	found := surveyManifest(ctx, files, m, func(e iceberg.ManifestEntry) error {
		each(e)
		return nil
	})
	if err := storeFailed(ctx, found.Err); err != nil {
		return false, fmt.Errorf("manifest %s: %w", storage.Shown(m.FilePath()), err)
	}
	return found.Err == nil && len(found.Odd) == 0, nil
}

// DeleteOf returns what an entry says of a position delete file or deletion vector, nil for one of another kind. Its group
// has a key and nothing else.
func DeleteOf(e iceberg.ManifestEntry) (*DeleteFile, error) {
	f := e.DataFile()
	if f.ContentType() != iceberg.EntryContentPosDeletes {
		return nil, nil
	}
	key, err := PartitionOf(f)
	if err != nil {
		return nil, err
	}
	d := &DeleteFile{
		FileID: fileID(f), Format: FormatOf(f), Group: &Group{Key: key}, Seq: e.SequenceNum(), Records: f.Count(), Size: f.FileSizeBytes(), SnapshotID: e.SnapshotID(),
	}
	if r := f.ReferencedDataFile(); r != nil {
		d.Referenced = *r
	}
	return d, nil
}
