package bugs

import "slices"

// bug is a mistake that somebody could make.
type bug struct {
	rule  string // of docs/architecture.md that it breaks
	what  string
	edits []edit
	by    named // that has to notice it
}

// named is a test of a package; the zero value stands for the random histories.
type named struct{ in, test string }

// edit changes one place.
type edit struct{ file, old, new string }

func bugs() []bug { return slices.Concat(vectorBugs(), inPlaceBugs(), mergeBugs(), whereBugs()) }

// vectorBugs are about deletion vectors and what all runs have in common.
func vectorBugs() []bug {
	return []bug{
		{"1", "entries with status DELETED count as live", []edit{
			{"snapshot/manifest.go", "if err := checked(e); err != nil || e.Status() == iceberg.EntryStatusDELETED {", "if err := checked(e); err != nil {"},
			{"snapshot/manifest.go", "err = checkCounts(m, live)", "_ = checkCounts(m, live)"},
		}, named{}},
		{"2", "every deletion vector of a Puffin file is read from the place of the first", []edit{
			{"maintenance/vectors.go", "ranges[i] = RangeOf(f.DV())", "_ = f\n\t\tranges[i] = RangeOf(files[0].DV())"},
		}, named{}},
		{"3", "position deletes do not apply to data files of the same sequence number", []edit{
			{"snapshot/state.go", "f.Seq <= d.Seq", "f.Seq < d.Seq"},
		}, named{}},
		{"3", "position deletes apply to data files of any sequence number", []edit{
			{"snapshot/state.go", "d.Group == f.Group && f.Seq <= d.Seq &&", "d.Group == f.Group &&"},
		}, named{}},
		{"3", "position deletes apply in every partition", []edit{
			{"snapshot/state.go", "d.Group == f.Group && f.Seq <= d.Seq &&", "f.Seq <= d.Seq &&"},
			{"maintenance/visit.go", "if f == nil || f.Group != v.facts.file.Group && !f.Twice {", "if f == nil {"},
		}, named{}},
		{"5", "a new deletion vector lacks what one of several position delete files deletes", []edit{
			{"maintenance/visit.go", "	if v.acc.bitmap == nil {\n", "	if v.acc.seq > 0 && v.facts.file.Seq < v.acc.seq {\n		return nil\n	}\n	if v.acc.bitmap == nil {\n"},
		}, named{}},
		{"5", "a new deletion vector lacks what was read in an earlier pass", []edit{
			{"maintenance/merge.go", "		if _, in := p.in[t]; in {\n			return true", "		if _, in := p.in[t]; in {\n			return false"},
		}, named{}},
		{"6", "a position delete file goes although a data file that it applies to is not covered", []edit{
			{"maintenance/settle.go", "if !v.gone[t] && !covered(t) {", "if t == nil {"},
		}, named{}},
		{"6", "a data file whose deletes another writer changed stays in the commit", []edit{
			{"maintenance/rebase.go", "if !sameData(f, now) || added[f.Path] {", "if !sameData(f, now) && false {"},
		}, named{}},
		{"8", "the live siblings of a retired deletion vector stay behind", []edit{
			{"maintenance/settle.go", "return stays[d.Path] }", "return false }"},
		}, named{}},
		{"9", "a new deletion vector takes the sequence number of its snapshot", []edit{
			{"snapshot/additions.go", "	if seq == Fresh {\n", "	if seq == Fresh || true {\n"},
		}, named{}},
		{"9", "the sequence number of a new deletion vector is that of the first source", []edit{
			{"maintenance/visit.go", "v.acc.seq = max(v.acc.seq, v.facts.file.Seq)", "if v.acc.seq <= 0 {\n		v.acc.seq = v.facts.file.Seq\n	}"},
		}, named{}},
		{"10", "a manifest is written with the current schema although its spec has a dropped source column", []edit{
			{"snapshot/manifests.go", "if current := meta.CurrentSchema(); hasSources(current, spec) {", "if current := meta.CurrentSchema(); true {"},
		}, named{}},
		{"10", "a deletion vector has no partition", []edit{
			{"snapshot/additions.go", "iceberg.PuffinFile, a.Data.Group.Partition, nil, nil", "iceberg.PuffinFile, nil, nil, nil"},
		}, named{}},
		{"12", "equality delete files go with the manifests that are rewritten", []edit{
			{"snapshot/manifests.go", "if f.ContentType() == iceberg.EntryContentPosDeletes && p.change.Remove[fileID(f)] {", "if f.ContentType() == iceberg.EntryContentEqDeletes || p.change.Remove[fileID(f)] {"},
		}, named{}},
		{"14", "what was written is removed after an unknown outcome", []edit{
			{"maintenance/commit.go", "enough = maxLooks // it may still be on its way", "return c.unstage(ctx, staged, err)"},
		}, named{}},
		{"16", "small Puffin files are packed even if that makes no fewer", []edit{
			{"maintenance/packing.go", "return with < p.files+without", "return p.files > 0"},
			{"maintenance/packing.go", "if len(extra) < len(small) {", "if true {"},
		}, named{}},
		{"18", "row ids are given twice", []edit{
			{"snapshot/list.go", "first := nextRowID", "first := max(0, nextRowID-1)\n		nextRowID = first"},
		}, named{}},
	}
}
