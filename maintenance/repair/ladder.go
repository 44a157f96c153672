package repair

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// climbs says whether a patient has a deletion vector whose bytes are lost, so that its deletes have to be found elsewhere.
func (p *patient) climbs() bool {
	return slices.ContainsFunc(p.vectors, func(d *snapshot.DeleteFile) bool {
		f := p.faults[d]
		return f["dv-corrupt"] != nil || f["dv-missing"] != nil || f["dv-range"] != nil || f["dv-misbound"] != nil || f["dv-cardinality"] != nil
	})
}

// ancestors looks for what older snapshots deleted of data files whose deletion vectors are lost. A data file that stays
// live never loses a delete, so all of it is still deleted.
func (r *repairer) ancestors(ctx context.Context) error {
	needy, groups := map[string]*patient{}, map[snapshot.GroupKey][]*patient{}
	for _, p := range r.patients {
		if p.climbs() {
			needy[p.file.Path] = p
			groups[p.file.Group.Key] = append(groups[p.file.Group.Key], p)
		}
	}
	if len(needy) == 0 {
		return nil
	}
	files := snapshot.NewCache(r.options.Memory / 8).Through(r.table.Store.FileIO(ctx))
	read, seen := map[string]bool{}, map[snapshot.FileID]bool{}
	for d := range r.state.Deletes() {
		seen[d.FileID] = true
	}
	var mu sync.Mutex
	note := func(e iceberg.ManifestEntry) {
		d, err := snapshot.DeleteOf(e)
		if err != nil || d == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if !seen[d.FileID] {
			seen[d.FileID] = true
			r.noteOlder(d, needy, groups)
		}
	}
	child := r.state.Snapshot // up to the last repair: what its ancestors say was wrong, or rows came back since
	for child.ParentSnapshotID != nil && !maintenance.IsRepair(child) {
		parent := r.table.Metadata.SnapshotByID(*child.ParentSnapshotID)
		if parent == nil {
			return nil // expired
		}
		manifests, whole, err := snapshot.Listed(ctx, files, parent)
		if err != nil || !whole {
			return err
		}
		for _, m := range manifests {
			if m.ManifestContent() == iceberg.ManifestContentData || read[m.FilePath()] {
				continue
			}
			read[m.FilePath()] = true
			if _, err := snapshot.LiveEntries(ctx, files, m, note); err != nil {
				return err
			}
		}
		child = parent
	}
	return nil
}

// noteOlder keeps an entry of an ancestor for the patients that it deleted rows of.
func (r *repairer) noteOlder(d *snapshot.DeleteFile, needy map[string]*patient, groups map[snapshot.GroupKey][]*patient) {
	if d.IsDV() {
		if p := needy[d.Referenced]; p != nil && !d.Unbound() && d.Seq >= p.file.Seq {
			r.older[p.file.Path] = append(r.older[p.file.Path], d)
		}
		return
	}
	for _, p := range groups[d.Group.Key] {
		if d.Seq >= p.file.Seq && (d.Referenced == "" || d.Referenced == p.file.Path) {
			r.older[p.file.Path] = append(r.older[p.file.Path], d)
		}
	}
}

// ancestorsOf reads what ancestors deleted of the data files of a batch. What cannot be read is left out: it is about
// finding more.
func (r *repairer) ancestorsOf(ctx context.Context, b *batch) error {
	type source struct {
		patient *patient
		entry   *snapshot.DeleteFile
	}
	var all []source
	for _, p := range b.patients {
		for _, d := range r.older[p.file.Path] {
			all = append(all, source{p, d})
		}
	}
	return r.parallel(ctx, len(all), func(ctx context.Context, i int) error {
		positions, err := r.positionsIn(ctx, all[i].entry, all[i].patient.file)
		if err != nil || positions == nil {
			return err
		}
		positions.Truncate(all[i].patient.file.Records)
		b.add(all[i].patient, func(s *sources) {
			if s.older == nil {
				s.older = puffin.NewBitmap()
			}
			s.older.Or(positions)
		})
		return nil
	})
}

// positionsIn returns what a delete file deleted of a data file, nil when it cannot be read.
func (r *repairer) positionsIn(ctx context.Context, d *snapshot.DeleteFile, file *snapshot.DataFile) (*puffin.Bitmap, error) {
	if d.IsDV() {
		b, err := puffin.ReadDeletionVector(ctx, r.table.Store.Object(d.Path, 0), maintenance.RangeOf(d))
		if err != nil && damaged(err) {
			return nil, nil
		}
		return b, err
	}
	b := puffin.NewBitmap()
	err := positiondelete.Read(ctx, r.source(d), func(path []byte, positions []int64) error {
		if string(path) == file.Path {
			b = with(b, positions)
		}
		return nil
	})
	if positiondelete.Unreadable(err) {
		return nil, nil
	}
	return b, err
}

// recover works out what is certain about a deletion vector whose bytes are lost: what is known to be deleted, and how many
// of its positions are not known. Older snapshots that deleted more than it are no help: rows came back since.
func (s *sources) recover(d *snapshot.DeleteFile, known *puffin.Bitmap) (unknown int64, note string) {
	if s.deletes != nil {
		known.Or(s.deletes)
	}
	sure := known.Clone()
	if s.older != nil {
		known.Or(s.older)
	}
	n := known.Cardinality()
	switch {
	case n == d.Records:
		return 0, fmt.Sprintf("older snapshots and position delete files, which delete exactly the %d positions that the deletion vector had", n)
	case n > d.Records:
		doubtful := known.Clone()
		doubtful.AndNot(sure)
		known.AndNot(doubtful)
		if unknown = d.Records - sure.Cardinality(); unknown <= 0 {
			unknown = d.Records
		}
		return unknown, fmt.Sprintf("not older snapshots: with position delete files they delete %d positions, more than the %d that the deletion vector had", n, d.Records)
	case n == 0:
		return d.Records, fmt.Sprintf("nothing: none of the %d positions of the deletion vector is known", d.Records)
	}
	return d.Records - n, fmt.Sprintf("older snapshots and position delete files, which delete at least %d of the %d positions that the deletion vector had", n, d.Records)
}
