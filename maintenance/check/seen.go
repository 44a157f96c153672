package check

import (
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// seen collects, while manifests stream by, what the state does not keep.
type seen struct {
	c    *checker
	seed maphash.Seed

	mu        sync.Mutex
	minSeq    map[snapshot.GroupKey]int64    // smallest data sequence number of a live data file
	leastSeq  int64                          // of all data files, -1 when there is none
	paths     []uint64                       // hashes of the paths of live data files
	bounds    map[snapshot.FileID]pathBounds // of position delete files
	equality  []equalityDelete
	summaries map[string]*summaryCheck // by manifest
	mixed     map[string]bool          // manifests with live delete files that are no deletion vectors
	rowIDs    rowIDs
	files     dataFiles
	total     totals
}

// pathBounds are the column bounds of file_path in an entry.
type pathBounds struct{ lower, upper *string }

// equalityDelete is what decides whether an equality delete file can apply to anything.
type equalityDelete struct {
	path       string
	key        snapshot.GroupKey
	seq        int64
	snapshotID int64
}

func newSeen(c *checker) *seen {
	const most = 8 * 32 // an eighth of the memory, 32 bytes for each
	return &seen{
		files: dataFiles{room: c.options.Memory / most, kept: map[string][]dataFile{}, full: map[string]bool{}},

		c: c, seed: maphash.MakeSeed(), minSeq: map[snapshot.GroupKey]int64{}, leastSeq: -1, bounds: map[snapshot.FileID]pathBounds{},
		summaries: map[string]*summaryCheck{}, mixed: map[string]bool{},
	}
}

// entry is told of every live entry.
func (s *seen) entry(m iceberg.ManifestFile, e iceberg.ManifestEntry, key snapshot.GroupKey) {
	f := e.DataFile()
	s.summary(m).see(f)
	s.mix(m, f)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total.count(f)
	switch f.ContentType() {
	case iceberg.EntryContentData:
		s.data(f, e.SequenceNum(), key)
		if s.c.options.History > 0 {
			s.files.keep(m.FilePath(), s.dataFile(e))
		}
	case iceberg.EntryContentEqDeletes:
		s.equality = append(s.equality, equalityDelete{f.FilePath(), key, e.SequenceNum(), e.SnapshotID()})
	default:
		s.positionDelete(f, e)
	}
}

// hash stands for a path where millions of them are kept. That two of them have one is not to be expected.
func (s *seen) hash(path string) uint64 { return maphash.String(s.seed, path) }

// mix notes a manifest with a live delete file that is no deletion vector.
func (s *seen) mix(m iceberg.ManifestFile, f iceberg.DataFile) {
	if f.ContentType() == iceberg.EntryContentData || snapshot.FormatOf(f) == iceberg.PuffinFile {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mixed[m.FilePath()] = true
}

func (s *seen) data(f iceberg.DataFile, seq int64, key snapshot.GroupKey) {
	s.paths = append(s.paths, s.hash(f.FilePath()))
	s.rowIDs.see(f)
	if least, ok := s.minSeq[key]; !ok || seq < least {
		s.minSeq[key] = seq
	}
	if s.leastSeq < 0 || seq < s.leastSeq {
		s.leastSeq = seq
	}
}

func (s *seen) positionDelete(f iceberg.DataFile, e iceberg.ManifestEntry) {
	if snapshot.FormatOf(f) != iceberg.PuffinFile {
		s.bounds[snapshot.IDOf(f)] = pathBounds{bound(f.LowerBoundValues()), bound(f.UpperBoundValues())}
		s.c.afterUpgrade(f, e)
	}
	if f.SortOrderID() != nil || f.FirstRowID() != nil {
		s.c.add(Finding{Issue: "entry-extras", Location: f.FilePath(), snapshotID: e.SnapshotID(),
			Detail: fmt.Sprintf("the entry of a position delete has sort_order_id %s and first_row_id %s, which are for data files", text(f.SortOrderID()), text(f.FirstRowID()))})
	}
}

func text[T any](v *T) string {
	if v == nil {
		return "null"
	}
	return fmt.Sprint(*v)
}

func bound(values map[int][]byte) *string {
	v, ok := values[positiondelete.FilePathID]
	if !ok {
		return nil
	}
	text := string(v)
	return &text
}

// summary returns the check of a manifest's partition summaries, made when first asked for.
func (s *seen) summary(m iceberg.ManifestFile) *summaryCheck {
	s.mu.Lock()
	defer s.mu.Unlock()
	check := s.summaries[m.FilePath()]
	if check == nil {
		check = newSummaryCheck(s.c.table.Metadata, m)
		s.summaries[m.FilePath()] = check
	}
	return check
}

// manifest is told of every manifest, after its entries.
func (s *seen) manifest(m snapshot.Surveyed) {
	s.mu.Lock()
	s.c.report.Checked.Manifests++
	s.c.unread = s.c.unread || m.Err != nil || len(m.Odd) > 0
	check := s.summaries[m.File.FilePath()]
	delete(s.summaries, m.File.FilePath())
	s.mu.Unlock()
	s.c.manifest(m, check)
}
