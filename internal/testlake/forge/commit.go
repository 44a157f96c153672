package forge

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"
)

// Change is one snapshot. The zero value of a field is what a healthy writer does.
type Change struct {
	Ref       string          // branch; default "main", made when there is none
	Operation table.Operation // default "overwrite"
	Add       []Added
	Remove    func(iceberg.DataFile) bool // live entries to mark DELETED

	Summary map[string]string
	// Merge writes all live entries of each content and spec into one manifest.
	Merge bool
	// Forget leaves the manifests with only DELETED entries of earlier snapshots out of the list, as some writers do and
	// others do not.
	Forget bool

	// Schema is what manifests are written with instead of the newest one that has the spec's source columns.
	Schema *iceberg.Schema
	// Bytes changes a manifest's content before it is written.
	Bytes func(content iceberg.ManifestContent, data []byte) []byte
	// Record changes what the manifest list says about a manifest.
	Record func(m iceberg.ManifestFile, b *iceberg.ManifestBuilder)
	// Version is the format version of new manifests; default that of the table.
	Version int
	// EntryID is the snapshot id that added and removed entries get instead of this snapshot's.
	EntryID int64
	// List changes which manifests the manifest list has, and their order.
	List func([]iceberg.ManifestFile) []iceberg.ManifestFile
	// Timestamp of the snapshot in milliseconds; default: one after the newest.
	Timestamp int64
}

// AsVersion2, as Bytes of a change of Version 3, makes a manifest with the fields of format version 3 say in its header that
// it is of version 2. The library writes referenced_data_file of position delete files in no other way.
func AsVersion2(_ iceberg.ManifestContent, data []byte) []byte {
	return bytes.Replace(data, []byte("\x1cformat-version\x023"), []byte("\x1cformat-version\x022"), 1)
}

// Added is an entry to add: a data file or a delete file.
type Added struct {
	File iceberg.DataFile
	Seq  *int64 // explicit data sequence number; nil inherits the snapshot's
	// Existing writes the entry with status EXISTING as of an earlier snapshot, whose file sequence number it is.
	Existing *Origin
}

// Origin is the snapshot that an entry was added by.
type Origin struct{ SnapshotID, FileSeq int64 }

// Files are entries that inherit their sequence number.
func Files(files ...iceberg.DataFile) []Added {
	out := make([]Added, len(files))
	for i, f := range files {
		out[i].File = f
	}
	return out
}

// kind is what one manifest has in common.
type kind struct {
	content iceberg.ManifestContent
	spec    int
}

// commit is the making of one snapshot.
type commit struct {
	lake   *Lake
	change Change
	meta   table.Metadata
	parent *table.Snapshot
	id     int64
}

// Commit writes a snapshot and commits it to its branch. Another writer's commit in between fails the test.
func (l *Lake) Commit(c Change) *table.Snapshot {
	if c.Ref == "" {
		c.Ref = "main"
	}
	if c.Operation == "" {
		c.Operation = table.OpOverwrite
	}
	t := l.Load()
	w := &commit{lake: l, change: c, meta: t.Metadata, parent: t.Metadata.SnapshotByName(c.Ref), id: l.next()}
	snap := w.snapshot(w.manifests())
	requirements := []table.Requirement{table.AssertTableUUID(t.Metadata.TableUUID())}
	updates := []table.Update{table.NewAddSnapshotUpdate(snap), table.NewSetSnapshotRefUpdate(c.Ref, snap.SnapshotID, table.BranchRef, 0, 0, 0)}
	require.NoError(l.t, l.Catalog.Commit(context.Background(), t, requirements, updates))
	return snap
}

// next numbers names and snapshots.
func (l *Lake) next() int64 {
	l.count++
	return l.count
}

