package repair

import (
	"context"

	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// version looks for a sound deletion vector in older versions of its Puffin file, where the store keeps them.
func (r *repairer) version(ctx context.Context, d *snapshot.DeleteFile, file *snapshot.DataFile) (*puffin.Bitmap, string, error) {
	return nil, "", nil
}
