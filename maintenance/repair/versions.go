package repair

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// versionsOf lists the older versions of an object, newest first: none where the store keeps none, or does not let us see
// them.
func (r *repairer) versionsOf(ctx context.Context, location string) ([]storage.Version, error) {
	all, err := r.table.Store.Versions(ctx, location)
	if errors.Is(err, storage.ErrNoVersions) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("versions of %s: %w", location, err)
	}
	var older []storage.Version
	for _, v := range all {
		if !v.Current {
			older = append(older, v)
		}
	}
	return older, nil
}

// soundVersion looks for a sound deletion vector, with as many positions as its entry says, in older versions of its Puffin file.
// An entry never changes, so what was sound under it is what its writer meant.
func (r *repairer) soundVersion(ctx context.Context, d *snapshot.DeleteFile) (*puffin.Bitmap, string, error) {
	if d.Unbound() {
		return nil, "", nil
	}
	versions, err := r.versionsOf(ctx, d.Path)
	if err != nil {
		return nil, "", err
	}
	for _, v := range versions {
		b, err := puffin.ReadDeletionVector(ctx, r.table.Store.ObjectVersion(d.Path, v), maintenance.RangeOf(d))
		if err == nil {
			return b, versionNote(v, fmt.Sprintf("all %d positions", b.Cardinality())), nil
		}
		if !damaged(err) {
			return nil, "", fmt.Errorf("%s, version %s: %w", d.Path, v.ID, err)
		}
	}
	return nil, "", nil
}

func versionNote(v storage.Version, what string) string {
	return fmt.Sprintf("version %s of the object, of %s, which has %s", v.ID, v.Time.UTC().Format(time.RFC3339), what)
}

// readableVersion looks for an older version of a position delete file that can be read to its end, with as many records as
// its entry says.
func (r *repairer) readableVersion(ctx context.Context, d *snapshot.DeleteFile) (*storage.Object, string, error) {
	versions, err := r.versionsOf(ctx, d.Path)
	if err != nil {
		return nil, "", err
	}
	for _, v := range versions {
		object := r.table.Store.ObjectVersion(d.Path, v)
		var records int64
		err := positiondelete.Read(ctx, positiondelete.File{Location: d.Path, Source: object, Format: d.Format, Size: v.Size}, func(_ []byte, positions []int64) error {
			records += int64(len(positions))
			return nil
		})
		switch {
		case err == nil && records == d.Records:
			return object, versionNote(v, fmt.Sprintf("all %d records", records)), nil
		case err == nil, positiondelete.Unreadable(err):
		default:
			return nil, "", fmt.Errorf("%s, version %s: %w", d.Path, v.ID, err)
		}
	}
	return nil, "", nil
}
