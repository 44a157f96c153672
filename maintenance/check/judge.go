package check

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// report turns what the records taught into findings.
func (r *recordCheck) report() {
	for _, location := range slices.Sorted(maps.Keys(r.files)) {
		f := r.files[location]
		if r.unreadable(f); f.err != nil {
			continue
		}
		r.rows(f)
		r.boundsAgainst(f)
		r.paths(f)
		r.superseded(f)
	}
	r.incomplete()
	r.outOfRange()
}

// unreadable reports a file that could not be read to its end. Nulls have a name of their own.
func (r *recordCheck) unreadable(f *recordFacts) {
	if f.err == nil {
		return
	}
	d := f.entries[0]
	finding := of("delete-unreadable", d)
	if errors.Is(f.err, positiondelete.ErrNull) {
		finding = of("delete-rows", d)
		finding.Repair = Ask
	}
	finding.Rows = &d.Records
	finding.Detail = f.err.Error()
	r.add(finding)
}

// rows reports records that break the rules for position delete files but leave no doubt about what they mean.
func (r *recordCheck) rows(f *recordFacts) {
	d := f.entries[0]
	odd := func(format string, args ...any) {
		finding := of("delete-rows", d)
		finding.Repair, finding.Rows, finding.Detail = Safe, &d.Records, fmt.Sprintf(format, args...)
		r.add(finding)
	}
	if f.unsorted {
		odd("the records are not sorted by file_path and pos: some readers lose rows of such files")
	}
	if f.byName {
		odd("a column lacks its reserved field id, so that readers have to go by its name")
	}
	if n := f.negative + f.beyond; n > 0 {
		finding := of("position-out-of-range", d)
		finding.Rows = &n
		finding.Detail = fmt.Sprintf("%d records have a position below 0 or above the largest that a deletion vector can hold", n)
		r.add(finding)
	}
}

// boundsAgainst compares the column bounds of file_path with the paths of which the file deletes rows. Bounds that are
// too wide are slow and not wrong, and those that exclude a path that is not live lose nothing.
func (r *recordCheck) boundsAgainst(f *recordFacts) {
	if f.least == nil {
		return
	}
	for _, d := range f.entries {
		b := r.seen.bounds[d.FileID]
		finding := of("delete-bounds", d)
		finding.Rows = &d.Records
		switch {
		case r.misbounded[d]: // said already
			continue
		case b.lower != nil && *b.lower > string(f.least):
			finding.Expected, finding.Actual = string(f.least), *b.lower
			finding.Detail = fmt.Sprintf("the lower bound of file_path %q is above the path %q in the file", *b.lower, f.least)
		case b.upper != nil && *b.upper < string(f.most):
			finding.Expected, finding.Actual = string(f.most), *b.upper
			finding.Detail = fmt.Sprintf("the upper bound of file_path %q is below the path %q in the file", *b.upper, f.most)
		default:
			continue
		}
		r.add(finding)
	}
}

// paths reports paths that the file names and that it does not delete rows of. Which of them are live elsewhere, or
// almost, is known later.
func (r *recordCheck) paths(f *recordFacts) {
	d := f.entries[0]
	for path := range f.stale {
		finding := of("delete-reference-stale", d)
		finding.DataFile, finding.Expected, finding.Actual, finding.Rows = path, path, d.Referenced, &d.Records
		finding.Detail = "records name this live data file, but referenced_data_file is " + d.Referenced
		r.add(finding)
	}
	if len(f.unmatched) == 0 {
		return
	}
	r.whenKnown(later{paths: slices.Sorted(maps.Keys(f.unmatched)), then: func(twins map[string]snapshot.Twin) { r.unmatched(f, twins) }})
}

// unmatched judges paths that are live nowhere in the partition of the file.
func (r *recordCheck) unmatched(f *recordFacts, twins map[string]snapshot.Twin) {
	d := f.entries[0]
	var gone []string
	elsewhere := ""
	for _, path := range slices.Sorted(maps.Keys(f.unmatched)) {
		switch twin, known := twins[path]; {
		case !known:
			gone = append(gone, path)
		case twin.Exact:
			elsewhere = path
		default:
			finding := of("path-near-miss", d)
			finding.DataFile, finding.Expected, finding.Actual = twin.Path, twin.Path, path
			finding.Detail = "records name " + path + ", which is not live, but this data file is"
			r.add(finding)
		}
	}
	if elsewhere != "" && len(f.targets) == 0 {
		finding := of("delete-partition", d)
		finding.DataFile, finding.Actual, finding.Rows = elsewhere, place(d.Group), &d.Records
		finding.Detail = "all records name data files of another spec or partition, to which they do not apply"
		r.add(finding)
	}
	if len(gone) > 0 {
		finding := of("delete-dangling-records", d)
		finding.DataFile = ""
		finding.Detail = fmt.Sprintf("%d of the data files that the records name are gone, %d are live", len(gone), len(f.targets))
		r.add(finding)
	}
}

// superseded reports a file that deletes nothing that deletion vectors do not delete as well.
func (r *recordCheck) superseded(f *recordFacts) {
	if len(f.targets) == 0 {
		return
	}
	for data := range f.targets {
		if dv := data.DV(); dv == nil || dv.Unbound() || data.Twice || r.unread[data] || r.lost[data] != nil {
			return
		}
	}
	finding := of("delete-superseded", f.entries[0])
	finding.Detail = fmt.Sprintf("its records of %d data files are all in their deletion vectors", len(f.targets))
	r.add(finding)
}

// incomplete reports deletion vectors that hide position deletes.
func (r *recordCheck) incomplete() {
	for data, lost := range r.lost {
		n := lost.Cardinality()
		finding := of("dv-incomplete", data.DV())
		finding.Rows = &n
		files := slices.Sorted(maps.Keys(r.by[data]))
		finding.Detail = fmt.Sprintf("%d positions of live position delete files are not in the deletion vector, so that their rows are back: %s", n, strings.Join(some(files), ", "))
		r.add(finding)
	}
}

// some shortens a list that is meant to be read.
func some(all []string) []string {
	const enough = 3
	if len(all) <= enough {
		return all
	}
	return append(slices.Clone(all[:enough]), fmt.Sprintf("and %d more", len(all)-enough))
}

// outOfRange reports records beyond the rows of their data file.
func (r *recordCheck) outOfRange() {
	for data, files := range r.far {
		for location, n := range files {
			finding := of("position-out-of-range", r.files[location].entries[0])
			finding.DataFile, finding.Rows, finding.Expected = data.Path, &n, fmt.Sprintf("below %d", data.Records)
			finding.Detail = fmt.Sprintf("%d records have positions beyond the %d rows that the manifest counts", n, data.Records)
			r.add(finding)
		}
	}
}
