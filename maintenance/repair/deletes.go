package repair

import (
	"context"
	"maps"
	"slices"

	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// wrongFile is a position delete file whose entry, or form, is wrong: its records move to deletion vectors, or to position
// delete files with right entries, and it goes.
type wrongFile struct {
	entry    *snapshot.DeleteFile
	findings []*check.Finding
	paths    map[string]bool               // that its records name
	note     string                        // where the records come from, when not from the file as it is
	nulls    int64                         // records that are lost because their path or position is null
	targets  map[string]*snapshot.DataFile // data files that the records were meant for, by the path in them
}

// hidden says whether some reader does not apply the records as they were meant.
func (w *wrongFile) hidden() bool {
	return slices.ContainsFunc(w.findings, func(f *check.Finding) bool {
		switch f.Issue {
		case "delete-bounds", "delete-partition", "delete-reference-stale", "path-near-miss":
			return true
		}
		return false
	})
}

// pathsOf reads which paths a position delete file with a finding names, and adds them to those to look for.
func (r *repairer) pathsOf(ctx context.Context, f *check.Finding, named map[string]bool) error {
	switch treatmentOf(f.Issue) {
	case ofDeletes, ofObject, ofNearMiss:
	default:
		if f.Issue != "delete-unreadable" {
			return nil
		}
	}
	for _, d := range r.state.PositionDeletes {
		if d.Path != f.Location {
			continue
		}
		if f.Issue == "delete-unreadable" {
			if found, err := r.restore(ctx, d, f); !found || err != nil {
				return err
			}
		}
		w := r.wrong[d]
		if w == nil {
			w = &wrongFile{entry: d, note: r.notes[d.Path], paths: map[string]bool{}, targets: map[string]*snapshot.DataFile{}}
			r.wrong[d] = w
			if err := r.readPaths(ctx, w, f); err != nil {
				return err
			}
		}
		w.findings = append(w.findings, f)
		for path := range w.paths {
			named[path] = true
			if live, ok := r.options.meaning(path); ok {
				named[live] = true
			}
		}
	}
	return nil
}

func (r *repairer) readPaths(ctx context.Context, w *wrongFile, f *check.Finding) error {
	file := r.source(w.entry)
	if f.Issue == "delete-rows" && f.Repair == check.Ask {
		file.Nulls = func(n int64) { w.nulls += n }
	}
	err := positiondelete.Read(ctx, file, func(path []byte, _ []int64) error {
		w.paths[string(path)] = true
		return nil
	})
	if err != nil {
		return cannot(f, "%w", err)
	}
	return nil
}

// restore looks for a version of an unreadable position delete file that can be read: then its records are not lost.
func (r *repairer) restore(ctx context.Context, d *snapshot.DeleteFile, f *check.Finding) (bool, error) {
	if r.restored[d.Path] != nil {
		return true, nil
	}
	object, note, err := r.readableVersion(ctx, d)
	if object == nil || err != nil {
		return false, err
	}
	r.restored[d.Path] = object
	r.notes[d.Path] = note
	f.Repair = check.Fix
	return true, nil
}

// source is where to read a position delete file: an older version of one that cannot be read.
func (r *repairer) source(d *snapshot.DeleteFile) positiondelete.File {
	if object := r.restored[d.Path]; object != nil {
		return positiondelete.File{Location: d.Path, Source: object, Format: d.Format, Records: d.Records}
	}
	return maintenance.FileOf(r.table.Store, d)
}

// bindDeletes finds out which data files the records of wrong position delete files were meant for. Paths that are not live
// are compared with all that are: a check that could not read the file to its end did not.
func (r *repairer) bindDeletes(ctx context.Context) error {
	var gone []string
	for _, w := range r.wrong {
		for path := range w.paths {
			if r.state.DataFiles[path] == nil {
				gone = append(gone, path)
			}
		}
	}
	twins, err := r.state.Twins(ctx, r.table.Store.FileIO(ctx), gone)
	if err != nil {
		return err
	}
	for _, w := range r.wrong {
		for path := range w.paths {
			if err := r.bindPath(w, path, twins); err != nil {
				return err
			}
		}
	}
	return nil
}

// bindPath decides about the records of one path. Those that never applied are dropped; what the operator did not name is
// refused.
func (r *repairer) bindPath(w *wrongFile, path string, twins map[string]snapshot.Twin) error {
	d, f := w.entry, w.findings[0]
	file := r.state.DataFiles[path]
	if file == nil {
		if live, ok := r.options.meaning(path); ok {
			file = r.state.DataFiles[live]
		}
	}
	switch {
	case file == nil && twins[path].Path != "":
		return cannot(f, "%s has records of %s, which only almost names a live data file: say with --alias what it means", d.Path, path)
	case file == nil:
		r.absent[path] = true
	case file.Twice:
		return cannot(f, "the data file %s is live in two entries", path)
	case file.Seq > d.Seq: // younger than the deletes, which never applied to it
	case file.Group != d.Group && !r.options.asked("delete-partition"):
		return cannot(f, "%s also has records of %s, which is in another partition: name delete-partition as well", d.Path, path)
	case d.Referenced != "" && d.Referenced != file.Path && !r.options.asked("delete-reference-stale") && !r.options.asked("path-near-miss"):
		return cannot(f, "%s also has records of %s, which is not its referenced_data_file: name delete-reference-stale as well", d.Path, path)
	default:
		w.targets[path] = file
	}
	return nil
}

// assignDeletes makes patients of the data files that a position delete file was meant for. It goes when they have its
// records in another form.
func (r *repairer) assignDeletes(f *check.Finding) error {
	found := false
	for _, d := range r.state.PositionDeletes {
		w := r.wrong[d]
		if d.Path != f.Location || w == nil {
			continue
		}
		found = true
		r.gone[d] = &departure{finding: f, restored: w.nulls}
		for _, path := range slices.Sorted(maps.Keys(w.targets)) {
			p, err := r.patient(w.targets[path].Path, f)
			if err != nil {
				return err
			}
			if !slices.Contains(p.deletes, w) {
				p.deletes = append(p.deletes, w)
			}
		}
	}
	if !found {
		return cannot(f, "its entry in the manifests was not found")
	}
	return nil
}

// assignNearMiss is for deletes that name a data file by an alias.
func (r *repairer) assignNearMiss(f *check.Finding) error {
	for _, d := range r.vectorsOf(f) {
		if d.Referenced != f.Actual {
			continue
		}
		p, err := r.patient(f.Expected, f)
		if err != nil {
			return err
		}
		p.fault(d, f)
		return nil
	}
	return r.assignDeletes(f)
}

// deletesOf reads the position deletes of patients: those that apply as they are, and those that were meant to.
func (r *repairer) deletesOf(ctx context.Context, b *batch) error {
	var files []*snapshot.DeleteFile
	seen := map[*snapshot.DeleteFile]bool{}
	add := func(d *snapshot.DeleteFile) {
		if !seen[d] {
			seen[d] = true
			files = append(files, d)
		}
	}
	for _, p := range b.patients {
		for _, d := range p.file.Group.PositionDeletes {
			if d.AppliesTo(p.file) {
				add(d)
			}
		}
		for _, w := range p.deletes {
			add(w.entry)
		}
	}
	return r.parallel(ctx, len(files), func(ctx context.Context, i int) error { return r.readDeletes(ctx, files[i], b) })
}

// readDeletes reads one position delete file for a batch.
func (r *repairer) readDeletes(ctx context.Context, d *snapshot.DeleteFile, b *batch) error {
	w := r.wrong[d]
	file := r.source(d)
	if w != nil && w.nulls > 0 {
		file.Nulls = func(int64) {} // counted before
	}
	err := positiondelete.Read(ctx, file, func(path []byte, positions []int64) error {
		if w != nil {
			if target := w.targets[string(path)]; target != nil {
				b.add(b.byPath[target.Path], func(s *sources) {
					if w.hidden() {
						s.hidden = with(s.hidden, positions)
					} else {
						s.meant = with(s.meant, positions)
					}
					s.meantSeq = max(s.meantSeq, d.Seq)
				})
			}
			return nil
		}
		if p := b.byPath[string(path)]; p != nil && d.AppliesTo(p.file) {
			b.add(p, func(s *sources) { s.deletes = with(s.deletes, positions); s.seq = max(s.seq, d.Seq) })
		}
		return nil
	})
	if positiondelete.Unreadable(err) {
		b.unreadable(d, err)
		return nil
	}
	return err
}

// with adds positions that a data file can have.
func with(b *puffin.Bitmap, positions []int64) *puffin.Bitmap {
	if b == nil {
		b = puffin.NewBitmap()
	}
	if b.AddMany(positions) != nil {
		for _, pos := range positions {
			_ = b.Add(pos) // its only error is a position that no data file has
		}
	}
	return b
}
