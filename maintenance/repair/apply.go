package repair

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// apply copies what is damaged and commits the repair.
func (r *repairer) apply(ctx context.Context, cat maintenance.Catalog, report *Report) error {
	copies, err := r.copyDamaged(ctx, report)
	if err != nil {
		return fmt.Errorf("%s: copying what is damaged: %w", r.table.Name(), errors.Join(err, r.removeCopies(ctx, copies)))
	}
	done, err := maintenance.ApplyPatch(ctx, cat, r.table, r.patch(report), maintenance.Options{
		Memory: r.options.Memory, Parallelism: r.options.Parallelism, Version: r.options.Version, Retry: r.options.Retry, Progress: r.options.Progress, Now: r.options.Now,
	})
	if done != nil {
		report.Committed, report.SnapshotAfter, report.After = done.Committed, done.SnapshotAfter, done.After
		report.DigestAfter, report.Attempts, report.Verified, report.Verification = done.DigestAfter, done.Attempts, done.Verified, done.Verification
		report.Warnings = append(report.Warnings, done.Warnings...)
	}
	report.Applied = report.Committed
	if err != nil && !report.Committed && !errors.Is(err, catalog.ErrUnknown) {
		return errors.Join(err, r.removeCopies(ctx, copies))
	}
	report.Copies = copies
	return err
}

// patch is the repair in the terms of the pipeline.
func (r *repairer) patch(report *Report) *maintenance.Patch {
	p := &maintenance.Patch{
		ID: report.PlanID, Action: Action, Ref: r.options.Ref, State: r.state, Corrected: r.corrected, Remove: r.removed(),
		Rewrite: slices.Sorted(maps.Keys(r.rewrite)), Totals: r.totals, Repaired: map[string]bool{}, Absent: r.absent,
		Targets: map[snapshot.FileID][]*snapshot.DataFile{}, Upgrade: r.upgrade, Operation: table.Operation(report.Operation), Tag: report.Tag, Inspect: r.inspect,
		Summary: map[string]string{maintenance.RepairKey: strings.Join(r.issues(), ",")},
	}
	if r.tagged {
		p.Tag = ""
	}
	if report.NeedsConfirmation {
		p.Summary["dvcompactor.restored-rows"] = fmt.Sprint(report.RestoreRows)
	}
	for _, one := range r.sorted() {
		p.Watched = append(p.Watched, one.file)
		p.Repaired[one.file.Path] = true
	}
	p.Watched = append(p.Watched, r.siblings...)
	p.Watched = append(p.Watched, slices.SortedFunc(maps.Keys(r.watched), compareFiles)...)
	for d := range r.gone {
		p.Repaired[d.Referenced] = true
	}
	planned := map[string]DataFile{}
	for _, f := range report.DataFiles {
		planned[f.Path] = f
	}
	if r.formatVersion() < 3 {
		p.PositionDeletes = func(ctx context.Context, yield func(maintenance.PatchFile) error) error {
			return r.newDeletes(ctx, planned, yield)
		}
		return p
	}
	p.Vectors = func(ctx context.Context, yield func([]maintenance.PatchVector) error) error {
		return r.newVectors(ctx, planned, yield)
	}
	for d, w := range r.wrong {
		p.Targets[d.FileID] = slices.Collect(maps.Values(w.targets))
	}
	return p
}

func (r *repairer) issues() []string {
	var out []string
	for f := range r.chosen {
		if !slices.Contains(out, f.Issue) {
			out = append(out, f.Issue)
		}
	}
	slices.Sort(out)
	return out
}

// outcomes works everything out once more, now with the bitmaps, and makes sure that it is what was shown.
func (r *repairer) outcomes(ctx context.Context, planned map[string]DataFile, each func([]*outcome) error) error {
	return r.batches(ctx, func(b *batch) error {
		var out []*outcome
		for _, p := range b.patients {
			o, err := r.resolve(ctx, b, p)
			if err != nil {
				return err
			}
			if was, is := planned[p.file.Path], o.report(); !reflect.DeepEqual(was, is) {
				return fmt.Errorf("%w: the deletes of %s came out as %d positions, and before as %d", maintenance.ErrProof, p.file.Path, is.After, was.After)
			}
			out = append(out, o)
		}
		return each(out)
	})
}

