package repair

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// assign gives each finding to the data file, entry or manifest that it is about.
func (r *repairer) assign(ctx context.Context) error {
	err := r.each(func(f *check.Finding) error {
		switch treatmentOf(f.Issue) {
		case ofVector:
			return r.assignVector(ctx, f)
		case ofPuffin:
			return r.assignPuffin(f)
		case ofObject:
			return r.assignObject(ctx, f)
		case ofDeletes:
			return r.assignDeletes(f)
		case ofNearMiss:
			return r.assignNearMiss(f)
		case ofEntry:
			return r.assignEntry(f)
		case ofHistory:
			return r.assignHistory(f)
		case ofManifest:
			return r.assignManifest(f)
		case ofSummary:
			if r.totals = r.found.Totals; r.totals == nil {
				return cannot(f, "a manifest could not be read, so that nobody can count")
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, p := range r.sorted() {
		if err := r.single(p.file); err != nil {
			return err
		}
	}
	return nil
}

// patient returns the patient of a data file, made if need be, and notes the finding.
func (r *repairer) patient(path string, f *check.Finding) (*patient, error) {
	p := r.patients[path]
	if p == nil {
		file := r.state.DataFiles[path]
		if file == nil {
			return nil, cannot(f, "the data file %s is not live", path)
		}
		p = &patient{file: file, vectors: slices.Clone(file.DVs), faults: map[*snapshot.DeleteFile]map[string]*check.Finding{}, lost: puffin.NewBitmap()}
		r.patients[path] = p
	}
	if !slices.Contains(p.findings, f) {
		p.findings = append(p.findings, f)
	}
	return p, nil
}

// fault notes a finding about one of a patient's entries.
func (p *patient) fault(d *snapshot.DeleteFile, f *check.Finding) {
	if !slices.Contains(p.vectors, d) {
		p.vectors = append(p.vectors, d)
	}
	if p.faults[d] == nil {
		p.faults[d] = map[string]*check.Finding{}
	}
	p.faults[d][f.Issue] = f
}

// sorted returns the patients by partition spec and path: a Puffin file holds the vectors of one spec.
func (r *repairer) sorted() []*patient {
	out := make([]*patient, 0, len(r.patients))
	for _, p := range r.patients {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *patient) int { return compareFiles(a.file, b.file) })
	return out
}

func compareFiles(a, b *snapshot.DataFile) int {
	return cmp.Or(cmp.Compare(a.Group.Key.SpecID, b.Group.Key.SpecID), strings.Compare(a.Path, b.Path))
}

// vectorsOf finds the live entries that a finding is about.
func (r *repairer) vectorsOf(f *check.Finding) []*snapshot.DeleteFile {
	var out []*snapshot.DeleteFile
	for _, d := range r.puffins[f.Location] {
		if d.Referenced != f.DataFile && d.Referenced != "" && f.DataFile != "" {
			continue
		}
		if f.Offset == nil && d.Unbound() || f.Offset != nil && f.Length != nil && *f.Offset == d.Offset && *f.Length == d.Length {
			out = append(out, d)
		}
	}
	return out
}

// assignVector is for findings about one deletion vector. That of a data file which is gone goes.
func (r *repairer) assignVector(ctx context.Context, f *check.Finding) error {
	entries := r.vectorsOf(f)
	if len(entries) == 0 {
		return cannot(f, "its entry in the manifests was not found")
	}
	nameless := f.Issue == "dv-fields-missing"
	for _, d := range entries {
		path := d.Referenced
		if nameless && f.Repair == check.Fix {
			path = f.DataFile
		}
		switch {
		case nameless && f.Repair == check.Ask:
			r.gone[d] = &departure{finding: f, restored: d.Records}
		case path == "":
			return cannot(f, "its entry does not say which data file it is about: name dv-fields-missing as well")
		case r.state.DataFiles[path] == nil && r.nearMiss(d.Path, path):
			return cannot(f, "its data file is not live, and almost is: name path-near-miss as well, and say with --alias what the path means")
		case r.state.DataFiles[path] == nil:
			r.gone[d] = &departure{finding: f}
			r.absent[path] = true
		default:
			p, err := r.patient(path, f)
			if err != nil {
				return err
			}
			p.fault(d, f)
		}
	}
	if nameless && len(entries) > 1 {
		return cannot(f, "%d entries of the same Puffin file lack fields, and cannot be told apart", len(entries))
	}
	return ctx.Err()
}

// assignPuffin is for findings about a whole Puffin file: all its live deletion vectors move.
func (r *repairer) assignPuffin(f *check.Finding) error {
	for _, d := range r.puffins[f.Location] {
		if r.state.DataFiles[d.Referenced] == nil {
			continue // together decides about those without a live data file
		}
		p, err := r.patient(d.Referenced, f)
		if err != nil {
			return err
		}
		p.fault(d, f)
	}
	return nil
}

// assignObject is for findings that may be about files of any kind.
func (r *repairer) assignObject(ctx context.Context, f *check.Finding) error {
	if len(r.puffins[f.Location]) > 0 {
		if f.Offset != nil {
			return r.assignVector(ctx, f)
		}
		return r.assignPuffin(f)
	}
	if slices.ContainsFunc(r.state.PositionDeletes, func(d *snapshot.DeleteFile) bool { return d.Path == f.Location }) {
		return r.assignDeletes(f)
	}
	return r.assignManifest(f)
}

// assignEntry is for entries that go.
func (r *repairer) assignEntry(f *check.Finding) error {
	if r.restored[f.Location] != nil {
		return r.assignDeletes(f)
	}
	found := false
	for d := range r.state.Deletes() {
		if d.Path != f.Location || f.Offset != nil && (d.Offset != *f.Offset || f.Length == nil || d.Length != *f.Length) {
			continue
		}
		found = true
		r.gone[d] = &departure{finding: f}
		switch f.Issue {
		case "dv-dangling":
			r.absent[d.Referenced] = true
		case "delete-unreadable":
			r.gone[d].restored = d.Records
		case "delete-superseded", "delete-aged":
			if other := r.otherFaults(d.Path, f); len(other) > 0 {
				return cannot(f, "its position delete file also has %s: repair that first", strings.Join(other, ", "))
			}
			for _, data := range d.Group.Data {
				if d.AppliesTo(data) {
					r.watched[data] = true
				}
			}
		}
	}
	if !found {
		return cannot(f, "its entry in the manifests was not found")
	}
	return nil
}

// assignHistory is for rows that came back: they are deleted again.
func (r *repairer) assignHistory(f *check.Finding) error {
	if f.Positions == nil {
		return cannot(f, "the positions that were deleted cannot be read any more")
	}
	p, err := r.patient(f.DataFile, f)
	if err != nil {
		return err
	}
	p.lost.Or(f.Positions)
	return nil
}

// assignManifest is for findings about manifests.
func (r *repairer) assignManifest(f *check.Finding) error {
	if r.corrected[f.Location] != nil {
		return nil
	}
	for _, m := range r.state.DeleteManifests() {
		if m.FilePath() == f.Location {
			r.rewrite[f.Location] = true
			return nil
		}
	}
	return cannot(f, "data manifests are never rewritten: the engine's procedure for rewriting manifests mends it")
}
