// Package judge says what is wrong with a commit of the program: it reads the snapshot and its parent back from storage
// with iceberg-go's readers, shares no code with the program, and knows the invariants of a content-preserving commit.
package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/stretchr/testify/require"
)

// Commit judges the change from one version of a table's metadata to the next, which added exactly one snapshot of the
// program. Every violation is one error, named by the invariant: A content, B deletes, C metadata.
func Commit(t require.TestingT, fs iceio.IO, before, after table.Metadata) error {
	return judge(&commit{t: t, fs: fs, before: before, after: after, deletesOf: testlake.ReadSnapshot})
}

// Damaged judges a commit to a table that was wrong before: what a strict reader refuses to read may still be refused
// after it, for the same reason. Whether what it can read now is right is up to the caller.
func Damaged(t require.TestingT, fs iceio.IO, before, after table.Metadata) error {
	return judge(&commit{t: t, fs: fs, before: before, after: after, deletesOf: testlake.ReadDamagedSnapshot})
}

func judge(c *commit) error {
	if err := c.find(); err != nil {
		return err
	}
	c.old, c.now = c.read(c.parent), c.read(c.snap)
	c.content()
	c.deletes()
	c.entries()
	c.manifests()
	c.metadata()
	c.summary()
	return errors.Join(c.wrong...)
}

// commit is what is judged.
type commit struct {
	t             require.TestingT
	fs            iceio.IO
	before, after table.Metadata
	parent, snap  *table.Snapshot
	ref           string
	deletesOf     func(require.TestingT, iceio.IO, *table.Snapshot) *testlake.Deletes
	old, now      *state
	wrong         []error
}

// state is a snapshot as read from storage.
type state struct {
	*testlake.Deletes
	manifests []iceberg.ManifestFile
	entries   []entry
	ours      []entry // live or DELETED entries of manifests that the snapshot wrote
}

// entry is a manifest entry with where it is.
type entry struct {
	iceberg.ManifestEntry
	file     iceberg.DataFile
	manifest iceberg.ManifestFile
}

// id tells delete entries apart: path, offset, length.
func (e entry) id() string {
	if e.file.FileFormat() != iceberg.PuffinFile {
		return e.file.FilePath()
	}
	return fmt.Sprintf("%s@%d+%d", e.file.FilePath(), value(e.file.ContentOffset()), value(e.file.ContentSizeInBytes()))
}

// text is everything about a live entry that may not change when it is carried to another manifest.
func (e entry) text() string {
	ref := ""
	if r := e.file.ReferencedDataFile(); r != nil {
		ref = *r
	}
	return fmt.Sprintf("%s %v seq %d/%d snapshot %d, %d records, %d bytes, %s, spec %d %v, equality %v, bounds %v %v", e.id(), e.file.ContentType(),
		e.SequenceNum(), value(e.FileSequenceNum()), e.SnapshotID(), e.file.Count(), e.file.FileSizeBytes(), ref, e.file.SpecID(), e.file.Partition(),
		e.file.EqualityFieldIDs(), e.file.LowerBoundValues(), e.file.UpperBoundValues())
}

func value(p *int64) int64 {
	if p == nil {
		return -1
	}
	return *p
}

func (c *commit) bad(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Errorf(format, args...))
}

// find finds the snapshot that is new, the branch that it is the head of, and its parent.
func (c *commit) find() error {
	for _, s := range c.after.Snapshots() {
		if c.before.SnapshotByID(s.SnapshotID) == nil {
			if c.snap != nil {
				return errors.New("invariant C: more than one new snapshot")
			}
			c.snap = c.after.SnapshotByID(s.SnapshotID)
		}
	}
	if c.snap == nil {
		return errors.New("invariant C: no new snapshot")
	}
	for name, r := range c.after.Refs() {
		if r.SnapshotID == c.snap.SnapshotID {
			c.ref = name
		}
	}
	c.parent = c.before.SnapshotByName(c.ref)
	if c.parent == nil {
		return fmt.Errorf("invariant C3: the snapshot is not the head of a branch that was there: %q", c.ref)
	}
	return nil
}

