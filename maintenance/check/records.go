package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// recordCheck is the check of the records of all position delete files. What one reading learns is kept as facts; which
// positions are in deletion vectors is compared in as many passes as the memory asks for.
type recordCheck struct {
	*checker
	files map[string]*recordFacts

	mu     sync.Mutex
	unread map[*snapshot.DataFile]bool           // whose deletion vector could not be read
	lost   map[*snapshot.DataFile]*puffin.Bitmap // positions that the deletion vector lacks
	by     map[*snapshot.DataFile]map[string]bool
	far    map[*snapshot.DataFile]map[string]int64 // records beyond the rows of a data file, by delete file
}

// records reads the records of position delete files.
func (c *checker) records(ctx context.Context) error {
	r := &recordCheck{
		checker: c, files: map[string]*recordFacts{}, unread: map[*snapshot.DataFile]bool{}, lost: map[*snapshot.DataFile]*puffin.Bitmap{},
		by: map[*snapshot.DataFile]map[string]bool{}, far: map[*snapshot.DataFile]map[string]int64{},
	}
	for _, d := range c.survey.State.PositionDeletes {
		r.choose(d)
	}
	if len(r.files) == 0 {
		return nil
	}
	for i, part := range r.parts() {
		if err := r.pass(ctx, part, i == 0); err != nil {
			return err
		}
	}
	r.report()
	return nil
}

// choose decides whether a file is read. Several entries may list one.
func (r *recordCheck) choose(d *snapshot.DeleteFile) {
	about := d.Referenced
	if about == "" {
		about = d.Path
	}
	switch {
	case r.gone[d.Path] || !r.options.Subset.Has(about):
	case !positiondelete.Readable(d.Format):
		r.skip(maintenance.Skip{Reason: "format-unreadable", Location: d.Path,
			Detail: fmt.Sprintf("position delete file in %s", d.Format), Hint: "its records were not checked"})
	case r.files[d.Path] != nil:
		f := r.files[d.Path]
		f.entries = append(f.entries, d)
	default:
		r.files[d.Path] = newRecordFacts(d)
	}
}

// parts cuts the data files that have a deletion vector beside position delete files into sets whose deletion vectors
// fit half of the memory. There is always one, if only of nothing: the records are read in any case.
func (r *recordCheck) parts() [][]*snapshot.DataFile {
	const expansion = 4 // a bitmap in memory is rarely larger than this many times its blob
	out := [][]*snapshot.DataFile{nil}
	room := r.options.Memory / 2
	for _, g := range r.survey.State.SortedGroups() {
		if len(g.PositionDeletes) == 0 {
			continue
		}
		for _, f := range g.Data {
			dv := f.DV()
			if dv == nil || dv.Unbound() {
				continue
			}
			need := dv.Length * expansion
			if last := len(out) - 1; len(out[last]) > 0 && need > room {
				out, room = append(out, nil), r.options.Memory/2
			}
			out[len(out)-1] = append(out[len(out)-1], f)
			room -= need
		}
	}
	return out
}

// pass compares the records with the deletion vectors of some data files.
func (r *recordCheck) pass(ctx context.Context, part []*snapshot.DataFile, first bool) error {
	vectors, err := r.vectorsOf(ctx, part)
	if err != nil {
		return err
	}
	locations := slices.Sorted(maps.Keys(r.files))
	if !first {
		locations = slices.DeleteFunc(locations, func(l string) bool {
			return !slices.ContainsFunc(part, func(f *snapshot.DataFile) bool { return r.files[l].targets[f] })
		})
	}
	r.options.Progress.Stage("reading position delete files", int64(len(locations)), "files")
	return r.each(ctx, locations, func(ctx context.Context, location string) error {
		return r.read(ctx, r.files[location], vectors, first)
	})
}

// vectorsOf reads the deletion vectors of data files. One that cannot be read is a finding of its own.
func (r *recordCheck) vectorsOf(ctx context.Context, part []*snapshot.DataFile) (map[*snapshot.DataFile]*puffin.Bitmap, error) {
	byPuffin := map[string][]*snapshot.DataFile{}
	for _, f := range part {
		byPuffin[f.DV().Path] = append(byPuffin[f.DV().Path], f)
	}
	out := map[*snapshot.DataFile]*puffin.Bitmap{}
	r.options.Progress.Stage("reading deletion vectors", int64(len(byPuffin)), "files")
	err := r.each(ctx, slices.Sorted(maps.Keys(byPuffin)), func(ctx context.Context, location string) error {
		files := byPuffin[location]
		ranges := make([]puffin.DeletionVectorRange, len(files))
		for i, f := range files {
			ranges[i] = maintenance.RangeOf(f.DV())
		}
		return puffin.ReadDeletionVectors(ctx, r.table.Store.Object(location, 0), ranges, puffin.ReadOptions{}, func(i int, b *puffin.Bitmap, err error) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			switch {
			case err == nil:
				out[files[i]] = b
			case errors.Is(err, puffin.ErrCorrupt), errors.Is(err, fs.ErrNotExist):
				r.unread[files[i]] = true
			default:
				return err
			}
			return nil
		})
	})
	return out, err
}

// read reads one position delete file.
func (r *recordCheck) read(ctx context.Context, f *recordFacts, vectors map[*snapshot.DataFile]*puffin.Bitmap, first bool) error {
	v := &recordVisitor{check: r, facts: f, vectors: vectors, first: first}
	d := f.entries[0]
	file := maintenance.FileOf(r.table.Store, d)
	file.ByName = func() { f.byName = true }
	err := positiondelete.Read(ctx, file, v.visit)
	var bad *positiondelete.Error
	switch {
	case err == nil:
	case errors.As(err, &bad):
		f.err = bad
	case errors.Is(err, fs.ErrNotExist):
		f.err = &positiondelete.Error{Location: d.Path, Err: err}
	default:
		return err
	}
	if first {
		r.checker.mu.Lock()
		r.checker.report.Checked.PositionDeleteFiles++
		r.checker.mu.Unlock()
	}
	return nil
}
