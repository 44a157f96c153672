package check

import (
	"context"
	"fmt"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// retire notes that the Puffin file of live deletion vectors held one that is dropped.
func (h *history) retire(d *drop) {
	if d.IsDV() {
		h.retireVector(d.FileID, d.Referenced)
	}
}

func (h *history) retireVector(id snapshot.FileID, dataFile string) {
	if _, known := h.retired[id.Path]; !known && h.live[id] == nil && h.puffins[id.Path] != nil {
		h.retired[id.Path] = dataFile
	}
}

// colifetime reports live deletion vectors that share their Puffin file with a retired one. The clean-up of the reference
// deletes the file of a removed entry when the snapshot that removed it expires, whatever else is in it. Removed entries
// are in the manifests of the head until some commit rewrites these, and what they removed was live in an ancestor.
func (h *history) colifetime(ctx context.Context) error {
	if !h.options.wants(colifetime) || len(h.live) == 0 {
		return nil
	}
	if err := h.removed(ctx); err != nil {
		return err
	}
	for location, dataFile := range h.retired {
		for _, d := range h.puffins[location] {
			if d.Unbound() {
				continue // which has a name of its own
			}
			f := of(colifetime, d)
			f.Detail = fmt.Sprintf("its Puffin file also holds a removed deletion vector of %s: expiring the snapshots that had it may delete the file", dataFile)
			h.add(f)
		}
	}
	return nil
}

// removed looks for removed entries in the manifests of the head that count any.
func (h *history) removed(ctx context.Context) error {
	none, some := map[string]bool{}, false
	for _, m := range h.survey.State.Manifests {
		none[m.FilePath()] = m.DeletedDataFiles() == 0
		some = some || m.ManifestContent() == iceberg.ManifestContentDeletes && m.DeletedDataFiles() != 0
	}
	if !some {
		return nil
	}
	_, err := snapshot.Mentioned(ctx, h.files, h.head, none, func(f iceberg.DataFile) { // all of them were readable before
		if snapshot.FormatOf(f) == iceberg.PuffinFile {
			h.retireVector(snapshot.IDOf(f), optional(f.ReferencedDataFile()))
		}
	})
	return err
}
