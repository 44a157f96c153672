package snapshot

import (
	"context"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// Mentioned tells of every delete file that a snapshot mentions, live or not, in manifests whose locations are not in
// read yet, and adds these. It is false when a manifest is missing or damaged; an error is of the store, or of ctx.
func Mentioned(ctx context.Context, files iceio.IO, snap *table.Snapshot, read map[string]bool, each func(iceberg.DataFile)) (bool, error) {
	manifests, whole, err := Listed(ctx, files, snap)
	if err != nil || !whole {
		return false, err
	}
	for _, m := range manifests {
		if m.ManifestContent() == iceberg.ManifestContentData || read[m.FilePath()] {
			continue
		}
		read[m.FilePath()] = true
		noted := &notedIO{IO: files}
		err := decode(ctx, noted, m, withoutStatistics, nil, func(e iceberg.ManifestEntry) error {
			err := checked(e)
			if err == nil {
				each(e.DataFile())
			}
			return err
		})
		if noted.err != nil {
			return false, storeFailed(ctx, noted.err)
		}
		if err != nil {
			return false, ctx.Err()
		}
	}
	return true, nil
}
