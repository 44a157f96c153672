package maintenance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// RepairKey is the key of the snapshot summary under which a repair lists the issues that it mended. What such a snapshot
// does to the deletes of data files is on purpose.
const RepairKey = "dvcompactor.repair"

// IsRepair says whether a snapshot is that of a repair.
func IsRepair(s *table.Snapshot) bool {
	return s.Summary != nil && s.Summary.Properties[RepairKey] != ""
}

// Patch is a change of the deletes of one branch that was worked out elsewhere. It goes the way of every other change:
// what it adds is written and proved, the commit loop settles conflicts and unknown outcomes, the verification reads the
// result back.
type Patch struct {
	ID     string // plan id, unique
	Action Action
	Ref    string
	State  *snapshot.State // that it was worked out on
	// Corrected is, by location, what the manifest list should say of manifests; State was read with it.
	Corrected map[string]iceberg.ManifestFile
	// Vectors gives the new deletion vectors, in batches that fit into memory, those of one partition spec together. The
	// bitmaps are the pipeline's from then on. nil for none.
	Vectors func(ctx context.Context, yield func([]PatchVector) error) error
	// PositionDeletes gives the new position delete files, one at a time. nil for none.
	PositionDeletes func(ctx context.Context, yield func(PatchFile) error) error
	Remove          []*snapshot.DeleteFile // live entries of State; every entry of the same file goes
	Rewrite         []string               // locations of delete manifests to write anew
	Totals          map[string]int64       // of the snapshot summary, as counted on State; nil to carry the parent's forward
	// Repaired are the data files whose deleted positions change on purpose.
	Repaired map[string]bool
	// Watched are the data files that the patch is about, and Absent the paths of which it rests on that they are not live.
	// When another writer changes any of this the patch is stale.
	Watched []*snapshot.DataFile
	Absent  map[string]bool
	// Targets are, of position delete files that go, the data files whose new deletion vectors hold their records.
	Targets   map[snapshot.FileID][]*snapshot.DataFile
	Upgrade   bool // to format version 3 in the same commit
	Operation table.Operation
	Summary   map[string]string // further entries of the snapshot summary
	Tag       string            // to put on the snapshot before, in the same commit; "" for none
	// Inspect is shown the table as it would be before each commit. An error prevents the commit. It may be nil.
	Inspect func(context.Context, *catalog.Table) error
}

// PatchVector is the complete set of deleted positions of a data file.
type PatchVector struct {
	File      *snapshot.DataFile
	Positions *puffin.Bitmap
	Seq       int64 // data sequence number, or [snapshot.Fresh]
}

// PatchFile is a position delete file to write.
type PatchFile struct {
	Group     *snapshot.Group // the partition of its data files
	Seq       int64           // data sequence number, or [snapshot.Fresh]
	Positions map[string]*puffin.Bitmap
}

// ApplyPatch writes, proves, commits and verifies a patch. Without a report nothing was committed. The error is ErrStale
// when another writer changed what the patch is about: it has to be worked out again.
func ApplyPatch(ctx context.Context, cat Catalog, t *catalog.Table, p *Patch, o Options) (*Report, error) {
	o.Action, o.Ref, o.UpgradeFormat = p.Action, p.Ref, p.Upgrade
	o = o.withDefaults()
	if err := refuse(t, o); err != nil {
		return nil, err
	}
	plan := &Plan{
		Table: t.Name(), Ref: p.Ref, Action: p.Action, PlanID: p.ID, SnapshotBefore: &p.State.Snapshot.SnapshotID, Before: Count(p.State),
		UpgradeFormat: p.Upgrade, Skipped: []Skip{}, state: p.State,
	}
	report := newReport(plan)
	report.Warnings = clockWarnings(t.Metadata, o.Now())
	m := startMeter(t, o)
	err := p.work(ctx, cat, t, plan, o, report)
	m.stop(report)
	return report, err
}

func (p *Patch) work(ctx context.Context, cat Catalog, t *catalog.Table, plan *Plan, o Options, report *Report) error {
	dir, err := dataDir(p.State.Metadata)
	if err != nil {
		return err
	}
	w := newWriter(ctx, t.Store, dir, plan, o)
	ch, err := p.write(ctx, w)
	if err != nil {
		return errors.Join(err, w.group.Wait(), w.discard(context.WithoutCancel(ctx), &change{}))
	}
	j := &patchJob{patch: p, change: ch, newcomers: &newcomers{base: p.State, parallelism: o.Parallelism}}
	c := newCommitter(cat, t, plan, o, j, p.Absent, report)
	c.corrected = p.Corrected
	done, err := c.run(ctx)
	return c.tidy(ctx, done, w, err)
}

// write writes and proves what the patch adds, and makes the change of it.
func (p *Patch) write(ctx context.Context, w *writer) (*change, error) {
	ch := &change{
		remove: map[snapshot.FileID]bool{}, rewrite: map[string]bool{}, operation: p.Operation, totals: p.Totals, tag: p.Tag,
		repaired: maps.Clone(p.Repaired), targets: p.Targets, summary: p.Summary, corrects: len(p.Corrected) > 0, inspect: p.Inspect,
	}
	for _, d := range p.Remove {
		ch.remove[d.FileID] = true
	}
	for _, location := range p.Rewrite {
		ch.rewrite[location] = true
	}
	if p.Vectors != nil {
		err := p.Vectors(ctx, func(batch []PatchVector) error {
			sets := make([]*merged, len(batch))
			for i, v := range batch {
				sets[i] = &merged{file: v.File, bitmap: v.Positions, seq: v.Seq}
			}
			return w.add(sets)
		})
		if err != nil {
			return nil, err
		}
	}
	if p.PositionDeletes != nil {
		err := p.PositionDeletes(ctx, func(f PatchFile) error {
			written, err := w.positionDeletes(ctx, f)
			ch.addFiles = append(ch.addFiles, written)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if err := w.finish(); err != nil {
		return nil, err
	}
	for _, f := range w.files {
		ch.add = append(ch.add, f.vectors...)
	}
	return ch, nil
}

// patchJob is the job of committing a patch.
type patchJob struct {
	patch     *Patch
	change    *change
	newcomers *newcomers
}

// settle implements job: all of a patch or nothing.
func (j *patchJob) settle(*view) *change { return j.change }

// dropped implements job.
func (j *patchJob) dropped(*view) []string { return []string{} }

// rebase implements job. A patch that rests on anything that changed is not carried over to the newer state: whoever made
// it has to look again.
func (j *patchJob) rebase(ctx context.Context, store *storage.Store, now *snapshot.State) (*view, error) {
	stale := func(what string) (*view, error) {
		return nil, fmt.Errorf("%w: another writer changed %s meanwhile", ErrStale, what)
	}
	if len(j.patch.Totals) > 0 {
		return stale("the totals")
	}
	live := liveDeletes(now)
	was, is := entriesOf(j.patch.State), entriesOf(now)
	for _, d := range j.patch.Remove {
		same := live[d.FileID]
		if same == nil || same.Seq != d.Seq || same.Group.Key != d.Group.Key || was[d.FileID] != is[d.FileID] {
			return stale("the entry of " + d.Path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(j.patch.Absent)) {
		if now.DataFiles[path] != nil {
			return stale(path)
		}
	}
	touched, err := j.newcomers.touched(ctx, store, now)
	if err != nil {
		return nil, err
	}
	for _, f := range j.patch.Watched {
		if touched[f.Path] || !sameData(f, now.DataFiles[f.Path]) {
			return stale("the deletes of " + f.Path)
		}
	}
	return samePlan(now), nil
}
