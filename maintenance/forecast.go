package maintenance

import (
	"cmp"
	"slices"

	"github.com/dvcompactor/dvcompactor/snapshot"
)

// Forecast says what the deletes of a branch cost its readers: as a plan found it, and as the plan would leave it. Only
// manifests are read for it, so a delete that may apply counts as one that does: what comes after is at most as many entries and
// requests as said, and about as many bytes.
type Forecast struct {
	Before Reading `json:"before"`
	After  Reading `json:"after"`
}

// Reading is what a full scan of a branch takes because of position delete files and deletion vectors, in an engine that
// reads the deletes of each data file for itself.
type Reading struct {
	// DeleteEntries are the live manifest entries that planning the scan goes over.
	DeleteEntries int64 `json:"delete_entries"`
	// Requests are at least one for each data file and each delete that may apply to it; of a data file with a deletion vector
	// only that is read (spec, "Scan Planning").
	Requests int64 `json:"requests"`
	// Bytes of the same: position delete files whole, of Puffin files the blobs.
	Bytes int64 `json:"bytes"`
	// StoredBytes are those of the position delete files and Puffin files that the branch needs. What it no longer needs is
	// freed when the snapshots that do expire.
	StoredBytes int64 `json:"stored_bytes"`
}

func (r *Reading) add(o Reading) {
	r.DeleteEntries += o.DeleteEntries
	r.Requests += o.Requests
	r.Bytes += o.Bytes
	r.StoredBytes += o.StoredBytes
}

// forecast goes over the partitions once, in a time that does not grow with the product of their files.
func (s *selection) forecast() Forecast {
	var f Forecast
	merged := map[*snapshot.Group]bool{}
	for _, g := range s.groups {
		merged[g] = true
	}
	for _, g := range s.state.SortedGroups() {
		before := readingOf(g)
		f.Before.add(before)
		switch {
		case merged[g] && s.inPlace != nil:
			before = s.afterRewrite(g)
		case merged[g]:
			before = s.afterMerge(g)
		}
		f.After.add(before)
	}
	dangling := int64(len(s.state.DanglingDVs))
	f.Before.DeleteEntries += dangling
	f.After.DeleteEntries += dangling - int64(len(s.dangling))
	s.forecastPuffins(&f)
	return f
}

// readingOf is what a partition costs as it is.
func readingOf(g *snapshot.Group) Reading {
	out := Reading{DeleteEntries: int64(len(g.PositionDeletes)), StoredBytes: sizeOf(g.PositionDeletes)}
	for _, b := range burdens(g) {
		out.add(b.reading())
	}
	return out
}

// forecastPuffins adds what Puffin files take: those that are written anew take what their live blobs need.
func (s *selection) forecastPuffins(f *Forecast) {
	anew := map[string]bool{}
	for _, p := range s.puffins {
		anew[p.Location] = true
	}
	for location, dvs := range s.state.Puffins() {
		size := sane(dvs[0].Size)
		f.Before.StoredBytes += size
		if anew[location] {
			size = 0
			for _, d := range dvs {
				if s.retire[d] {
					size += sane(d.ContentBytes()) + footerPerBlob
				}
			}
		}
		f.After.StoredBytes += size
	}
}

// burden is what applies to one data file, going by manifests.
type burden struct {
	file   *snapshot.DataFile
	common int // position delete files about any data file of the partition
	own    int // position delete files about this one only
	bytes  int64
}

// deletes are all that may apply, hidden ones too.
func (b *burden) deletes() int { return b.common + b.own + len(b.file.DVs) }

// reading is what a scan of the data file reads.
func (b *burden) reading() Reading {
	if len(b.file.DVs) == 0 {
		return Reading{Requests: int64(b.common + b.own), Bytes: b.bytes}
	}
	vectors := int64(len(b.file.DVs))
	return Reading{DeleteEntries: vectors, Requests: vectors, Bytes: b.vectorBytes()}
}

// burdens returns what applies to each data file of a partition. Each delete file is looked at once: a partition may have
// thousands of them, and of data files.
func burdens(g *snapshot.Group) []burden {
	common, own := bySequence(g)
	out := make([]burden, 0, len(g.Data))
	for _, f := range g.Data {
		first, _ := slices.BinarySearchFunc(common, f.Seq, func(c weight, seq int64) int { return cmp.Compare(c.seq, seq) })
		b := burden{file: f, common: len(common) - first}
		if b.common > 0 {
			b.bytes = common[first].bytes
		}
		for _, o := range own[f.Path] {
			if f.Seq <= o.seq {
				b.own++
				b.bytes += o.bytes
			}
		}
		out = append(out, b)
	}
	return out
}

// weight is a position delete file by its data sequence number.
type weight struct{ seq, bytes int64 }

// bySequence sorts the position delete files about any data file, each with the bytes of itself and of those that follow,
// and returns the others by their only data file.
func bySequence(g *snapshot.Group) (common []weight, own map[string][]weight) {
	own = map[string][]weight{}
	for _, d := range g.PositionDeletes {
		w := weight{d.Seq, sane(d.Size)}
		if d.Referenced == "" {
			common = append(common, w)
		} else {
			own[d.Referenced] = append(own[d.Referenced], w)
		}
	}
	slices.SortFunc(common, func(a, b weight) int { return cmp.Compare(a.seq, b.seq) })
	for i := len(common) - 2; i >= 0; i-- {
		common[i].bytes += common[i+1].bytes
	}
	return common, own
}

// afterMerge is what a partition costs when its position delete files have become deletion vectors.
func (s *selection) afterMerge(g *snapshot.Group) Reading {
	var out Reading
	var records, containers, vectors, old int64
	oldest, blocked := int64(-1), map[string]bool{}
	for _, b := range burdens(g) {
		switch f := b.file; {
		case s.blocked[f]:
			out.add(b.reading())
			blocked[f.Path] = true
			if oldest < 0 || f.Seq < oldest {
				oldest = f.Seq
			}
		case b.common+b.own == 0:
			out.add(b.reading())
		default:
			vectors++
			containers += sane(f.Records)/containerRows + 1
			old += b.vectorBytes()
			records += int64(len(f.DVs)) // it has one, whatever is read
		}
	}
	for _, d := range g.PositionDeletes {
		if blocked[d.Referenced] || d.Referenced == "" && oldest >= 0 && d.Seq >= oldest {
			out.DeleteEntries++ // a data file that gets no deletion vector needs it
			out.StoredBytes += sane(d.Size)
		}
		records += sane(d.Records)
	}
	vectors = min(vectors, records)
	bytes := newVectorBytes(vectors, records, containers)
	out.add(Reading{DeleteEntries: vectors, Requests: vectors, Bytes: old + bytes, StoredBytes: bytes + vectors*footerPerBlob})
	return out
}

// containerRows is how many rows a container of a bitmap is about, and containerBytes the most that it takes.
const containerRows, containerBytes = 1 << 16, 1 << 13

func (b *burden) vectorBytes() (n int64) {
	for _, dv := range b.file.DVs {
		n += sane(dv.ContentBytes())
	}
	return n
}

// newVectorBytes is the size of deletion vectors: two bytes a position, or full containers, and what surrounds them.
func newVectorBytes(vectors, records, containers int64) int64 {
	const around, perContainer = 36, 8
	return min(2*records, containers*containerBytes) + vectors*around + min(containers, records)*perContainer
}
