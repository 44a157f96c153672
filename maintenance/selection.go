package maintenance

import (
	"fmt"
	"slices"

	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// selection is the inner part of a plan: what to merge, which deletion vectors to write anew, which entries to drop.
type selection struct {
	state   *snapshot.State
	options Options
	twins   map[string]snapshot.Twin
	cool    *coolDown
	chosen  func(*snapshot.Group) bool // partitions to work on

	upgrade  bool
	groups   []*snapshot.Group             // whose position delete files are read and merged
	blocked  map[*snapshot.DataFile]bool   // data files that get no deletion vector; skipped says why
	retire   map[*snapshot.DeleteFile]bool // deletion vectors to write anew into fewer Puffin files
	dangling []*snapshot.DeleteFile        // deletion vectors to drop
	puffins  []PuffinPlan
	small    map[string]bool // locations of Puffin files that are written anew only to be packed
	skipped  []Skip
	fixed    map[*snapshot.DeleteFile]bool // deletion vectors that must stay where they are
	merges   []snapshot.ManifestMerge      // delete manifests that are worth merging

	inPlace    *InPlace                                   // nil when position delete files become deletion vectors
	sources    map[*snapshot.Group][]*snapshot.DeleteFile // of the groups, in place
	partitions []PartitionPlan                            // of the groups
}

func (s *selection) run() error {
	s.retire = map[*snapshot.DeleteFile]bool{}
	s.fixed = map[*snapshot.DeleteFile]bool{}
	s.small = map[string]bool{}
	s.sources = map[*snapshot.Group][]*snapshot.DeleteFile{}
	if err := s.encrypted(); err != nil {
		return err
	}
	version := s.state.Metadata.Version()
	s.blockFaulty(version)
	s.noteUnbound(version)
	if s.inPlace != nil {
		s.selectInPlace()
	} else {
		s.selectGroups(version)
	}
	if err := s.upgradable(); err != nil {
		return err
	}
	if s.options.Action == Compact && version >= 3 {
		s.selectPuffins()
	}
	if s.options.Where == "" { // a manifest holds entries of many partitions
		s.merges = s.state.Merges()
	}
	return nil
}

// block notes that a data file gets no deletion vector, with the first reason found.
func (s *selection) block(f *snapshot.DataFile, reason, detail, hint string) {
	if s.blocked[f] {
		return
	}
	skip := Skip{Reason: reason, DataFile: f.Path, Detail: detail, Hint: hint}
	if dv := f.DV(); dv != nil {
		skip.Location = dv.Path
	}
	s.blocked[f] = true
	if s.chosen(f.Group) {
		s.skipped = append(s.skipped, skip)
	}
	for _, dv := range f.DVs {
		s.fixed[dv] = true
	}
}

const hintCheck = "it stays as it is until the table is repaired"

// blockFaulty finds the data files whose deletes are already wrong in a way that the manifests show.
func (s *selection) blockFaulty(version int) {
	shared := map[snapshot.FileID]int{}
	for _, d := range s.state.DVs {
		shared[d.FileID]++
	}
	for _, f := range s.sortedDataFiles() {
		switch dv := f.DV(); {
		case f.Twice:
			s.block(f, "data-file-twice", "the data file is live in two manifest entries", hintCheck)
		case len(f.DVs) > 1:
			s.block(f, "dv-duplicate", fmt.Sprintf("%d live deletion vectors for one data file", len(f.DVs)), hintCheck)
		case dv == nil:
		case version < 3:
			s.block(f, "dv-in-v2", "a deletion vector in a table of format version 2", hintCheck)
		case dv.Offset < 0 || dv.Length < 0:
			s.block(f, "dv-fields-missing", "the deletion vector's entry lacks content_offset or content_size_in_bytes", hintCheck)
		case shared[dv.FileID] > 1:
			s.block(f, "dv-listed-twice", "two live entries name the same bytes of a Puffin file", hintCheck)
		case dv.Group != f.Group:
			s.block(f, "dv-partition", "the deletion vector's spec or partition differs from its data file's", hintCheck)
		case dv.Seq < f.Seq:
			s.block(f, "dv-sequence", fmt.Sprintf("the deletion vector's data sequence number %d is below its data file's %d", dv.Seq, f.Seq), hintCheck)
		}
	}
}

// noteUnbound reports the deletion vectors that belong to no data file because of what their entries lack.
func (s *selection) noteUnbound(version int) {
	for _, d := range s.state.DanglingDVs {
		switch {
		case !d.Unbound(), !s.chosen(d.Group):
		case version < 3:
			s.skipped = append(s.skipped, Skip{Reason: "dv-in-v2", Location: d.Path, Detail: "a deletion vector in a table of format version 2, whose entry does not say what it is about", Hint: hintCheck})
		default:
			s.skipped = append(s.skipped, Skip{Reason: "dv-fields-missing", Location: d.Path, Detail: "the deletion vector's entry lacks referenced_data_file, content_offset or content_size_in_bytes", Hint: hintCheck})
		}
	}
}

func (s *selection) sortedDataFiles() []*snapshot.DataFile {
	var out []*snapshot.DataFile
	for _, g := range s.state.SortedGroups() {
		out = append(out, g.Data...)
	}
	return out
}

// selectGroups takes every partition with position delete files: all of them are merged, or none of a partition's
// data files may get a deletion vector, which would hide the others.
func (s *selection) selectGroups(version int) {
	if len(s.state.PositionDeletes) == 0 {
		return
	}
	if version < 3 {
		if s.options.Action == Compact || !s.options.UpgradeFormat {
			s.skipped = append(s.skipped, Skip{
				Reason: "format-version", Detail: fmt.Sprintf("%d position delete files in a table of format version %d, which cannot hold deletion vectors", len(s.state.PositionDeletes), version),
				Hint: "migrate --upgrade-format upgrades the table to version 3, which cannot be undone",
			})
			return
		}
		s.upgrade = true
	}
	for _, g := range s.state.SortedGroups() {
		switch {
		case len(g.PositionDeletes) == 0:
		case !s.chosen(g):
			s.leave(g)
		case s.blockHot(g):
			s.groups = append(s.groups, g)
			s.partitions = append(s.partitions, PartitionPlan{
				SpecID: g.Key.SpecID, Partition: g.Label, DataFiles: len(g.Data), PositionDeleteFiles: len(g.PositionDeletes), Records: g.DeleteRecords(),
			})
			s.blockUnreadable(g)
		}
	}
}

// blockUnreadable blocks the data files that a position delete file of a format that is not read may apply to.
func (s *selection) blockUnreadable(g *snapshot.Group) {
	for _, d := range g.PositionDeletes {
		if positiondelete.Readable(d.Format) {
			continue
		}
		s.skipped = append(s.skipped, Skip{Reason: "format-unreadable", Location: d.Path, Detail: fmt.Sprintf("position delete file in %s", d.Format),
			Hint: "it and every delete of the data files it may apply to stay live"})
		s.blockTargets(d, "format-unreadable", fmt.Sprintf("position delete file %s may apply and is in %s", d.Path, d.Format))
	}
}

// blockTargets blocks every data file that a delete file may apply to.
func (s *selection) blockTargets(d *snapshot.DeleteFile, reason, detail string) {
	for _, f := range d.Group.Data {
		if d.AppliesTo(f) {
			s.block(f, reason, detail, "")
		}
	}
}

// selectDangling finds the deletion vectors whose data file is gone. One whose path almost exists stays: the writer may
// have meant the live one.
func (s *selection) selectDangling() map[*snapshot.DeleteFile]bool {
	out := map[*snapshot.DeleteFile]bool{}
	for _, d := range s.state.DanglingDVs {
		twin, near := s.twins[d.Referenced]
		switch {
		case d.Unbound():
			s.fixed[d] = true
		case near:
			s.skipped = append(s.skipped, Skip{Reason: "path-near-miss", Location: d.Path, DataFile: d.Referenced, Detail: "the deletion vector's data file is not live, but " + twin.Path + " is", Hint: hintCheck})
			s.fixed[d] = true
		default:
			out[d] = true
		}
	}
	return out
}

// selectPuffins chooses whole Puffin files: those with dangling or dead blobs, and small ones where packing all of them
// makes fewer. The default snapshot expiry of the reference implementation deletes the Puffin of a retired deletion
// vector, so all live siblings of one are always written anew with it.
func (s *selection) selectPuffins() {
	dangling := s.selectDangling()
	puffins := s.state.Puffins()
	var small []string
	packing := newPacking(s.options.TargetPuffinSize)
	for _, g := range s.groups {
		packing.addFresh(g, s.blocked)
	}
	for _, location := range sortedKeys(puffins) {
		dvs := puffins[location]
		if s.outside(dvs) || slices.ContainsFunc(dvs, func(d *snapshot.DeleteFile) bool { return s.fixed[d] }) {
			continue
		}
		dead := deadBytes(dvs)
		drop := slices.ContainsFunc(dvs, func(d *snapshot.DeleteFile) bool { return dangling[d] })
		isSmall := dvs[0].Size < s.options.TargetPuffinSize/4*3
		switch {
		case (drop || dead > 0 || isSmall) && s.hotVectors(dvs):
		case drop:
			s.takePuffin(location, dvs, dangling, dead, "dangling")
			packing.addDue(dvs, dangling)
		case dead > 0:
			s.takePuffin(location, dvs, dangling, dead, "dead-bytes")
			packing.addDue(dvs, dangling)
		case isSmall:
			small = append(small, location)
			packing.addSmall(dvs)
		}
	}
	if !packing.pays() {
		return
	}
	for _, location := range small {
		s.small[location] = true
		s.takePuffin(location, puffins[location], dangling, 0, "small")
	}
}

func (s *selection) takePuffin(location string, dvs []*snapshot.DeleteFile, dangling map[*snapshot.DeleteFile]bool, dead int64, reason string) {
	p := PuffinPlan{Location: location, Bytes: dvs[0].Size, DeadBytes: dead, Reason: reason}
	for _, d := range dvs {
		if dangling[d] {
			s.dangling = append(s.dangling, d)
			continue
		}
		p.DeletionVectors++
		s.retire[d] = true
	}
	s.puffins = append(s.puffins, p)
}

// Sizes of a Puffin footer as writers are known to make it: fixed part, and what a deletion vector's entry takes beside
// its path.
const (
	footerFixed   = 300
	footerPerBlob = 220
)

// deadBytes says how many bytes of a Puffin no live deletion vector uses, going by the manifests alone: gaps between
// live blobs, and a tail that is too long to be the footer of the live ones.
func deadBytes(dvs []*snapshot.DeleteFile) int64 {
	sorted := slices.Clone(dvs)
	slices.SortFunc(sorted, func(a, b *snapshot.DeleteFile) int { return int(min(1, max(-1, a.Offset-b.Offset))) })
	var dead int64
	end := int64(4) // head magic
	footer := int64(footerFixed)
	for _, d := range sorted {
		if d.Offset > end {
			dead += d.Offset - end
		}
		end = max(end, d.Offset+d.Length)
		footer += footerPerBlob + int64(len(d.Referenced))
	}
	if tail := dvs[0].Size - end - footer; tail > 0 {
		dead += tail
	}
	return dead
}
