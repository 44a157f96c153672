package maintenance_test

import (
	"bytes"
	"context"
	"io"
	"reflect"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/verify"
	"github.com/dvcompactor/dvcompactor/snapshot"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tampering changes what a run has written and staged right before the catalog commits it: what a reader sees afterwards
// is not what the run meant.
type tampering struct {
	catalog.Catalog
	t   *testing.T
	how func(*staged)
}

func (c *tampering) Commit(ctx context.Context, tbl *catalog.Table, r []table.Requirement, u []table.Update) error {
	s := &staged{t: c.t, table: tbl, updates: u, snap: addedSnapshot(c.t, u)}
	var err error
	s.list, err = s.snap.Manifests(tbl.Store.FileIO(ctx))
	require.NoError(c.t, err)
	c.how(s)
	s.writeList()
	return c.Catalog.Commit(ctx, tbl, r, s.updates)
}

// addedSnapshot returns the snapshot that the updates add, which may be changed in place.
func addedSnapshot(t *testing.T, updates []table.Update) *table.Snapshot {
	for _, u := range updates {
		if u.Action() == table.UpdateAddSnapshot {
			return reflect.ValueOf(u).Elem().FieldByName("Snapshot").Interface().(*table.Snapshot)
		}
	}
	require.FailNow(t, "no snapshot is added")
	return nil
}

// staged is a commit that has not happened yet.
type staged struct {
	t       *testing.T
	table   *catalog.Table
	updates []table.Update
	snap    *table.Snapshot
	list    []iceberg.ManifestFile
}

func (s *staged) put(location string, data []byte) {
	require.NoError(s.t, s.table.Store.WriteFile(s.t.Context(), location, data))
}

func (s *staged) writeList() {
	var list bytes.Buffer
	w, err := s.listWriter(&list)
	require.NoError(s.t, err)
	require.NoError(s.t, w.AddManifests(s.list))
	require.NoError(s.t, w.Close())
	s.put(s.snap.ManifestList, list.Bytes())
}

func (s *staged) listWriter(out io.Writer) (*iceberg.ManifestListWriter, error) {
	if s.version() < 3 {
		return iceberg.NewManifestListWriterV2(out, s.snap.SnapshotID, s.snap.SequenceNumber, s.snap.ParentSnapshotID)
	}
	return iceberg.NewManifestListWriterV3(out, s.snap.SnapshotID, s.snap.SequenceNumber, *s.snap.FirstRowID, s.snap.ParentSnapshotID)
}

// version is the format version of the snapshot.
func (s *staged) version() int {
	if s.snap.FirstRowID == nil {
		return 2
	}
	return 3
}

// find returns the place in the list of the first manifest that the commit wrote and that holds such entries.
func (s *staged) find(status iceberg.ManifestEntryStatus) int {
	for i, m := range s.list {
		counts := map[iceberg.ManifestEntryStatus]int32{
			iceberg.EntryStatusADDED: m.AddedDataFiles(), iceberg.EntryStatusEXISTING: m.ExistingDataFiles(), iceberg.EntryStatusDELETED: m.DeletedDataFiles(),
		}
		if m.SnapshotID() == s.snap.SnapshotID && counts[status] > 0 {
			return i
		}
	}
	require.FailNow(s.t, "no such manifest")
	return 0
}

// record changes what the list says of a manifest.
func (s *staged) record(i int, change func(*iceberg.ManifestBuilder)) {
	s.recordLength(i, s.list[i].Length(), change)
}

func (s *staged) recordLength(i int, length int64, change func(*iceberg.ManifestBuilder)) {
	m := s.list[i]
	b := iceberg.NewManifestFile(s.version(), m.FilePath(), length, m.PartitionSpecID(), m.SnapshotID()).
		SequenceNum(m.SequenceNum(), m.MinSequenceNum()).Content(m.ManifestContent()).
		AddedFiles(m.AddedDataFiles()).ExistingFiles(m.ExistingDataFiles()).DeletedFiles(m.DeletedDataFiles()).
		AddedRows(m.AddedRows()).ExistingRows(m.ExistingRows()).DeletedRows(m.DeletedRows()).Partitions(m.Partitions())
	change(b)
	s.list[i] = b.Build()
}

// item is an entry of a manifest with the status that it gets.
type item struct {
	iceberg.ManifestEntry
	status iceberg.ManifestEntryStatus
}

// rewrite writes a manifest anew, with the entries that change returns, and lists it as it then is.
func (s *staged) rewrite(i int, change func([]item) []item) {
	var items []item
	fs := s.table.Store.FileIO(s.t.Context())
	_, err := snapshot.ReadStored(s.t.Context(), fs, s.list[i], func(e iceberg.ManifestEntry) error {
		items = append(items, item{e, e.Status()})
		return nil
	})
	require.NoError(s.t, err)
	spec := s.table.Metadata.PartitionSpecByID(int(s.list[i].PartitionSpecID()))
	var out bytes.Buffer
	w, err := iceberg.NewManifestWriter(3, &out, *spec, s.table.Metadata.CurrentSchema(), s.snap.SnapshotID, iceberg.WithManifestWriterContent(iceberg.ManifestContentDeletes))
	require.NoError(s.t, err)
	for _, e := range change(items) {
		add := map[iceberg.ManifestEntryStatus]func(iceberg.ManifestEntry) error{
			iceberg.EntryStatusADDED: w.Add, iceberg.EntryStatusEXISTING: w.Existing, iceberg.EntryStatusDELETED: w.Delete,
		}
		require.NoError(s.t, add[e.status](e.ManifestEntry))
	}
	require.NoError(s.t, w.Close())
	m, err := w.ToManifestFile(s.list[i].FilePath(), int64(out.Len()))
	require.NoError(s.t, err)
	data := out.Bytes()
	if s.version() < 3 {
		data = forge.AsVersion2(iceberg.ManifestContentDeletes, data)
	}
	s.put(m.FilePath(), data)
	s.list[i] = m
	s.record(i, func(b *iceberg.ManifestBuilder) {
		summaries := m.Partitions()
		for _, f := range summaries { // an empty string is a nil slice here and would be written as null
			for _, bound := range []*[]byte{f.LowerBound, f.UpperBound} {
				if bound != nil && *bound == nil {
					*bound = []byte{}
				}
			}
		}
		b.Partitions(summaries)
	})
}

// dv is what the entry of a deletion vector, or of a position delete file, says.
type dv struct {
	path           string
	content        iceberg.ManifestEntryContent
	format         iceberg.FileFormat
	partition      map[int]any
	records        int64
	size           int64
	referenced     string
	offset, length int64
	seq            int64
	lower, upper   map[int][]byte
	columnSizes    map[int]int64
	splitOffsets   []int64
}

// replaceAdded changes the first added entry.
func (s *staged) replaceAdded(change func(*dv)) {
	i := s.find(iceberg.EntryStatusADDED)
	spec := s.table.Metadata.PartitionSpecByID(int(s.list[i].PartitionSpecID()))
	s.rewrite(i, func(items []item) []item {
		for n, e := range items {
			if e.status != iceberg.EntryStatusADDED {
				continue
			}
			items[n].ManifestEntry = s.changed(*spec, e, change)
			return items
		}
		return items
	})
}

func (s *staged) changed(spec iceberg.PartitionSpec, e item, change func(*dv)) iceberg.ManifestEntry {
	f := e.DataFile()
	v := dv{
		path: f.FilePath(), content: f.ContentType(), format: f.FileFormat(), partition: f.Partition(), records: f.Count(), size: f.FileSizeBytes(), seq: e.SequenceNum(),
		lower: f.LowerBoundValues(), upper: f.UpperBoundValues(), columnSizes: f.ColumnSizes(), splitOffsets: f.SplitOffsets(),
	}
	if r := f.ReferencedDataFile(); r != nil {
		v.referenced = *r
	}
	if v.format == iceberg.PuffinFile {
		v.offset, v.length = *f.ContentOffset(), *f.ContentSizeInBytes()
	}
	change(&v)
	b, err := iceberg.NewDataFileBuilder(spec, v.content, v.path, v.format, v.partition, nil, nil, v.records, v.size)
	require.NoError(s.t, err)
	if v.referenced != "" {
		b = b.ReferencedDataFile(v.referenced)
	}
	if v.format == iceberg.PuffinFile {
		b = b.ContentOffset(v.offset).ContentSizeInBytes(v.length)
	} else {
		b = b.LowerBoundValues(v.lower).UpperBoundValues(v.upper).ColumnSizes(v.columnSizes).SplitOffsets(v.splitOffsets)
	}
	return iceberg.NewManifestEntry(e.status, new(s.snap.SnapshotID), new(v.seq), nil, b.Build())
}

// puffin is the location of a Puffin file or of a position delete file that the run wrote.
func (s *staged) puffin() string {
	var location string
	_, err := snapshot.ReadStored(s.t.Context(), s.table.Store.FileIO(s.t.Context()), s.list[s.find(iceberg.EntryStatusADDED)], func(e iceberg.ManifestEntry) error {
		if e.Status() == iceberg.EntryStatusADDED {
			location = e.DataFile().FilePath()
		}
		return nil
	})
	require.NoError(s.t, err)
	return location
}

// bytesOf changes the content of an object.
func (s *staged) bytesOf(location string, change func([]byte) []byte) {
	data, err := s.table.Store.ReadFile(s.t.Context(), location)
	require.NoError(s.t, err)
	s.put(location, change(data))
}

// tampered runs on a table of a fixture whose commit something happens to.
func tampered(t *testing.T, fixture string, o maintenance.Options, how func(*staged)) (*maintenance.Report, error) {
	lake := testlake.Copy(t, fixture)
	return maintenance.Run(t.Context(), &tampering{Catalog: lake.Catalog, t: t, how: how}, testlake.Ident("t"), o)
}

// named demands that the verifier names what a tamper breaks.
func (c tamper) named(t *testing.T, r *maintenance.Report, err error) {
	require.ErrorIs(t, err, maintenance.ErrVerify)
	var differs *verify.Error
	require.ErrorAs(t, err, &differs)
	broken := map[string]bool{}
	for _, d := range differs.Differences {
		broken[d.Check] = true
	}
	for _, name := range c.breaks {
		assert.True(t, broken[name], "%s in %v", name, differs.Differences)
	}
	assert.True(t, r.Committed, "it is, and the report says so")
	assert.Equal(t, *r.SnapshotAfter, differs.Snapshot)
	assert.ErrorContains(t, err, differs.RollBack())
}
