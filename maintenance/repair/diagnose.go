package repair

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// repairer is one attempt at a repair: what was found, what is chosen of it, and what is to be done.
type repairer struct {
	options Options
	table   *catalog.Table
	found   *check.Report
	chosen  map[*check.Finding]bool
	unclear map[string][]string // issues by data file that are not chosen and leave its deletes in doubt
	skipped []maintenance.Skip  // asked for, and not to be repaired

	corrected map[string]iceberg.ManifestFile // what the manifest list should say, by location
	state     *snapshot.State
	puffins   map[string][]*snapshot.DeleteFile // deletion vectors of the state by Puffin file

	patients map[string]*patient                         // by data file
	siblings []*snapshot.DataFile                        // whose sound deletion vectors move with their Puffin file
	wrong    map[*snapshot.DeleteFile]*wrongFile         // position delete files whose records get another form
	gone     map[*snapshot.DeleteFile]*departure         // entries that go
	watched  map[*snapshot.DataFile]bool                 // data files that the repair rests on without changing them
	restored map[string]*storage.Object                  // older versions of position delete files that cannot be read, by location
	notes    map[string]string                           // what they are
	absent   map[string]bool                             // paths that are not live
	rewrite  map[string]bool                             // manifests
	upgrade  bool                                        // the commit makes a table of format version 3
	tagged   bool                                        // the snapshot before has its tag already
	totals   map[string]int64                            // of the snapshot summary
	older    map[string][]*snapshot.DeleteFile           // deletes of ancestors, by data file
	blobs    map[string]map[string][]puffin.BlobMetadata // deletion vectors in footers, by location and data file
}

// patient is a data file whose deletes are worked out anew.
type patient struct {
	file     *snapshot.DataFile
	findings []*check.Finding
	vectors  []*snapshot.DeleteFile // entries that are its, or mean it: they all go
	faults   map[*snapshot.DeleteFile]map[string]*check.Finding
	deletes  []*wrongFile // position delete files with records of it that are read as they were meant
	lost     *puffin.Bitmap
}

// departure is why an entry goes without another one in its place, and the rows that come back because of it.
type departure struct {
	finding  *check.Finding // nil for one that goes because it would be left alone in its Puffin file
	restored int64
}

// has says whether one of the findings that are repaired is of an issue.
func (p *patient) has(issue string) bool {
	return slices.ContainsFunc(p.findings, func(f *check.Finding) bool { return f.Issue == issue })
}

// diagnose checks a table and sorts out what is to be done. It changes nothing.
func diagnose(ctx context.Context, t *catalog.Table, o Options) (*repairer, error) {
	if err := maintenance.Refused(t, o.Ref); err != nil {
		return nil, err
	}
	found, err := check.Run(ctx, t, o.check())
	if err != nil {
		return nil, err
	}
	r := &repairer{
		options: o, table: t, found: found, chosen: map[*check.Finding]bool{}, unclear: map[string][]string{}, skipped: []maintenance.Skip{}, corrected: map[string]iceberg.ManifestFile{},
		patients: map[string]*patient{}, wrong: map[*snapshot.DeleteFile]*wrongFile{}, gone: map[*snapshot.DeleteFile]*departure{},
		restored: map[string]*storage.Object{}, notes: map[string]string{}, watched: map[*snapshot.DataFile]bool{}, absent: map[string]bool{}, rewrite: map[string]bool{},
		older: map[string][]*snapshot.DeleteFile{}, blobs: map[string]map[string][]puffin.BlobMetadata{},
	}
	if r.choose(); len(r.chosen) == 0 {
		return r, nil
	}
	for _, step := range []func(context.Context) error{r.correct, r.load, r.assign, r.together, r.ancestors} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name(), err)
		}
	}
	return r, nil
}

