package check

import (
	"bytes"

	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// recordFacts are what the records of one position delete file taught.
type recordFacts struct {
	entries []*snapshot.DeleteFile // that list the file: one, if the table is sound
	err     error                  // why it cannot be read, or not to its end

	targets   map[*snapshot.DataFile]bool // live data files that it deletes rows of
	unmatched map[string]bool             // paths that are live nowhere in its partition
	stale     map[string]bool             // live paths that its referenced_data_file excludes
	least     []byte                      // smallest and largest path of a target, nil when there is none
	most      []byte
	records   int64
	unsorted  bool
	byName    bool  // columns were found by name
	negative  int64 // records with a position below 0
	beyond    int64 // records with a position that no deletion vector can hold
}

func newRecordFacts(d *snapshot.DeleteFile) *recordFacts {
	return &recordFacts{entries: []*snapshot.DeleteFile{d}, targets: map[*snapshot.DataFile]bool{}, unmatched: map[string]bool{}, stale: map[string]bool{}}
}

// recordVisitor receives the records of one file. It is used by one goroutine.
type recordVisitor struct {
	check   *recordCheck
	facts   *recordFacts
	vectors map[*snapshot.DataFile]*puffin.Bitmap
	first   bool // the facts are still to be learned

	path   []byte // of the last run
	last   int64  // position of the last record
	target *snapshot.DataFile
}

// visit implements positiondelete.Visit.
func (v *recordVisitor) visit(path []byte, positions []int64) error {
	if v.path == nil || !bytes.Equal(v.path, path) {
		v.next(path)
	}
	if v.first {
		v.learn(positions)
	}
	if v.target == nil {
		return nil
	}
	if vector := v.vectors[v.target]; vector != nil {
		v.compare(vector, positions)
	}
	return nil
}

// next begins the records of another path.
func (v *recordVisitor) next(path []byte) {
	if v.path != nil && bytes.Compare(path, v.path) < 0 {
		v.facts.unsorted = true
	}
	v.path, v.last = append(v.path[:0], path...), -1<<63
	v.target = v.find()
	if !v.first || v.target == nil {
		return
	}
	f := v.facts
	if f.least == nil || bytes.Compare(path, f.least) < 0 {
		f.least = bytes.Clone(path)
	}
	if f.most == nil || bytes.Compare(path, f.most) > 0 {
		f.most = bytes.Clone(path)
	}
}

// find looks the path up as scans do: a live data file of the same partition, not younger than the delete file, that
// referenced_data_file allows. In a file that several entries list one that applies is enough.
func (v *recordVisitor) find() *snapshot.DataFile {
	data := v.check.survey.State.DataFiles[string(v.path)]
	inPartition, excluded := false, false
	for _, d := range v.facts.entries {
		if data == nil || data.Group != d.Group && !data.Twice {
			continue
		}
		inPartition = true
		if d.AppliesTo(data) || data.Twice {
			if v.first {
				v.facts.targets[data] = true
			}
			if data.Twice {
				return nil // nobody can say to which of the two it applies
			}
			return data
		}
		excluded = excluded || d.Referenced != "" && d.Referenced != data.Path && data.Seq <= d.Seq
	}
	switch {
	case !v.first:
	case excluded:
		v.facts.stale[string(v.path)] = true
	case !inPartition:
		v.facts.unmatched[string(v.path)] = true
	}
	return nil
}

// learn notes what the positions say about the file.
func (v *recordVisitor) learn(positions []int64) {
	f := v.facts
	f.records += int64(len(positions))
	far := int64(0)
	for _, p := range positions {
		switch {
		case p < 0:
			f.negative++
		case p > puffin.MaxPosition:
			f.beyond++
		case v.target != nil && p >= v.target.Records:
			far++
		}
		if p < v.last {
			f.unsorted = true
		}
		v.last = p
	}
	if far > 0 {
		v.check.tooFar(v.target, f.entries[0].Path, far)
	}
}

// tooFar notes records beyond the rows of a data file.
func (r *recordCheck) tooFar(data *snapshot.DataFile, location string, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.far[data] == nil {
		r.far[data] = map[string]int64{}
	}
	r.far[data][location] += n
}

// compare notes the positions that a deletion vector lacks.
func (v *recordVisitor) compare(vector *puffin.Bitmap, positions []int64) {
	var lacking []int64
	for _, p := range positions {
		if p >= 0 && p <= puffin.MaxPosition && !vector.Contains(p) {
			lacking = append(lacking, p)
		}
	}
	if len(lacking) == 0 {
		return
	}
	r := v.check
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost[v.target] == nil {
		r.lost[v.target], r.by[v.target] = puffin.NewBitmap(), map[string]bool{}
	}
	r.by[v.target][v.facts.entries[0].Path] = true
	_ = r.lost[v.target].AddMany(lacking) // all are within the limits
}
