package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/snapshot"
	"golang.org/x/sync/errgroup"
)

// entries are the delete entries of the manifests that came and went.
type entries struct {
	old     map[snapshot.FileID][]entry // live ones of the manifests that went, not yet found in those that came
	oldSize int
	added   map[snapshot.FileID]bool
	removed []iceberg.DataFile // DELETED ones
	delta   delta
}

// entry is what is kept of an entry to compare it.
type entry struct {
	text       [sha256.Size]byte // of every field of the file: the text itself would be most of the memory
	seq        int64
	fileSeq    int64
	snapshotID int64
	equality   bool
}

// manifests reads the manifests that came and went and compares their entries, each once, field by field.
func (c *checker) manifests(ctx context.Context) error {
	c.found = entries{old: map[snapshot.FileID][]entry{}, added: map[snapshot.FileID]bool{}}
	if err := c.rememberOld(ctx); err != nil {
		return err
	}
	for _, m := range c.came {
		if err := c.manifest(ctx, m); err != nil {
			return fmt.Errorf("manifest %s: %w", m.FilePath(), err)
		}
	}
	for id, left := range c.found.old {
		for _, e := range left {
			name := "B9"
			if e.equality {
				name = "A3"
			}
			c.differ(name, "delete entry %s is gone", idText(id))
		}
	}
	c.leftOut()
	n := len(c.came)
	c.compared("C6", n, "%d new manifests: header, length, counts, min_sequence_number and partition summaries are those of their entries", n)
	c.compared("C7", c.found.oldSize+len(c.found.added), "snapshot ids and sequence numbers of %d entries", c.found.oldSize+len(c.found.added))
	c.compared("B9", c.found.oldSize+len(c.found.added), "delete entries, field by field: %d added, %d removed, %d kept; the other manifests were not touched", len(c.found.added), len(c.found.removed), c.found.oldSize-len(c.found.removed))
	return nil
}

// leftOut finds what was meant and did not happen.
func (c *checker) leftOut() {
	for _, v := range c.Added {
		if !c.found.added[v.id()] {
			c.differ("B9", "the deletion vector %s of %s was not added", idText(v.id()), v.DataFile.Path)
		}
	}
	gone := map[snapshot.FileID]bool{}
	for _, f := range c.found.removed {
		gone[snapshot.IDOf(f)] = true
	}
	for _, f := range c.AddedFiles {
		if !c.found.added[fileID(f)] {
			c.differ("B9", "the position delete file %s was not added", f.Location)
		}
	}
	for id := range c.Removed {
		if !gone[id] {
			c.differ("B9", "delete entry %s was not removed", idText(id))
		}
	}
}

func idText(id snapshot.FileID) string {
	if id.Offset < 0 && id.Length < 0 {
		return id.Path
	}
	return fmt.Sprintf("%s at %d+%d", id.Path, id.Offset, id.Length)
}

func entryOf(e iceberg.ManifestEntry) (entry, error) {
	text, err := snapshot.FileText(e.DataFile())
	out := entry{text: sha256.Sum256([]byte(text)), seq: e.SequenceNum(), fileSeq: -1, snapshotID: e.SnapshotID(), equality: e.DataFile().ContentType() == iceberg.EntryContentEqDeletes}
	if n := e.FileSequenceNum(); n != nil {
		out.fileSeq = *n
	}
	return out, err
}

// rememberOld reads the manifests that went.
func (c *checker) rememberOld(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, c.Parallelism))
	var mu sync.Mutex
	for _, m := range c.gone {
		g.Go(func() error {
			for e, err := range snapshot.WholeEntries(ctx, c.Old, m) {
				if err == nil {
					err = c.remember(&mu, e)
				}
				if err != nil {
					return fmt.Errorf("manifest %s: %w", m.FilePath(), err)
				}
			}
			return nil
		})
	}
	return g.Wait()
}

func (c *checker) remember(mu *sync.Mutex, e iceberg.ManifestEntry) error {
	id := snapshot.IDOf(e.DataFile())
	kept, err := entryOf(e)
	mu.Lock()
	defer mu.Unlock()
	c.found.old[id] = append(c.found.old[id], kept)
	c.found.oldSize++
	return err
}

