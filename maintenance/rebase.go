package maintenance

import (
	"context"
	"maps"

	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// rebase compares a newer state of the table with the one that was merged, data file by data file. It looks at states,
// not at history, so it also works when snapshots in between have expired.
func (r *results) rebase(ctx context.Context, store *storage.Store, now *snapshot.State) (*view, error) {
	v := newView(now)
	live := v.compareSources(r.facts, r.sel.state)
	for _, d := range r.sel.dangling {
		if live[d.FileID] == nil || now.DataFiles[d.Referenced] != nil {
			v.missing[d] = true // gone, or its data file is back
		}
	}
	added, err := r.newcomers.touched(ctx, store, now)
	if err != nil {
		return nil, err
	}
	for _, f := range r.sel.sortedDataFiles() {
		r.compare(f, v, added)
	}
	v.findNewTargets(r.facts)
	return v, nil
}

func newView(now *snapshot.State) *view {
	return &view{
		state: now, dropped: map[*snapshot.DataFile]bool{}, gone: map[*snapshot.DataFile]bool{},
		missing: map[*snapshot.DeleteFile]bool{}, unsettled: map[*snapshot.DeleteFile]bool{},
	}
}

// compareSources finds the position delete files that were read and are no longer what they were, and returns what is live.
func (v *view) compareSources(read []*facts, base *snapshot.State) map[snapshot.FileID]*snapshot.DeleteFile {
	live := liveDeletes(v.state)
	was, is := entriesOf(base), entriesOf(v.state)
	for _, f := range read {
		if d := live[f.file.FileID]; d == nil || is[f.file.FileID] != was[f.file.FileID] || d.Seq != f.file.Seq || d.Group.Key != f.file.Group.Key {
			v.missing[f.file] = true
			for t := range f.targets {
				v.dropped[t] = true // a source of what was merged is gone
			}
		}
	}
	return live
}

func liveDeletes(s *snapshot.State) map[snapshot.FileID]*snapshot.DeleteFile {
	out := map[snapshot.FileID]*snapshot.DeleteFile{}
	for d := range s.Deletes() {
		out[d.FileID] = d
	}
	return out
}

// entriesOf counts the live entries of each position delete file. Removing one removes all of them.
func entriesOf(s *snapshot.State) map[snapshot.FileID]int {
	out := map[snapshot.FileID]int{}
	for _, d := range s.PositionDeletes {
		out[d.FileID]++
	}
	return out
}

// compare drops a data file that was replaced, whose deletion vector changed or to which a new position delete applies.
func (r *results) compare(f *snapshot.DataFile, v *view, added map[string]bool) {
	now := v.state.DataFiles[f.Path]
	if now == nil {
		v.gone[f] = true
		if dv := f.DV(); dv != nil {
			v.missing[dv] = true
		}
		return
	}
	if !sameData(f, now) || added[f.Path] {
		v.dropped[f] = true
	}
	if !sameDVs(f, now) {
		for _, dv := range f.DVs {
			v.missing[dv] = true
		}
	}
}

// sameData says whether a data file of another state, nil when it is not live there, is the same with the same deletion
// vectors.
func sameData(f, now *snapshot.DataFile) bool {
	return now != nil && now.Group.Key == f.Group.Key && now.Seq == f.Seq && now.Records == f.Records && now.Twice == f.Twice && sameDVs(f, now)
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

// findNewTargets finds position delete files that would be removed although a record applies to a data file that
// became live after the plan, as a rewrite that keeps old sequence numbers or a roll-back makes them.
func (v *view) findNewTargets(read []*facts) {
	for _, f := range read {
		for _, paths := range []map[string]bool{f.unmatched, f.younger} {
			for path := range paths {
				now := v.state.DataFiles[path]
				if now != nil && (now.Twice || now.Group.Key == f.file.Group.Key && now.Seq <= f.file.Seq) {
					v.unsettled[f.file] = true
				}
			}
		}
	}
}

// paths returns the paths beside those of the plan's data files whose coming back matters to the change.
func (r *results) paths() map[string]bool {
	out := map[string]bool{}
	for _, d := range r.sel.dangling {
		out[d.Referenced] = true
	}
	for _, f := range r.facts {
		maps.Copy(out, f.unmatched)
	}
	return out
}