// newVectors gives the new deletion vectors of patients, then those of their neighbours in Puffin files.
func (r *repairer) newVectors(ctx context.Context, planned map[string]DataFile, yield func([]maintenance.PatchVector) error) error {
	err := r.outcomes(ctx, planned, func(outcomes []*outcome) error {
		var out []maintenance.PatchVector
		for _, o := range outcomes {
			if !o.positions.IsEmpty() {
				out = append(out, maintenance.PatchVector{File: o.patient.file, Positions: o.positions, Seq: o.seq})
			}
		}
		return yield(out)
	})
	if err != nil {
		return err
	}
	const atOnce = 256
	for part := range slices.Chunk(r.siblings, atOnce) {
		vectors, err := r.moved(ctx, part)
		if err == nil {
			err = yield(vectors)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// moved reads sound deletion vectors that get another place.
func (r *repairer) moved(ctx context.Context, files []*snapshot.DataFile) ([]maintenance.PatchVector, error) {
	out := make([]maintenance.PatchVector, len(files))
	byPuffin := map[string][]int{}
	for i, file := range files {
		byPuffin[file.DV().Path] = append(byPuffin[file.DV().Path], i)
	}
	locations := slices.Sorted(maps.Keys(byPuffin))
	err := r.parallel(ctx, len(locations), func(ctx context.Context, n int) error {
		indexes := byPuffin[locations[n]]
		ranges := make([]puffin.DeletionVectorRange, len(indexes))
		for k, i := range indexes {
			ranges[k] = maintenance.RangeOf(files[i].DV())
		}
		return puffin.ReadDeletionVectors(ctx, r.table.Store.Object(locations[n], 0), ranges, puffin.ReadOptions{}, func(k int, b *puffin.Bitmap, err error) error {
			file := files[indexes[k]]
			if err != nil {
				return fmt.Errorf("deletion vector of %s: %w", file.Path, err)
			}
			out[indexes[k]] = maintenance.PatchVector{File: file, Positions: b, Seq: file.DV().Seq}
			return nil
		})
	})
	return out, err
}

// newDeletes gives the position delete files of a table that cannot have deletion vectors: for each partition one, or one
// for each data file where it was one before.
func (r *repairer) newDeletes(ctx context.Context, planned map[string]DataFile, yield func(maintenance.PatchFile) error) error {
	return r.outcomes(ctx, planned, func(outcomes []*outcome) error {
		files := map[fileKey]*maintenance.PatchFile{}
		var order []fileKey
		for _, o := range outcomes {
			extra := o.extra()
			if extra.IsEmpty() {
				continue
			}
			key := fileKey{o.patient.file.Group, o.seq, ""}
			if o.patient.ownFile() {
				key.path = o.patient.file.Path
			}
			if files[key] == nil {
				files[key] = &maintenance.PatchFile{Group: key.group, Seq: key.seq, Positions: map[string]*puffin.Bitmap{}}
				order = append(order, key)
			}
			files[key].Positions[o.patient.file.Path] = extra
		}
		for _, key := range order {
			if err := yield(*files[key]); err != nil {
				return err
			}
		}
		return nil
	})
}

// fileKey is what the records of one position delete file have in common.
type fileKey struct {
	group *snapshot.Group
	seq   int64
	path  string // of the only data file, "" for several
}

// ownFile says whether the position deletes of a patient were in files about it alone.
func (p *patient) ownFile() bool {
	return !slices.ContainsFunc(p.deletes, func(w *wrongFile) bool { return len(w.targets) > 1 })
}

// inspect checks the table as it would be: nothing that was repaired may be found, and nothing new.
func (r *repairer) inspect(ctx context.Context, would *catalog.Table) error {
	o := r.options.check()
	o.History, o.Positions = -1, false
	after, err := check.Run(ctx, would, o)
	if err != nil {
		return err
	}
	type place struct{ issue, at string }
	placeOf := func(f *check.Finding) place {
		if f.DataFile != "" {
			return place{f.Issue, f.DataFile}
		}
		return place{f.Issue, f.Location}
	}
	was, mended := map[place]bool{}, map[place]bool{}
	for i := range r.found.Findings {
		f := &r.found.Findings[i]
		was[placeOf(f)] = true
		mended[placeOf(f)] = mended[placeOf(f)] || r.chosen[f]
	}
	for i := range after.Findings {
		f := &after.Findings[i]
		switch at := placeOf(f); {
		case mended[at]:
			return fmt.Errorf("%w: the result would still have %s: %s", maintenance.ErrProof, f.Issue, f.Detail)
		case f.Damaged() && !was[at]:
			return fmt.Errorf("%w: the result would have %s: %s", maintenance.ErrProof, f.Issue, f.Detail)
		}
	}
	return nil
}