func (c *commit) read(s *table.Snapshot) *state {
	out := &state{Deletes: c.deletesOf(c.t, c.fs, s)}
	var err error
	out.manifests, err = s.Manifests(c.fs)
	require.NoError(c.t, err)
	for _, m := range out.manifests {
		for e, err := range m.Entries(c.fs, false) {
			require.NoError(c.t, err)
			x := entry{e, e.DataFile(), m}
			if e.Status() != iceberg.EntryStatusDELETED {
				out.entries = append(out.entries, x)
			}
			if m.SnapshotID() == s.SnapshotID {
				out.ours = append(out.ours, x)
			}
		}
	}
	return out
}

// live returns the live entries of a content by identity.
func (s *state) live(keep func(entry) bool) map[string]entry {
	out := map[string]entry{}
	for _, e := range s.entries {
		if keep(e) {
			out[e.id()] = e
		}
	}
	return out
}

func isData(e entry) bool { return e.file.ContentType() == iceberg.EntryContentData }
func isEquality(e entry) bool {
	return e.file.ContentType() == iceberg.EntryContentEqDeletes
}
func isPosition(e entry) bool { return !isData(e) && !isEquality(e) }
func isVector(e entry) bool   { return e.file.FileFormat() == iceberg.PuffinFile }

// content judges A1 to A3: the same data files, deleted positions and equality deletes.
func (c *commit) content() {
	c.same("A1 data file", c.old.live(isData), c.now.live(isData))
	c.same("A3 equality delete file", c.old.live(isEquality), c.now.live(isEquality))
	for path, want := range c.old.Positions {
		if got := c.now.Positions[path]; !slices.Equal(got, want) {
			c.bad("A2 deleted positions of %s: %v, were %v", path, got, want)
		}
	}
	for path, reason := range c.now.Broken {
		if c.old.Broken[path] != reason {
			c.bad("A2 %s cannot be read: %s, before: %q", path, reason, c.old.Broken[path])
		}
	}
	for path, want := range c.old.FirstRowIDs {
		if got := c.now.FirstRowIDs[path]; want != nil && value(got) != value(want) {
			c.bad("A1 first row id of %s: %d, was %d", path, value(got), value(want))
		}
		if c.after.Version() >= 3 && c.now.FirstRowIDs[path] == nil {
			c.bad("A1 first row id of %s: none in a table of version %d", path, c.after.Version())
		}
	}
}

func (c *commit) same(what string, old, now map[string]entry) {
	for id, e := range old {
		if n, ok := now[id]; !ok {
			c.bad("%s %s is gone", what, id)
		} else if n.text() != e.text() {
			c.bad("%s %s: is %s, was %s", what, id, n.text(), e.text())
		}
	}
	for id := range now {
		if _, ok := old[id]; !ok {
			c.bad("%s %s is new", what, id)
		}
	}
}

// deletes judges B1, B2, B5, B8, B9 and B11 of the deletion vectors and position delete files.
func (c *commit) deletes() {
	data := c.now.live(isData)
	vectors := map[string]int{}
	retired := map[string]bool{}
	for id, e := range c.old.live(isPosition) {
		if n, ok := c.now.live(isPosition)[id]; !ok {
			retired[e.file.FilePath()] = true
		} else if n.text() != e.text() {
			c.bad("B9 delete entry %s: is %s, was %s", id, n.text(), e.text())
		}
	}
	old := c.old.live(isPosition)
	for id, e := range c.now.live(isPosition) {
		_, was := old[id]
		switch {
		case !isVector(e) && !was:
			c.positionDeletes(e, data)
		case isVector(e):
			if c.after.Version() < 3 && !was {
				c.bad("B8 deletion vector %s in a table of version %d", id, c.after.Version())
			}
			if retired[e.file.FilePath()] {
				c.bad("B11 deletion vector %s shares its Puffin with a retired one", id)
			}
			if !was {
				c.vector(e, data)
			}
			if ref := e.file.ReferencedDataFile(); ref != nil {
				vectors[*ref]++
			}
		}
	}
	for path, n := range vectors {
		if n > 1 && c.old.Broken[path] == "" {
			c.bad("B1 %d deletion vectors for %s", n, path)
		}
	}
}

