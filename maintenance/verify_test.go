package maintenance_test

import (
	"bytes"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tamper is something that happens to a commit, and the invariants that it breaks.
type tamper struct {
	name    string
	fixture string
	breaks  []string
	how     func(*staged)
}

// Tables that a run has something to do on: position deletes, a deletion vector and equality deletes; one Puffin with
// many vectors; and position deletes in partitions.
const (
	mixed       = "v3-with-equality"
	shared      = "v3-shared-puffin"
	partitioned = "v2-partition-granular"
)

// without takes the first entry with a status out of its manifest.
func without(status iceberg.ManifestEntryStatus) func(*staged) {
	return func(s *staged) {
		s.rewrite(s.find(status), func(items []item) []item {
			i := slices.IndexFunc(items, func(e item) bool { return e.status == status })
			return slices.Delete(items, i, i+1)
		})
	}
}

// also lets the commit change something else in the table metadata.
func also(update func(*staged) table.Update) func(*staged) {
	return func(s *staged) { s.updates = append(s.updates, update(s)) }
}

const (
	added    = iceberg.EntryStatusADDED
	existing = iceberg.EntryStatusEXISTING
	removed  = iceberg.EntryStatusDELETED
)

func tampers() []tamper {
	return slices.Concat(contentTampers(), manifestTampers(), metadataTampers())
}

// contentTampers change what is live.
func contentTampers() []tamper {
	return []tamper{
		{"a data manifest is not listed", mixed, []string{"A1"}, func(s *staged) {
			s.list = slices.Delete(s.list, s.data(), s.data()+1)
		}},
		{"a data manifest is listed twice, once under another name", mixed, []string{"A1"}, func(s *staged) {
			m := s.list[s.data()]
			s.bytesOf(m.FilePath(), func(data []byte) []byte {
				s.put(m.FilePath()+".copy", data)
				return data
			})
			s.list = append(s.list, iceberg.NewManifestFile(3, m.FilePath()+".copy", m.Length(), m.PartitionSpecID(), m.SnapshotID()).
				SequenceNum(m.SequenceNum(), m.MinSequenceNum()).AddedFiles(m.AddedDataFiles()).Build())
		}},
		{"a deletion vector of another data file", shared, []string{"A2"}, func(s *staged) {
			s.replaceAdded(func(v *dv) { v.referenced += "x" })
		}},
		{"an equality delete file is gone", mixed, []string{"A3"}, func(s *staged) {
			i := s.find(existing) // it holds nothing else
			s.list = slices.Delete(s.list, i, i+1)
		}},
		{"a deletion vector that moved has another cardinality", shared, []string{"A2", "A4"}, func(s *staged) {
			s.replaceAdded(func(v *dv) { v.records++ })
		}},
		{"a retired deletion vector is live again", shared, []string{"B1", "B9", "B11"}, func(s *staged) {
			s.rewrite(s.find(removed), func(items []item) []item {
				i := slices.IndexFunc(items, func(e item) bool { return siblings(items, e) > 1 })
				items[i].status = existing
				return items
			})
		}},
		{"a deletion vector in another partition", partitioned, []string{"B2"}, func(s *staged) {
			s.replaceAdded(func(v *dv) { v.partition[1001] = "elsewhere" })
		}},
		{"a footer with another cardinality", shared, []string{"B3"}, func(s *staged) {
			s.bytesOf(s.puffin(), func(data []byte) []byte {
				i := bytes.LastIndex(data, []byte(`"cardinality":"`)) + len(`"cardinality":"`)
				data[i] ^= 1
				return data
			})
		}},
		{"a footer that does not end as one", shared, []string{"B3"}, func(s *staged) {
			s.bytesOf(s.puffin(), func(data []byte) []byte { return append(data[:len(data)-1], 'X') })
		}},
		{"a data file whose position delete file is gone has no deletion vector", partitioned, []string{"B7", "B9"}, without(added)},
		{"a Parquet file is added", partitioned, []string{"B8"}, func(s *staged) {
			s.replaceAdded(func(v *dv) { v.format = iceberg.ParquetFile })
		}},
		{"an equality delete file is removed", mixed, []string{"A3"}, func(s *staged) {
			s.rewrite(s.find(existing), func(items []item) []item {
				items[slices.IndexFunc(items, func(e item) bool { return e.status == existing })].status = removed
				return items
			})
		}},
		{"an added entry says that it was there before", mixed, []string{"B9"}, func(s *staged) {
			s.rewrite(s.find(added), func(items []item) []item {
				i := slices.IndexFunc(items, func(e item) bool { return e.status == added })
				e := items[i]
				items[i] = item{iceberg.NewManifestEntry(existing, new(e.SnapshotID()), new(e.SequenceNum()), new(e.SequenceNum()), e.DataFile()), existing}
				return items
			})
		}},
		{"a tombstone is missing", mixed, []string{"B9"}, without(removed)},
		{"a Puffin file is gone", shared, []string{"B10"}, func(s *staged) {
			require.NoError(s.t, s.table.Store.Remove(s.t.Context(), s.puffin()))
		}},
		{"a Puffin file of another size", shared, []string{"B10"}, func(s *staged) {
			s.bytesOf(s.puffin(), func(data []byte) []byte { return append(data, 0) })
		}},
		{"a manifest that says another size of a Puffin file", shared, []string{"B10"}, func(s *staged) {
			s.replaceAdded(func(v *dv) { v.size++ })
		}},
	}
}

// manifestTampers change what the manifest list and the entries say of it.
func manifestTampers() []tamper {
	return []tamper{
		{"a data manifest without its first row id", mixed, []string{"C5"}, func(s *staged) { s.record(s.data(), func(*iceberg.ManifestBuilder) {}) }},
		{"a data manifest listed with other counts", mixed, []string{"C5"}, func(s *staged) {
			s.record(s.data(), func(b *iceberg.ManifestBuilder) { b.AddedFiles(77) })
		}},
		{"a count too many", mixed, []string{"C6"}, func(s *staged) {
			s.record(s.find(added), func(b *iceberg.ManifestBuilder) { b.ExistingRows(s.list[s.find(added)].ExistingRows() + 1) })
		}},
		{"another length", mixed, []string{"C6"}, func(s *staged) {
			i := s.find(added)
			s.recordLength(i, s.list[i].Length()+1, func(*iceberg.ManifestBuilder) {})
		}},
		{"another min_sequence_number", mixed, []string{"C6"}, func(s *staged) {
			s.record(s.find(added), func(b *iceberg.ManifestBuilder) { b.SequenceNum(-1, s.list[s.find(added)].MinSequenceNum()+1) })
		}},
		{"another partition summary", partitioned, []string{"C6"}, func(s *staged) {
			i := s.find(added)
			s.record(i, func(b *iceberg.ManifestBuilder) {
				summaries := s.list[i].Partitions()
				summaries[1].LowerBound = nil
				b.Partitions(summaries)
			})
		}},
		{"a header that says data", mixed, []string{"C6"}, func(s *staged) {
			s.bytesOf(s.list[s.find(added)].FilePath(), func(data []byte) []byte { return bytes.Replace(data, []byte("\x0edeletes"), []byte("\x0edeleted"), 1) })
		}},
		{"a file sequence number of an existing entry", mixed, []string{"C7"}, func(s *staged) {
			s.rewrite(s.find(existing), func(items []item) []item {
				i := slices.IndexFunc(items, func(e item) bool { return e.status == existing })
				e := items[i]
				items[i].ManifestEntry = iceberg.NewManifestEntry(existing, new(e.SnapshotID()), new(e.SequenceNum()), new(*e.FileSequenceNum()+1), e.DataFile())
				return items
			})
		}},
		{"a data sequence number of an added entry", shared, []string{"C7"}, func(s *staged) {
			s.replaceAdded(func(v *dv) { v.seq++ })
		}},
		{"the snapshot id of an existing entry", mixed, []string{"C7"}, func(s *staged) {
			s.rewrite(s.find(existing), func(items []item) []item {
				i := slices.IndexFunc(items, func(e item) bool { return e.status == existing })
				e := items[i]
				items[i].ManifestEntry = iceberg.NewManifestEntry(existing, new(int64(4711)), new(e.SequenceNum()), e.FileSequenceNum(), e.DataFile())
				return items
			})
		}},
	}
}

// metadataTampers change the snapshot and the table metadata.
func metadataTampers() []tamper {
	return []tamper{
		{"another operation", mixed, []string{"C1"}, func(s *staged) { s.snap.Summary.Operation = table.OpOverwrite }},
		{"a summary with added rows", mixed, []string{"C2"}, func(s *staged) { s.snap.Summary.Properties["added-records"] = "3" }},
		{"another parent", mixed, []string{"C3"}, func(s *staged) { s.snap.ParentSnapshotID = new(grandparent(s)) }},
		{"an older timestamp", mixed, []string{"C3"}, func(s *staged) { s.snap.TimestampMs = parent(s).TimestampMs - 1 }},
		{"rows that were added", mixed, []string{"C4"}, func(s *staged) { s.snap.AddedRows = new(*s.snap.AddedRows + 5) }},
		{"a summary off by one", mixed, []string{"C8"}, func(s *staged) { off(s, "removed-delete-files") }},
		{"a total off by one", mixed, []string{"C8"}, func(s *staged) { off(s, "total-position-deletes") }},
		{"a summary without a total", mixed, []string{"C8"}, func(s *staged) { delete(s.snap.Summary.Properties, "total-delete-files") }},
		{"a changed property", mixed, []string{"C9"}, also(func(*staged) table.Update {
			return table.NewSetPropertiesUpdate(iceberg.Properties{"owner": "somebody else"})
		})},
		{"a new schema", mixed, []string{"C9"}, also(func(*staged) table.Update {
			return table.NewAddSchemaUpdate(iceberg.NewSchema(7, iceberg.NestedField{ID: 1, Name: "renamed", Type: iceberg.PrimitiveTypes.Int64}))
		})},
		{"a new tag", mixed, []string{"C9"}, also(func(s *staged) table.Update {
			return table.NewSetSnapshotRefUpdate("eod", parent(s).SnapshotID, table.TagRef, 0, 0, 0)
		})},
		{"another location", mixed, []string{"C9"}, also(func(s *staged) table.Update { return table.NewSetLocationUpdate(s.table.Metadata.Location() + "/x") })},
		{"retention of the branch", mixed, []string{"C9"}, also(func(s *staged) table.Update {
			return table.NewSetSnapshotRefUpdate("main", s.snap.SnapshotID, table.BranchRef, 1000, 0, 0)
		})},
		{"a snapshot is gone", mixed, []string{"C9"}, also(func(s *staged) table.Update { return table.NewRemoveSnapshotsUpdate([]int64{grandparent(s)}, false) })},
		{"the parent is gone", mixed, []string{"C9", "C10"}, also(func(s *staged) table.Update {
			return table.NewRemoveSnapshotsUpdate([]int64{parent(s).SnapshotID}, false)
		})},
	}
}

// data is the place in the list of the first data manifest.
func (s *staged) data() int {
	return slices.IndexFunc(s.list, func(m iceberg.ManifestFile) bool { return m.ManifestContent() == iceberg.ManifestContentData })
}

// siblings counts the entries of the same Puffin file.
func siblings(items []item, e item) (n int) {
	for _, other := range items {
		if other.DataFile().FilePath() == e.DataFile().FilePath() {
			n++
		}
	}
	return n
}

func parent(s *staged) *table.Snapshot { return s.table.Metadata.SnapshotByName("main") }

func grandparent(s *staged) int64 { return *parent(s).ParentSnapshotID }

func off(s *staged, key string) {
	n, err := strconv.ParseInt(s.snap.Summary.Properties[key], 10, 64)
	require.NoError(s.t, err)
	s.snap.Summary.Properties[key] = strconv.FormatInt(n+1, 10)
}

func tamperedRun(t *testing.T, fixture string, how func(*staged)) (*maintenance.Report, error) {
	if fixture == partitioned {
		return tampered(t, fixture, fast(maintenance.Migrate), how)
	}
	return tampered(t, fixture, fast(maintenance.Compact), how)
}

func TestTheVerifierNamesWhatWasTamperedWith(t *testing.T) {
	t.Parallel()
	for _, c := range tampers() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := tamperedRun(t, c.fixture, c.how)
			c.named(t, r, err)
		})
	}
}

// Without it the test above could tell what the tampering itself breaks from what it is about no better.
func TestTheVerifierPassesWhatWasOnlyWrittenAnew(t *testing.T) {
	t.Parallel()
	for _, fixture := range []string{mixed, shared, partitioned} {
		t.Run(fixture, func(t *testing.T) {
			t.Parallel()
			r, err := tamperedRun(t, fixture, func(s *staged) {
				s.rewrite(s.find(iceberg.EntryStatusADDED), func(items []item) []item { return items })
				s.replaceAdded(func(*dv) {})
				s.record(s.find(iceberg.EntryStatusDELETED), func(*iceberg.ManifestBuilder) {})
			})
			require.NoError(t, err)
			names := map[string]bool{}
			for _, check := range r.Verification.Checks {
				names[check.Name] = true
			}
			for _, name := range []string{"A1", "A2", "A3", "A4", "B1", "B3", "B7", "B8", "B9", "B10", "B11", "C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10"} {
				assert.True(t, names[name], name)
			}
			assert.Len(t, r.Verified, len(r.Verification.Checks))
			assert.Positive(t, r.Verification.Requests)
			assert.Positive(t, r.Verification.Bytes)
		})
	}
}
