package verify

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// snapshot compares what the table metadata says of the snapshot.
func (c *checker) snapshot() {
	s, before := c.snap, c.Before.Metadata
	operation := table.Operation("")
	if s.Summary != nil {
		operation = s.Summary.Operation
	}
	want(c, "C1", "operation", operation, c.Operation)
	c.compared("C1", 1, "operation %s", c.Operation)
	if s.ParentSnapshotID == nil {
		c.differ("C3", "there is no parent, want %d", c.parent.SnapshotID)
	} else {
		want(c, "C3", "parent", *s.ParentSnapshotID, c.parent.SnapshotID)
	}
	want(c, "C3", "sequence number", s.SequenceNumber, before.LastSequenceNumber()+1)
	if s.TimestampMs < c.parent.TimestampMs {
		c.differ("C3", "timestamp %d is before the parent's %d", s.TimestampMs, c.parent.TimestampMs)
	}
	c.compared("C3", 3, "parent, sequence number, timestamp")
	c.lineage()
}

// lineage compares the row ids that the snapshot took with the rows that had none.
func (c *checker) lineage() {
	s, before, after := c.snap, c.Before.Metadata, c.After.Metadata
	if after.Version() < 3 {
		return
	}
	if s.FirstRowID == nil || s.AddedRows == nil {
		c.differ("C4", "first-row-id or added-rows is missing")
		return
	}
	var rows int64
	for _, m := range c.Parent.Manifests {
		if m.ManifestContent() == iceberg.ManifestContentData && m.FirstRowID() == nil {
			rows += m.AddedRows() + m.ExistingRows()
		}
	}
	want(c, "C4", "first-row-id", *s.FirstRowID, before.NextRowID())
	want(c, "C4", "added-rows", *s.AddedRows, rows)
	next := before.NextRowID() + rows
	if c.successor() {
		want(c, "C4", "next-row-id of the table", after.NextRowID(), next)
	} else if after.NextRowID() < next {
		c.differ("C4", "next-row-id of the table is %d, want at least %d", after.NextRowID(), next)
	}
	c.compared("C4", 3, "row ids: first-row-id, added-rows %d, the table's next-row-id", rows)
}

// successor says that the metadata that the catalog shows now came right after that which the commit was made on.
func (c *checker) successor() bool {
	last := ""
	for e := range c.After.Metadata.PreviousFiles() {
		last = e.MetadataFile
	}
	return last != "" && last == c.Before.MetadataLocation
}

// metadata compares everything that the commit had no reason to change. When another commit came in between or after,
// nobody can tell whose change a difference is: then only what no commit may change is compared.
func (c *checker) metadata() {
	before, after := c.Before.Metadata, c.After.Metadata
	want(c, "C9", "table-uuid", after.TableUUID(), before.TableUUID())
	if !c.successor() {
		c.compared("C9", 1, "table uuid; the rest of the metadata cannot be told from what other commits changed")
		return
	}
	if after.SnapshotByID(c.parent.SnapshotID) == nil {
		c.differ("C10", "the parent is no longer in the table")
	}
	c.version()
	fields := c.fields()
	refs := c.refs()
	snapshots := c.snapshots()
	c.compared("C9", fields+refs+snapshots, "metadata: %d other fields, %d other refs, %d other snapshots", fields, refs, snapshots)
}

func (c *checker) version() {
	version := c.Before.Metadata.Version()
	if c.Upgrade {
		version = max(version, 3)
	}
	want(c, "C9", "format-version", c.After.Metadata.Version(), version)
}

// changing are the fields of table metadata that every commit of a snapshot changes, or that are compared on their own.
func changing() []string {
	return []string{"snapshots", "refs", "snapshot-log", "metadata-log", "last-updated-ms", "last-sequence-number", "current-snapshot-id", "next-row-id", "format-version",
		"schema", "partition-spec"} // copies that only version 1 has
}

// fields compares all other top-level fields.
func (c *checker) fields() int {
	before, err := fieldsOf(c.Before.Metadata)
	if err != nil {
		c.differ("C9", "metadata before the commit: %v", err)
		return 0
	}
	after, err := fieldsOf(c.After.Metadata)
	if err != nil {
		c.differ("C9", "metadata: %v", err)
		return 0
	}
	names := slices.Sorted(maps.Keys(after))
	for name := range before {
		if _, ok := after[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if !reflect.DeepEqual(before[name], after[name]) {
			c.differ("C9", "%s of the table changed: %s", name, changeText(before[name], after[name]))
		}
	}
	return len(names)
}

func fieldsOf(m table.Metadata) (map[string]any, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	for _, name := range changing() {
		delete(fields, name)
	}
	if properties, ok := fields["properties"].(map[string]any); ok {
		// Nessie shows the state of its own history as table properties, which every commit changes.
		maps.DeleteFunc(properties, func(key string, _ any) bool { return strings.HasPrefix(key, "nessie.") })
	}
	maps.DeleteFunc(fields, func(_ string, v any) bool { return empty(v) })
	return fields, nil
}

// empty says that a value holds nothing: an empty list and no list are the same.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// changeText names the keys that differ when both are objects; table properties may hold secrets.
func changeText(before, after any) string {
	a, _ := before.(map[string]any)
	b, _ := after.(map[string]any)
	if a == nil && b == nil {
		return fmt.Sprintf("%.200v, was %.200v", after, before)
	}
	differ := map[string]bool{}
	for key, value := range a {
		differ[key] = !reflect.DeepEqual(value, b[key])
	}
	for key, value := range b {
		differ[key] = !reflect.DeepEqual(value, a[key])
	}
	maps.DeleteFunc(differ, func(_ string, d bool) bool { return !d })
	return "key " + strings.Join(slices.Sorted(maps.Keys(differ)), ", ")
}

// refs compares every branch and tag; our own keeps its retention.
func (c *checker) refs() int {
	before, after := maps.Collect(c.Before.Metadata.Refs()), maps.Collect(c.After.Metadata.Refs())
	ours := before[c.Ref]
	ours.SnapshotID = c.snap.SnapshotID
	before[c.Ref] = ours
	for name, ref := range before {
		if got, ok := after[name]; !ok {
			c.differ("C9", "ref %q is gone", name)
		} else if !got.Equals(ref) {
			c.differ("C9", "ref %q is at %d with other settings or another snapshot than %d", name, got.SnapshotID, ref.SnapshotID)
		}
	}
	for name, ref := range after {
		if _, ok := before[name]; !ok && !c.isTag(name, ref) {
			c.differ("C9", "ref %q is new", name)
		}
	}
	if _, ok := after[c.Tag]; c.Tag != "" && !ok {
		c.differ("C9", "the tag %q is not there", c.Tag)
	}
	return len(before) - 1
}

// isTag says whether a ref is the tag that the commit put on its parent.
func (c *checker) isTag(name string, ref table.SnapshotRef) bool {
	return c.Tag != "" && name == c.Tag && ref.SnapshotRefType == table.TagRef && ref.SnapshotID == c.parent.SnapshotID
}

// snapshots compares every snapshot but our own.
func (c *checker) snapshots() int {
	before, after := c.Before.Metadata.Snapshots(), c.After.Metadata.Snapshots()
	for _, s := range before {
		if now := c.After.Metadata.SnapshotByID(s.SnapshotID); now == nil {
			c.differ("C9", "snapshot %d is gone", s.SnapshotID)
		} else if !now.Equals(s) {
			c.differ("C9", "snapshot %d changed", s.SnapshotID)
		}
	}
	want(c, "C9", "number of snapshots", len(after), len(before)+1)
	return len(before)
}
