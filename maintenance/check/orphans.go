package check

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// orphans lists Puffin files below the table's location that no snapshot references and that are old enough not to be
// of a commit under way. Only when there are suspects are the manifests of other snapshots read.
func (c *checker) orphans(ctx context.Context) error {
	if !c.options.wants("puffin-orphan") {
		return nil
	}
	c.options.Progress.Stage("listing Puffin files", 0, "")
	suspects, err := c.unreferenced(ctx)
	if err != nil && ctx.Err() == nil { // not everybody may list
		c.skip(maintenance.Skip{Reason: "puffin-orphan", Location: c.table.Metadata.Location(),
			Detail: err.Error(), Hint: "orphans were not looked for"})
		return nil
	}
	if err != nil || len(suspects) == 0 {
		return err
	}
	for f := range c.table.Metadata.Statistics() {
		delete(suspects, f.StatisticsPath)
	}
	for f := range c.table.Metadata.PartitionStatistics() {
		delete(suspects, f.StatisticsPath)
	}
	known, err := c.history(ctx, suspects)
	if err != nil || !known {
		return err
	}
	for location, o := range suspects {
		c.add(Finding{Issue: "puffin-orphan", Location: location,
			Detail: fmt.Sprintf("%d bytes of %s that no snapshot references", o.Size, o.ModTime.UTC().Format(time.DateTime))})
	}
	return nil
}

// copies is the folder, below the table's location, of what a repair keeps of damaged objects.
const copies = "/metadata/dvcompactor/"

// unreferenced lists old Puffin files without a live deletion vector. Those that a repair copied are kept on purpose.
func (c *checker) unreferenced(ctx context.Context) (map[string]storage.Listed, error) {
	live := c.survey.State.Puffins()
	limit := c.options.Now().Add(-c.options.OrphanAge)
	out := map[string]storage.Listed{}
	root := strings.TrimSuffix(c.table.Metadata.Location(), "/")
	for o, err := range c.table.Store.List(ctx, root+"/") {
		if err != nil {
			return nil, fmt.Errorf("listing: %w", err)
		}
		puffin := strings.HasSuffix(o.Location, ".puffin") && !strings.HasPrefix(o.Location, root+copies)
		if puffin && live[o.Location] == nil && o.ModTime.Before(limit) {
			out[o.Location] = o
		}
	}
	return out, nil
}

// history takes out the suspects that any snapshot mentions, and says whether all of them could be asked.
func (c *checker) history(ctx context.Context, suspects map[string]storage.Listed) (bool, error) {
	var mu sync.Mutex
	read := map[string]bool{}
	for i := range c.table.Metadata.Snapshots() {
		snap := &c.table.Metadata.Snapshots()[i]
		ok, err := snapshot.Mentioned(ctx, c.table.Store.FileIO(ctx), snap, read, func(f iceberg.DataFile) {
			mu.Lock()
			defer mu.Unlock()
			delete(suspects, f.FilePath())
		})
		if err != nil {
			return false, err
		}
		if !ok {
			c.skip(maintenance.Skip{Reason: "puffin-orphan", Location: snap.ManifestList,
				Detail: fmt.Sprintf("the manifests of snapshot %d cannot all be read, so that nobody knows which Puffin files it references", snap.SnapshotID)})
			return false, nil
		}
	}
	return true, nil
}