// vector judges a new deletion vector.
func (c *commit) vector(e entry, data map[string]entry) {
	path := *e.file.ReferencedDataFile()
	f, ok := data[path]
	if !ok {
		c.bad("B2 deletion vector %s references %s, which is not live", e.id(), path)
		return
	}
	if e.file.SpecID() != f.file.SpecID() || !testlake.EqualTuples(e.file.Partition(), f.file.Partition()) {
		c.bad("B2 deletion vector of %s: spec %d %v, data file has %d %v", path, e.file.SpecID(), e.file.Partition(), f.file.SpecID(), f.file.Partition())
	}
	if want := c.sourceSeq(path, f, f.SequenceNum()); e.SequenceNum() != want {
		c.bad("C7 deletion vector of %s: data sequence number %d, its sources have %d", path, e.SequenceNum(), want)
	}
	if value(e.FileSequenceNum()) != c.snap.SequenceNumber || e.SnapshotID() != c.snap.SnapshotID || e.Status() != iceberg.EntryStatusADDED {
		c.bad("C7 deletion vector of %s: status %v, file sequence number %d, snapshot %d", path, e.Status(), value(e.FileSequenceNum()), e.SnapshotID())
	}
	n := int64(0)
	for _, r := range c.now.Positions[path] {
		n += r[1] - r[0] + 1
		if r[1] >= f.file.Count() {
			c.bad("B5 deletion vector of %s: position %d of %d rows", path, r[1], f.file.Count())
		}
	}
	if n != e.file.Count() {
		c.bad("B4 deletion vector of %s: %d positions, record count %d", path, n, e.file.Count())
	}
}

// sourceSeq returns the largest data sequence number of the deletes that a data file had.
func (c *commit) sourceSeq(path string, f entry, since int64) int64 {
	var vector, files int64 = -1, -1
	for _, e := range c.old.entries {
		ref := e.file.ReferencedDataFile()
		switch {
		case isVector(e) && ref != nil && *ref == path:
			vector = e.SequenceNum()
		case isPosition(e) && !isVector(e) && e.SequenceNum() >= since && (ref == nil || *ref == path) &&
			e.file.SpecID() == f.file.SpecID() && testlake.EqualTuples(e.file.Partition(), f.file.Partition()) &&
			slices.ContainsFunc(testlake.Records(c.t, c.fs, e.file.FilePath())[path], func(int64) bool { return true }):
			files = max(files, e.SequenceNum())
		}
	}
	return max(vector, files)
}

// entries judges C7 of the entries that the snapshot's own manifests carry.
func (c *commit) entries() {
	for _, e := range c.now.ours {
		switch {
		case isData(e):
			c.bad("C5 data manifest %s was written anew", e.manifest.FilePath())
		case e.Status() == iceberg.EntryStatusDELETED:
			if e.SnapshotID() != c.snap.SnapshotID {
				c.bad("C7 removed entry %s has snapshot %d", e.id(), e.SnapshotID())
			}
			was, ok := c.old.live(isPosition)[e.id()]
			if !ok {
				c.bad("B9 removed entry %s was not live", e.id())
			} else if was.SequenceNum() != e.SequenceNum() || value(was.FileSequenceNum()) != value(e.FileSequenceNum()) {
				c.bad("C7 removed entry %s: sequence numbers %d/%d, were %d/%d", e.id(), e.SequenceNum(), value(e.FileSequenceNum()), was.SequenceNum(), value(was.FileSequenceNum()))
			}
		}
	}
}

// manifests judges C5 and C6.
func (c *commit) manifests() {
	paths := func(list []iceberg.ManifestFile) (out []string) {
		for _, m := range list {
			if m.ManifestContent() == iceberg.ManifestContentData {
				out = append(out, fmt.Sprintf("%s %d", m.FilePath(), m.Length()))
			}
		}
		return out
	}
	if old, now := paths(c.old.manifests), paths(c.now.manifests); !slices.Equal(slices.Sorted(slices.Values(old)), slices.Sorted(slices.Values(now))) {
		c.bad("C5 data manifests %v, were %v", now, old)
	}
	for _, m := range c.now.manifests {
		if m.ManifestContent() == iceberg.ManifestContentDeletes && m.FirstRowID() != nil {
			c.bad("C5 delete manifest %s has a first row id", m.FilePath())
		}
		if m.SnapshotID() == c.snap.SnapshotID {
			c.manifest(m)
		}
	}
}