// manifest compares one new manifest.
func (c *checker) manifest(ctx context.Context, m iceberg.ManifestFile) error {
	want(c, "C6", "snapshot id of "+m.FilePath(), m.SnapshotID(), c.snap.SnapshotID)
	want(c, "C6", "sequence number of "+m.FilePath(), m.SequenceNum(), c.snap.SequenceNumber)
	if m.FirstRowID() != nil {
		c.differ("C5", "delete manifest %s has a first_row_id", m.FilePath())
	}
	stored, err := snapshot.ReadStored(ctx, c.New, m, c.entry)
	var store *storage.Error
	switch {
	case errors.As(err, &store):
		return err
	case err != nil:
		c.differ("C6", "manifest %s: %v", m.FilePath(), err)
		return nil
	}
	for key, value := range map[string]string{"content": "deletes", "partition-spec-id": fmt.Sprint(m.PartitionSpecID())} {
		want(c, "C6", key+" in the header of "+m.FilePath(), string(stored.Header[key]), value)
	}
	recounted := stored.Recounted
	minimum := recounted.MinSequenceNum()
	if minimum < 0 {
		minimum = c.snap.SequenceNumber // nothing in it is live
	}
	want(c, "C6", "min_sequence_number of "+m.FilePath(), m.MinSequenceNum(), minimum)
	want(c, "C6", "length of "+m.FilePath(), m.Length(), recounted.Length())
	want(c, "C6", "counts of "+m.FilePath(), countsOf(m), countsOf(recounted))
	if got, want := m.Partitions(), recounted.Partitions(); !sameSummaries(got, want) {
		c.differ("C6", "partition summaries of %s are %s, want %s", m.FilePath(), summariesText(got), summariesText(want))
	}
	return nil
}

// entry compares one entry of a new manifest with what it has to be.
func (c *checker) entry(e iceberg.ManifestEntry) error {
	got, err := entryOf(e)
	if err != nil {
		return err
	}
	id := snapshot.IDOf(e.DataFile())
	if e.Status() == iceberg.EntryStatusADDED {
		c.addedEntry(id, e, got)
		return nil
	}
	was, ok := c.take(id, got)
	if !ok {
		c.differ("B9", "delete entry %s was not there before, or has another file or sequence number", idText(id))
		return nil
	}
	if got.seq != was.seq || got.fileSeq != was.fileSeq {
		c.differ("C7", "delete entry %s has sequence numbers %d and %d, want %d and %d", idText(id), got.seq, got.fileSeq, was.seq, was.fileSeq)
	}
	if e.Status() == iceberg.EntryStatusDELETED {
		want(c, "C7", "snapshot id of the removed entry "+idText(id), got.snapshotID, c.snap.SnapshotID)
		c.removedEntry(id, e)
		return nil
	}
	want(c, "C7", "snapshot id of the entry "+idText(id), got.snapshotID, was.snapshotID)
	return nil
}

// take finds an entry among the old ones, and takes it away: the same file, at best with the same sequence numbers.
func (c *checker) take(id snapshot.FileID, got entry) (entry, bool) {
	left := c.found.old[id]
	best := -1
	for i, e := range left {
		if e.text == got.text && (best < 0 || e.seq == got.seq) {
			best = i
		}
	}
	if best < 0 {
		return entry{}, false
	}
	was := left[best]
	c.found.old[id] = append(left[:best:best], left[best+1:]...)
	return was, true
}

func (c *checker) removedEntry(id snapshot.FileID, e iceberg.ManifestEntry) {
	f := e.DataFile()
	c.found.removed = append(c.found.removed, f)
	c.found.delta.remove(f)
	switch {
	case f.ContentType() == iceberg.EntryContentEqDeletes:
		c.differ("A3", "equality delete file %s was removed", f.FilePath())
	case !c.Removed[id]:
		c.differ("B9", "delete entry %s was removed", idText(id))
	}
}