// manifests writes the manifests that change and returns the list of the snapshot.
func (w *commit) manifests() []iceberg.ManifestFile {
	var out []iceberg.ManifestFile
	added := map[kind][]iceberg.ManifestEntry{}
	for _, a := range w.change.Add {
		content := iceberg.ManifestContentDeletes
		if a.File.ContentType() == iceberg.EntryContentData {
			content = iceberg.ManifestContentData
		}
		k := kind{content, int(a.File.SpecID())}
		e := iceberg.NewManifestEntry(iceberg.EntryStatusADDED, &w.id, a.Seq, nil, a.File)
		if o := a.Existing; o != nil {
			e = iceberg.NewManifestEntry(iceberg.EntryStatusEXISTING, &o.SnapshotID, a.Seq, &o.FileSeq, a.File)
		}
		added[k] = append(added[k], e)
	}
	kept := map[kind][]iceberg.ManifestEntry{}
	if w.parent != nil {
		old, err := w.parent.Manifests(w.lake.IO())
		require.NoError(w.lake.t, err)
		for _, m := range old {
			out = append(out, w.carry(m, kept)...)
		}
	}
	for _, k := range sortedKinds(kept) {
		out = append(out, w.write(k, kept[k]))
	}
	for _, k := range sortedKinds(added) {
		out = append(out, w.write(k, added[k]))
	}
	if w.change.List != nil {
		out = w.change.List(out)
	}
	return out
}

func sortedKinds(m map[kind][]iceberg.ManifestEntry) []kind {
	return slices.SortedFunc(maps.Keys(m), func(a, b kind) int { return (a.spec-b.spec)*2 + int(a.content-b.content) })
}

// carry returns what the list gets for a manifest of the parent: itself, a rewritten one, or nothing when its live
// entries are to be merged.
func (w *commit) carry(m iceberg.ManifestFile, kept map[kind][]iceberg.ManifestEntry) []iceberg.ManifestFile {
	live := m.HasAddedFiles() || m.HasExistingFiles()
	if !live && w.change.Forget {
		return nil
	}
	if !live || w.change.Remove == nil && !w.change.Merge {
		return []iceberg.ManifestFile{m}
	}
	k := kind{m.ManifestContent(), int(m.PartitionSpecID())}
	var entries []iceberg.ManifestEntry
	touched := false
	for e, err := range m.Entries(w.lake.IO(), true) {
		require.NoError(w.lake.t, err)
		status := iceberg.EntryStatusEXISTING
		if w.change.Remove != nil && w.change.Remove(e.DataFile()) {
			touched, status = true, iceberg.EntryStatusDELETED
		}
		id, seq := e.SnapshotID(), e.SequenceNum()
		entries = append(entries, iceberg.NewManifestEntry(status, &id, &seq, e.FileSequenceNum(), e.DataFile()))
	}
	switch {
	case w.change.Merge:
		kept[k] = append(kept[k], entries...)
	case touched:
		return []iceberg.ManifestFile{w.write(k, entries)}
	default:
		return []iceberg.ManifestFile{m}
	}
	return nil
}

// write writes one manifest.
func (w *commit) write(k kind, entries []iceberg.ManifestEntry) iceberg.ManifestFile {
	t := w.lake.t
	spec := w.meta.PartitionSpecByID(k.spec)
	require.NotNil(t, spec, "spec %d", k.spec)
	schema := w.change.Schema
	if schema == nil {
		schema = w.schemaFor(spec)
	}
	var buf bytes.Buffer
	mw, err := iceberg.NewManifestWriter(cmp.Or(w.change.Version, w.meta.Version()), &buf, named(spec), schema, cmp.Or(w.change.EntryID, w.id), iceberg.WithManifestWriterContent(k.content))
	require.NoError(t, err)
	for _, e := range entries {
		put := map[iceberg.ManifestEntryStatus]func(iceberg.ManifestEntry) error{
			iceberg.EntryStatusADDED: mw.Add, iceberg.EntryStatusEXISTING: mw.Existing, iceberg.EntryStatusDELETED: mw.Delete,
		}
		require.NoError(t, put[e.Status()](e))
	}
	require.NoError(t, mw.Close())
	data := buf.Bytes()
	if w.change.Bytes != nil {
		data = w.change.Bytes(k.content, data)
	}
	location := fmt.Sprintf("%s/metadata/m%05d.avro", w.lake.At, w.lake.next())
	m, err := mw.ToManifestFile(location, int64(len(data)))
	require.NoError(t, err)
	w.lake.Put(location, data)
	return w.record(m)
}