// manifest compares the record of a new manifest with its content.
func (c *commit) manifest(m iceberg.ManifestFile) {
	counts, rows := map[iceberg.ManifestEntryStatus]int32{}, map[iceberg.ManifestEntryStatus]int64{}
	least := int64(-1)
	for _, e := range c.now.ours {
		if e.manifest.FilePath() != m.FilePath() {
			continue
		}
		counts[e.Status()]++
		rows[e.Status()] += e.file.Count()
		if e.Status() != iceberg.EntryStatusDELETED && (least < 0 || e.SequenceNum() < least) {
			least = e.SequenceNum()
		}
		if e.file.SpecID() != m.PartitionSpecID() {
			c.bad("C6 manifest %s of spec %d lists %s of spec %d", m.FilePath(), m.PartitionSpecID(), e.id(), e.file.SpecID())
		}
	}
	if least < 0 {
		least = c.snap.SequenceNumber // only removed entries
	}
	got := []int64{int64(m.AddedDataFiles()), int64(m.ExistingDataFiles()), int64(m.DeletedDataFiles()), m.AddedRows(), m.ExistingRows(), m.DeletedRows(), m.MinSequenceNum(), m.SequenceNum()}
	a, x, d := iceberg.EntryStatusADDED, iceberg.EntryStatusEXISTING, iceberg.EntryStatusDELETED
	want := []int64{int64(counts[a]), int64(counts[x]), int64(counts[d]), rows[a], rows[x], rows[d], least, c.snap.SequenceNumber}
	if !slices.Equal(got, want) {
		c.bad("C6 manifest %s: counts, rows, min and own sequence number %v, its entries say %v", m.FilePath(), got, want)
	}
	if counts[a]+counts[x]+counts[d] == 0 {
		c.bad("C6 manifest %s is empty", m.FilePath())
	}
}

// metadata judges C1, C3, C4 and C9.
func (c *commit) metadata() {
	if c.snap.Summary.Operation != table.OpReplace {
		c.bad("C1 operation %s", c.snap.Summary.Operation)
	}
	if value(c.snap.ParentSnapshotID) != c.parent.SnapshotID || c.snap.SequenceNumber != c.before.LastSequenceNumber()+1 || c.snap.TimestampMs < c.parent.TimestampMs {
		c.bad("C3 parent %d (is %d), sequence number %d after %d, time %d after %d", value(c.snap.ParentSnapshotID), c.parent.SnapshotID,
			c.snap.SequenceNumber, c.before.LastSequenceNumber(), c.snap.TimestampMs, c.parent.TimestampMs)
	}
	if c.after.Version() >= 3 {
		c.rowIDs()
	}
	refs := func(m table.Metadata) map[string]table.SnapshotRef {
		out := maps.Collect(m.Refs())
		r := out[c.ref]
		r.SnapshotID = 0
		out[c.ref] = r
		return out
	}
	for what, pair := range map[string][2]any{
		"refs": {refs(c.before), refs(c.after)}, "schemas": {c.before.Schemas(), c.after.Schemas()}, "specs": {c.before.PartitionSpecs(), c.after.PartitionSpecs()},
		"location": {c.before.Location(), c.after.Location()}, "uuid": {c.before.TableUUID(), c.after.TableUUID()},
		"current schema": {c.before.CurrentSchema().ID, c.after.CurrentSchema().ID}, "default spec": {c.before.DefaultPartitionSpec(), c.after.DefaultPartitionSpec()},
		"properties": {withoutFormat(c.before.Properties()), withoutFormat(c.after.Properties())}, "snapshots": {len(c.before.Snapshots()) + 1, len(c.after.Snapshots())},
	} {
		if was, is := c.json(pair[0]), c.json(pair[1]); was != is {
			c.bad("C9 %s: %s, were %s", what, is, was)
		}
	}
}

func (c *commit) json(v any) string {
	data, err := json.Marshal(v)
	require.NoError(c.t, err)
	return string(data)
}

func withoutFormat(p iceberg.Properties) iceberg.Properties {
	p = maps.Clone(p)
	delete(p, "format-version")
	return p
}

// rowIDs judges C4: only data manifests without a first row id use row ids up.
func (c *commit) rowIDs() {
	var added int64
	for _, m := range c.old.manifests {
		if m.ManifestContent() == iceberg.ManifestContentData && m.FirstRowID() == nil {
			added += m.AddedRows() + m.ExistingRows()
		}
	}
	if value(c.snap.FirstRowID) != c.before.NextRowID() || value(c.snap.AddedRows) != added || c.after.NextRowID() != c.before.NextRowID()+added {
		c.bad("C4 first-row-id %d, added-rows %d, next-row-id %d; want %d, %d, %d", value(c.snap.FirstRowID), value(c.snap.AddedRows), c.after.NextRowID(),
			c.before.NextRowID(), added, c.before.NextRowID()+added)
	}
}
