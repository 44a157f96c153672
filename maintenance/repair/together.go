package repair

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// single refuses a data file of which something else is unclear than what the operator named.
func (r *repairer) single(file *snapshot.DataFile) error {
	other := slices.Sorted(slices.Values(r.unclear[file.Path]))
	switch {
	case file.Twice:
		return fmt.Errorf("%w: the data file %s is live in two entries", ErrNoRepair, file.Path)
	case len(other) > 0:
		return fmt.Errorf("%w: the deletes of %s also have %s: name all of them (--issue %s)", ErrNoRepair, file.Path, strings.Join(other, ", "),
			strings.Join(slices.Concat(r.options.Issues, other), ","))
	}
	return nil
}

// otherFaults are the issues of an object beside a finding that are not repaired and say that it deletes other rows than
// its records say.
func (r *repairer) otherFaults(location string, but *check.Finding) []string {
	out := map[string]bool{}
	for i := range r.found.Findings {
		f := &r.found.Findings[i]
		if f.Location == location && f != but && f.Effect == check.Wrong && !r.chosen[f] {
			out[f.Issue] = true
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// together finds what has to move because its Puffin file has retired deletion vectors from now on: the default snapshot
// expiry of the reference implementation deletes that file by its path.
func (r *repairer) together(context.Context) error {
	leaving, puffins := map[*snapshot.DeleteFile]bool{}, map[string]bool{}
	leave := func(d *snapshot.DeleteFile) {
		leaving[d] = true
		puffins[d.Path] = puffins[d.Path] || d.IsDV()
	}
	for _, p := range r.patients {
		for _, d := range p.vectors {
			leave(d)
		}
	}
	for d := range r.gone {
		leave(d)
	}
	for _, d := range r.state.DVs {
		if !puffins[d.Path] || leaving[d] {
			continue
		}
		if err := r.follow(d); err != nil {
			return err
		}
	}
	slices.SortFunc(r.siblings, compareFiles)
	return nil
}

// follow decides about a deletion vector that shares its Puffin file with one that goes. A dangling one goes too.
func (r *repairer) follow(d *snapshot.DeleteFile) error {
	file := r.state.DataFiles[d.Referenced]
	switch {
	case d.Unbound():
		return fmt.Errorf("%w: %s, which has to be left, has a deletion vector whose entry lacks fields: repair dv-fields-missing together with this", ErrNoRepair, d.Path)
	case file == nil && r.nearMiss(d.Path, d.Referenced):
		return fmt.Errorf("%w: %s, which has to be left, has a deletion vector of %s, which only almost names a live data file: repair path-near-miss together with this", ErrNoRepair, d.Path, d.Referenced)
	case file == nil:
		r.gone[d] = &departure{}
		r.absent[d.Referenced] = true
		return nil
	}
	if err := r.single(file); err != nil {
		return fmt.Errorf("%w (it shares the Puffin file %s with what is repaired)", err, d.Path)
	}
	r.siblings = append(r.siblings, file)
	return nil
}

// nearMiss says whether the check found that a delete names a path that only almost exists.
func (r *repairer) nearMiss(location, path string) bool {
	return slices.ContainsFunc(r.found.Findings, func(f check.Finding) bool {
		return f.Issue == "path-near-miss" && f.Location == location && f.Actual == path
	})
}
