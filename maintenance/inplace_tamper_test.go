package maintenance_test

import (
	"slices"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scattered is a table of format version 2 whose data files have several position delete files each.
const scattered = "v2-file-granular"

// inPlaceTampers change what a run in place has written and staged.
func inPlaceTampers() []tamper {
	change := func(how func(*dv)) func(*staged) {
		return func(s *staged) { s.replaceAdded(how) }
	}
	return []tamper{
		{"the entry names another file", scattered, []string{"B7", "B8", "B9"}, change(func(v *dv) { v.path += "x" })},
		{"the entry names a file that goes", scattered, []string{"B7", "B8", "B9"}, func(s *staged) {
			var gone string
			s.rewrite(s.find(removed), func(items []item) []item {
				gone = items[0].DataFile().FilePath()
				return items
			})
			s.replaceAdded(func(v *dv) { v.path = gone })
		}},
		{"bounds that leave a data file out", scattered, []string{"B2"}, change(func(v *dv) { v.upper[filePathID] = v.lower[filePathID] })},
		{"bounds that leave a position out", scattered, []string{"B2"}, change(func(v *dv) { v.lower[posID] = []byte{1, 0, 0, 0, 0, 0, 0, 0} })},
		{"no bounds", scattered, []string{"B2"}, change(func(v *dv) { v.lower, v.upper = nil, nil })},
		{"other column sizes", scattered, []string{"B2"}, change(func(v *dv) { v.columnSizes[posID]++ })},
		{"other split offsets", scattered, []string{"B2"}, change(func(v *dv) { v.splitOffsets = []int64{5} })},
		{"a record fewer", scattered, []string{"A2"}, change(func(v *dv) { v.records-- })},
		{"another size", scattered, []string{"B10"}, change(func(v *dv) { v.size++ })},
		{"a referenced data file of a file about several", scattered, []string{"B2", "B7"}, change(func(v *dv) { v.referenced = string(v.lower[filePathID]) })},
		{"a data sequence number below that of its data files", scattered, []string{"B7", "C7"}, change(func(v *dv) { v.seq = 0 })},
		{"a data sequence number above that of its sources", scattered, []string{"C7"}, change(func(v *dv) { v.seq++ })},
		{"another partition", partitioned, []string{"B2", "B7"}, change(func(v *dv) { v.partition[1001] = "elsewhere" })},
		{"an equality delete file", scattered, []string{"B8"}, change(func(v *dv) { v.content = iceberg.EntryContentEqDeletes })},
		{"the new file is not listed", scattered, []string{"B7", "B9"}, func(s *staged) {
			i := s.find(added) // it holds nothing else
			s.list = slices.Delete(s.list, i, i+1)
		}},
		{"the new file is listed twice", scattered, []string{"B9"}, func(s *staged) {
			s.rewrite(s.find(added), func(items []item) []item {
				return append(items, items[slices.IndexFunc(items, func(e item) bool { return e.status == added })])
			})
		}},
		{"a source is live again", scattered, []string{"B9"}, func(s *staged) {
			s.rewrite(s.find(removed), func(items []item) []item {
				items[0].status = existing
				return items
			})
		}},
		{"the new file is gone", scattered, []string{"B10"}, func(s *staged) {
			require.NoError(s.t, s.table.Store.Remove(s.t.Context(), s.puffin()))
		}},
		{"the new file is longer", scattered, []string{"B10"}, func(s *staged) {
			s.bytesOf(s.puffin(), func(data []byte) []byte { return append(data, 0) })
		}},
	}
}

// The reserved field ids of the two columns of a position delete file.
const (
	filePathID = 2147483546
	posID      = 2147483545
)

func TestTheVerifierNamesWhatWasTamperedWithInPlace(t *testing.T) {
	t.Parallel()
	for _, c := range inPlaceTampers() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := tampered(t, c.fixture, inPlace(maintenance.InPlace{}), c.how)
			c.named(t, r, err)
		})
	}
}

func TestTheVerifierPassesWhatWasOnlyWrittenAnewInPlace(t *testing.T) {
	t.Parallel()
	for _, fixture := range []string{scattered, partitioned} {
		t.Run(fixture, func(t *testing.T) {
			t.Parallel()
			r, err := tampered(t, fixture, inPlace(maintenance.InPlace{}), func(s *staged) {
				s.rewrite(s.find(added), func(items []item) []item { return items })
				s.replaceAdded(func(*dv) {})
				s.record(s.find(removed), func(*iceberg.ManifestBuilder) {})
			})
			require.NoError(t, err)
			assert.True(t, r.Committed)
			assert.NotEmpty(t, r.DeleteFiles)
		})
	}
}
