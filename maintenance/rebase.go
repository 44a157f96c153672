package maintenance

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// rebase compares a newer state of the table with the one that was merged, data file by data file. It looks at states,
// not at history, so it also works when snapshots in between have expired.
func (r *results) rebase(ctx context.Context, store *storage.Store, now *snapshot.State) (*view, error) {
	v := &view{
		state: now, dropped: map[*snapshot.DataFile]bool{}, gone: map[*snapshot.DataFile]bool{},
		missing: map[*snapshot.DeleteFile]bool{}, unsettled: map[*snapshot.DeleteFile]bool{},
	}
	live := liveDeletes(now)
	for _, f := range r.facts {
		if d := live[f.file.FileID]; d == nil || d.Seq != f.file.Seq || d.Group.Key != f.file.Group.Key {
			v.missing[f.file] = true
			for t := range f.targets {
				v.dropped[t] = true // a source of what was merged is gone
			}
		}
	}
	for _, d := range r.sel.dangling {
		if live[d.FileID] == nil || now.DataFiles[d.Referenced] != nil {
			v.missing[d] = true // gone, or its data file is back
		}
	}
	added, err := r.newDeletes(ctx, store, now)
	if err != nil {
		return nil, err
	}
	for _, f := range r.sel.sortedDataFiles() {
		r.compare(f, v, added)
	}
	r.findNewTargets(v)
	return v, nil
}

func liveDeletes(s *snapshot.State) map[snapshot.FileID]*snapshot.DeleteFile {
	out := map[snapshot.FileID]*snapshot.DeleteFile{}
	for d := range s.Deletes() {
		out[d.FileID] = d
	}
	return out
}

// compare drops a data file that was replaced, whose deletion vector changed or to which a new position delete applies.
func (r *results) compare(f *snapshot.DataFile, v *view, added map[string]bool) {
	now := v.state.DataFiles[f.Path]
	if now == nil {
		// The state keeps only data files that deletes may apply to. A data file that is not there is either not live or
		// has lost all its deletes; neither may get the deletion vector that was made for it.
		v.gone[f] = true
		if dv := f.DV(); dv != nil {
			v.missing[dv] = true
		}
		return
	}
	same := now.Group.Key == f.Group.Key && now.Seq == f.Seq && now.Records == f.Records && !now.Twice && sameDVs(f, now)
	if !same || added[f.Path] {
		v.dropped[f] = true
	}
	if !sameDVs(f, now) {
		for _, dv := range f.DVs {
			v.missing[dv] = true
		}
	}
}

func sameDVs(a, b *snapshot.DataFile) bool {
	if len(a.DVs) != len(b.DVs) {
		return false
	}
	for i := range a.DVs {
		if a.DVs[i].FileID != b.DVs[i].FileID || a.DVs[i].Seq != b.DVs[i].Seq {
			return false
		}
	}
	return true
}

// newDeletes reads the position delete files that came after the plan and returns the data files they touch. An
// unreadable one touches every data file it may apply to.
func (r *results) newDeletes(ctx context.Context, store *storage.Store, now *snapshot.State) (map[string]bool, error) {
	known := map[snapshot.FileID]bool{}
	for _, d := range r.sel.state.PositionDeletes {
		known[d.FileID] = true
	}
	touched := map[string]bool{}
	for _, d := range now.PositionDeletes {
		if known[d.FileID] {
			continue
		}
		err := fmt.Errorf("%w: %s", positiondelete.ErrFormat, d.Format)
		if d.Format == iceberg.ParquetFile {
			err = positiondelete.Read(ctx, deleteSource(store, d), func(path []byte, _ []int64) error {
				touched[string(path)] = true
				return nil
			})
		}
		var bad *positiondelete.Error
		switch {
		case errors.As(err, &bad), errors.Is(err, positiondelete.ErrFormat):
			for _, f := range d.Group.Data {
				if d.AppliesTo(f) {
					touched[f.Path] = true
				}
			}
		case err != nil:
			return nil, fmt.Errorf("position delete file %s: %w", d.Path, err)
		}
	}
	return touched, nil
}

// findNewTargets finds position delete files that would be removed although a record applies to a data file that
// became live after the plan, as a rewrite that keeps old sequence numbers makes them.
func (r *results) findNewTargets(v *view) {
	for _, f := range r.facts {
		for path := range f.unmatched {
			if now := v.state.DataFiles[path]; now != nil && now.Group.Key == f.file.Group.Key && now.Seq <= f.file.Seq {
				v.unsettled[f.file] = true
			}
		}
	}
}