// named gives the fields of a spec names that every Avro library takes: p and their ids.
func named(spec *iceberg.PartitionSpec) iceberg.PartitionSpec {
	var fields []iceberg.PartitionField
	for _, f := range spec.Fields() {
		f.Name = fmt.Sprintf("p%d", f.FieldID)
		fields = append(fields, f)
	}
	return iceberg.NewPartitionSpecID(spec.ID(), fields...)
}

// record lets the change have its way with the manifest list's record of a manifest.
func (w *commit) record(m iceberg.ManifestFile) iceberg.ManifestFile {
	if w.change.Record == nil && w.change.EntryID == 0 && w.change.Version == 0 {
		return m
	}
	b := iceberg.NewManifestFile(w.meta.Version(), m.FilePath(), m.Length(), m.PartitionSpecID(), w.id).Content(m.ManifestContent()).
		SequenceNum(m.SequenceNum(), m.MinSequenceNum()).Partitions(m.Partitions()).
		AddedFiles(m.AddedDataFiles()).ExistingFiles(m.ExistingDataFiles()).DeletedFiles(m.DeletedDataFiles()).
		AddedRows(m.AddedRows()).ExistingRows(m.ExistingRows()).DeletedRows(m.DeletedRows())
	if w.change.Record != nil {
		w.change.Record(m, b)
	}
	return b.Build()
}

// schemaFor returns the newest schema that has the source columns of a spec.
func (w *commit) schemaFor(spec *iceberg.PartitionSpec) *iceberg.Schema {
	schemas := slices.SortedFunc(slices.Values(w.meta.Schemas()), func(a, b *iceberg.Schema) int { return b.ID - a.ID })
	i := slices.IndexFunc(schemas, func(s *iceberg.Schema) bool {
		for _, f := range spec.Fields() {
			if _, ok := s.FindFieldByID(f.SourceIDs[0]); !ok {
				return false
			}
		}
		return true
	})
	require.GreaterOrEqual(w.lake.t, i, 0, "no schema for spec %d", spec.ID())
	return schemas[i]
}

// snapshot writes the manifest list.
func (w *commit) snapshot(manifests []iceberg.ManifestFile) *table.Snapshot {
	t := w.lake.t
	snap := &table.Snapshot{
		SnapshotID: w.id, SequenceNumber: w.meta.LastSequenceNumber() + 1, TimestampMs: w.change.Timestamp,
		ManifestList: fmt.Sprintf("%s/metadata/snap-%d.avro", w.lake.At, w.id), SchemaID: &w.meta.CurrentSchema().ID,
		Summary: &table.Summary{Operation: w.change.Operation, Properties: w.change.Summary},
	}
	if snap.TimestampMs == 0 {
		snap.TimestampMs = w.meta.LastUpdatedMillis() + 1
	}
	if w.parent != nil {
		snap.ParentSnapshotID = &w.parent.SnapshotID
	}
	var buf bytes.Buffer
	var list *iceberg.ManifestListWriter
	var err error
	if w.meta.Version() >= 3 {
		first := w.meta.NextRowID()
		snap.FirstRowID = &first
		list, err = iceberg.NewManifestListWriterV3(&buf, w.id, snap.SequenceNumber, first, snap.ParentSnapshotID)
	} else {
		list, err = iceberg.NewManifestListWriterV2(&buf, w.id, snap.SequenceNumber, snap.ParentSnapshotID)
	}
	require.NoError(t, err)
	require.NoError(t, list.AddManifests(manifests))
	require.NoError(t, list.Close())
	if snap.FirstRowID != nil {
		added := *list.NextRowID() - *snap.FirstRowID
		snap.AddedRows = &added
	}
	w.lake.Put(snap.ManifestList, buf.Bytes())
	return snap
}