// addedEntry compares an added entry with the vector that was proved.
func (c *checker) addedEntry(id snapshot.FileID, e iceberg.ManifestEntry, got entry) {
	f := e.DataFile()
	c.found.delta.add(f)
	if meant := c.meantFile(id); meant != nil {
		c.addedFile(meant, id, f, got)
		return
	}
	if snapshot.FormatOf(f) != iceberg.PuffinFile || f.ContentType() != iceberg.EntryContentPosDeletes || c.After.Metadata.Version() < 3 {
		c.differ("B8", "%s, a %s file of %s, was added", idText(id), snapshot.FormatOf(f), f.ContentType())
		return
	}
	if c.found.added[id] {
		c.differ("B9", "the deletion vector %s was added twice", idText(id))
	}
	c.found.added[id] = true
	want(c, "C7", "snapshot id of the added entry "+idText(id), got.snapshotID, c.snap.SnapshotID)
	want(c, "C7", "file sequence number of the added entry "+idText(id), got.fileSeq, -1) // inherited
	v, ok := c.meant(id)
	if !ok {
		c.differ("B9", "the deletion vector %s was added", idText(id))
		return
	}
	want(c, "C7", "data sequence number of "+idText(id), got.seq, v.Seq)
	c.binding(v, f)
}

// fileID identifies a position delete file.
func fileID(f snapshot.NewPositionDeletes) snapshot.FileID {
	return snapshot.FileID{Path: f.Location, Offset: -1, Length: -1}
}

func (c *checker) meantFile(id snapshot.FileID) *snapshot.NewPositionDeletes {
	if c.files == nil {
		c.files = map[snapshot.FileID]*snapshot.NewPositionDeletes{}
		for i := range c.AddedFiles {
			c.files[fileID(c.AddedFiles[i])] = &c.AddedFiles[i]
		}
	}
	return c.files[id]
}

// addedFile compares an added entry with the position delete file that was proved.
func (c *checker) addedFile(meant *snapshot.NewPositionDeletes, id snapshot.FileID, f iceberg.DataFile, got entry) {
	if c.found.added[id] {
		c.differ("B9", "the position delete file %s was added twice", meant.Location)
	}
	c.found.added[id] = true
	want(c, "B8", "content of "+meant.Location, f.ContentType(), iceberg.EntryContentPosDeletes)
	if c.After.Metadata.Version() >= 3 {
		c.differ("B8", "the position delete file %s was added to a table of format version %d", meant.Location, c.After.Metadata.Version())
	}
	want(c, "B2", "referenced data file of "+meant.Location, referenced(f), meant.Referenced)
	want(c, "C7", "snapshot id of the added entry "+meant.Location, got.snapshotID, c.snap.SnapshotID)
	want(c, "C7", "data sequence number of "+meant.Location, got.seq, meant.Seq)
	want(c, "A2", "record count of "+meant.Location, f.Count(), meant.Records)
	want(c, "B10", "file size in the entry of "+meant.Location, f.FileSizeBytes(), meant.Size)
	if key, err := snapshot.PartitionOf(f); err != nil || key != meant.Group.Key {
		c.differ("B2", "spec or partition of %s is not that of its data files", meant.Location)
	}
	if !maps.EqualFunc(f.LowerBoundValues(), meant.Lower, bytes.Equal) || !maps.EqualFunc(f.UpperBoundValues(), meant.Upper, bytes.Equal) {
		c.differ("B2", "column bounds of %s are not those of its records", meant.Location)
	}
	if !maps.Equal(f.ColumnSizes(), meant.ColumnSizes) || !slices.Equal(f.SplitOffsets(), meant.SplitOffsets) {
		c.differ("B2", "column sizes or split offsets of %s are not those of its footer", meant.Location)
	}
}

func (c *checker) meant(id snapshot.FileID) (Vector, bool) {
	if c.vectors == nil {
		c.vectors = map[snapshot.FileID]Vector{}
		for _, v := range c.Added {
			c.vectors[v.id()] = v
		}
	}
	v, ok := c.vectors[id]
	return v, ok
}