// choose picks the findings to repair.
func (r *repairer) choose() {
	for i := range r.found.Findings {
		f := &r.found.Findings[i]
		if !r.options.selects(f) {
			continue
		}
		how := treatmentOf(f.Issue)
		if f.Issue == "dv-in-v2" && r.options.UpgradeFormat {
			f.Repair = check.Fix
			r.upgrade = true
		}
		if how == ofNearMiss {
			if live, ok := r.options.meaning(f.Actual); ok && live == f.Expected {
				f.Repair = check.Fix
			}
		}
		if how == nothing || f.Repair == check.None {
			r.skipped = append(r.skipped, maintenance.Skip{Reason: f.Issue, DataFile: f.DataFile, Location: f.Location, Detail: f.Detail, Hint: f.Hint})
			continue
		}
		r.chosen[f] = true
	}
	for i := range r.found.Findings {
		f := &r.found.Findings[i]
		if other := r.unclear[f.DataFile]; decides(f.Issue) && !r.chosen[f] && !slices.Contains(other, f.Issue) {
			r.unclear[f.DataFile] = append(other, f.Issue)
		}
	}
}

// each goes over the chosen findings in their order.
func (r *repairer) each(do func(*check.Finding) error) error {
	for i := range r.found.Findings {
		if f := &r.found.Findings[i]; r.chosen[f] {
			if err := do(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// cannot is the error that a finding is not repaired.
func cannot(f *check.Finding, format string, args ...any) error {
	at := f.DataFile
	if at == "" {
		at = f.Location
	}
	return fmt.Errorf("%w: %s of %s: %w", ErrNoRepair, f.Issue, at, fmt.Errorf(format, args...))
}

// correct reads the manifests that the manifest list describes wrongly, and works out what it should say.
func (r *repairer) correct(ctx context.Context) error {
	files := r.table.Store.FileIO(ctx)
	listed := sync.OnceValues(func() ([]iceberg.ManifestFile, error) {
		list, whole, err := snapshot.Listed(ctx, files, r.table.Metadata.SnapshotByName(r.options.Ref))
		if err == nil && !whole {
			err = fmt.Errorf("%w: the manifest list cannot be read", ErrNoRepair)
		}
		return list, err
	})
	return r.each(func(f *check.Finding) error {
		if f.Issue != "manifest-summary" || r.corrected[f.Location] != nil {
			return nil
		}
		list, err := listed()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(m iceberg.ManifestFile) bool { return m.FilePath() == f.Location })
		if i < 0 {
			return cannot(f, "the manifest list does not have it")
		}
		r.corrected[f.Location], err = snapshot.Recount(ctx, files, list[i])
		return err
	})
}

// load reads the state strictly, with every data file that a finding is about.
func (r *repairer) load(ctx context.Context) error {
	named := map[string]bool{}
	_ = r.each(func(f *check.Finding) error {
		named[f.DataFile] = true
		if treatmentOf(f.Issue) == ofNearMiss {
			named[f.Expected] = true
		}
		return nil
	})
	delete(named, "")
	for {
		known := len(named)
		r.wrong = map[*snapshot.DeleteFile]*wrongFile{}
		if err := r.read(ctx, named); err != nil {
			return err
		}
		if err := r.each(func(f *check.Finding) error { return r.pathsOf(ctx, f, named) }); err != nil {
			return err
		}
		if len(named) == known {
			return r.bindDeletes(ctx)
		}
		// records name further data files, which have to be in the state
	}
}

func (r *repairer) read(ctx context.Context, named map[string]bool) error {
	head := r.table.Metadata.SnapshotByName(r.options.Ref)
	state, err := snapshot.Load(ctx, r.table.Store.FileIO(ctx), r.table.Metadata, head, snapshot.LoadOptions{
		Parallelism: r.options.Parallelism, Corrected: r.corrected, Named: maps.Clone(named),
	})
	if errors.Is(err, snapshot.ErrFormat) || errors.Is(err, snapshot.ErrPartitionValue) || errors.Is(err, snapshot.ErrMetadata) {
		return fmt.Errorf("%w: %w; other findings of the check may say why, to be repaired together with this one", ErrNoRepair, err)
	}
	if r.state = state; err == nil {
		r.puffins = state.Puffins()
	}
	if err != nil || r.formatVersion() >= 3 {
		return err
	}
	for _, m := range state.Manifests {
		if m.Version() >= 3 {
			return fmt.Errorf("%w: the table has format version %d and manifests of version %d, which its lists cannot name: upgrade it (--upgrade-format, with dv-in-v2)", ErrNoRepair, r.formatVersion(), m.Version())
		}
	}
	return nil
}

// formatVersion is that of the table after the repair.
func (r *repairer) formatVersion() int {
	if r.upgrade {
		return 3
	}
	return r.table.Metadata.Version()
}
