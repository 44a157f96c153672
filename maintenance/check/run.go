package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// Report is what a check found. Its JSON form is a documented contract.
type Report struct {
	Table         string             `json:"table"`
	Ref           string             `json:"ref"`
	SnapshotID    *int64             `json:"snapshot_before"` // null when nothing was written to the table yet
	FormatVersion int                `json:"format_version"`
	Level         string             `json:"level"`
	Before        maintenance.Counts `json:"before"`
	// Damaged says that there is a finding that does more than waste space.
	Damaged  bool      `json:"damaged"`
	Counts   []Count   `json:"counts"`   // by issue
	Findings []Finding `json:"findings"` // wrong rows first
	Checked  Checked   `json:"checked"`
	// Skipped is what could not be checked although nothing says that it is damaged.
	Skipped  []maintenance.Skip `json:"skipped"`
	Requests storage.Stats      `json:"requests"` // to the table's store
	Seconds  float64            `json:"seconds"`
	// Totals are those that the snapshot summary should have, by key; nil when a manifest could not be read to its end.
	Totals map[string]int64 `json:"-"`
}

// Checked is how much was read.
type Checked struct {
	Manifests           int64 `json:"manifests"`
	PuffinFiles         int64 `json:"puffin_files"` // whose footer was read
	DeletionVectors     int64 `json:"deletion_vectors"`
	PositionDeleteFiles int64 `json:"position_delete_files"`
}

// Run checks one branch or tag of a table. Damage is in the report; an error means that the check could not be made:
// ErrNoRef and ErrRefusedTable of package maintenance, ErrOptions, a store that failed, ctx.
func Run(ctx context.Context, t *catalog.Table, o Options) (*Report, error) {
	o = o.withDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	start, before := o.Now(), t.Store.Stats()
	c := newChecker(t, o)
	if err := c.run(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name(), err)
	}
	r := c.finish()
	r.Requests, r.Seconds = t.Store.Stats().Sub(before), o.Now().Sub(start).Seconds()
	return r, nil
}

// checker is one check of one table.
type checker struct {
	table   *catalog.Table
	options Options
	head    *table.Snapshot
	files   iceio.IO // of the table, remembering manifests
	survey  *snapshot.Survey
	seen    *seen

	mu       sync.Mutex
	findings []Finding
	report   *Report
	writers  map[string]string // created-by of Puffin files
	gone     map[string]bool   // position delete files that are not there
	// misbounded are the position delete files whose column bounds are known to be wrong.
	misbounded map[*snapshot.DeleteFile]bool
	// misbound are the deletion vectors whose bytes are those of another data file.
	misbound map[*snapshot.DeleteFile]bool
	pending  []later
	unread   bool                   // a manifest could not be read, or not all of it
	taken    func() map[string]bool // data files that a complete entry of a deletion vector is about
}

func newChecker(t *catalog.Table, o Options) *checker {
	c := &checker{
		table: t, options: o, writers: map[string]string{}, gone: map[string]bool{}, misbounded: map[*snapshot.DeleteFile]bool{}, misbound: map[*snapshot.DeleteFile]bool{},
		report: &Report{Table: t.Name(), Ref: o.Ref, FormatVersion: t.Metadata.Version(), Level: o.Level.String(), Skipped: []maintenance.Skip{}},
	}
	c.taken = sync.OnceValue(func() map[string]bool {
		taken := map[string]bool{}
		for _, d := range c.survey.State.DVs {
			taken[d.Referenced] = taken[d.Referenced] || !d.Unbound()
		}
		return taken
	})
	return c
}

func (c *checker) run(ctx context.Context) error {
	if err := maintenance.Encrypted(c.table.Metadata); err != nil {
		return err // what is encrypted cannot be judged
	}
	c.head = c.table.Metadata.SnapshotByName(c.options.Ref)
	if c.head == nil {
		if c.options.Ref == "main" {
			return nil // a table that nobody wrote to
		}
		return fmt.Errorf("%w: %q", maintenance.ErrNoRef, c.options.Ref)
	}
	c.report.SnapshotID = &c.head.SnapshotID
	if err := c.metadata(ctx); err != nil || c.survey == nil {
		return err
	}
	for _, step := range []func(context.Context) error{c.objects, c.ancestors, c.duplicates} { // each needs what those before it found
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// metadata reads the manifests and finds what they show. Without a manifest list there is no survey, and nothing else to
// look at.
func (c *checker) metadata(ctx context.Context) error {
	c.options.Progress.Stage("reading manifests", 0, "")
	c.seen = newSeen(c)
	c.files = snapshot.NewCache(c.options.Memory / 8).Through(c.table.Store.FileIO(ctx))
	survey, err := snapshot.NewSurvey(ctx, c.files, c.table.Metadata, c.head, snapshot.SurveyOptions{
		Parallelism: c.options.Parallelism, Entry: c.seen.entry, Manifest: c.seen.manifest,
	})
	if err != nil {
		if ctx.Err() != nil || storeFailed(err) {
			return err
		}
		c.add(Finding{Issue: "manifest-unreadable", Location: c.head.ManifestList, Detail: err.Error()})
		return nil
	}
	c.survey = survey
	c.report.Before = maintenance.Count(survey.State)
	c.vectors()
	return errors.Join(c.absent(ctx), c.positionDeletes(), c.twice(ctx), c.totals())
}

// storeFailed says whether an error is one of the store and no fact about an object.
func storeFailed(err error) bool {
	var failed *storage.Error
	return errors.As(err, &failed) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, storage.ErrBeyondEnd)
}

// add notes a finding. What the finding leaves open comes from its issue.
func (c *checker) add(f Finding) {
	if !c.options.wants(f.Issue) {
		return
	}
	issue, _ := Find(f.Issue)
	f.Table, f.Ref = c.table.Name(), c.options.Ref
	if f.Engines.Fail == nil {
		f.Engines = issue.Engines
	}
	if f.Effect == "" {
		f.Effect = issue.Effect
	}
	if f.Repair == "" {
		f.Repair = issue.Repair
	}
	if f.Hint == "" {
		f.Hint = issue.Hint
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.findings = append(c.findings, f)
}

// of begins a finding about a delete entry.
func of(issue string, d *snapshot.DeleteFile) Finding {
	f := Finding{Issue: issue, Location: d.Path, DataFile: d.Referenced, snapshotID: d.SnapshotID}
	if d.IsDV() {
		f.Rows = &d.Records
		if d.Offset >= 0 && d.Length >= 0 {
			f.Offset, f.Length = &d.Offset, &d.Length
		}
	}
	return f
}

// finish orders what was found.
func (c *checker) finish() *Report {
	r := c.report
	if c.survey != nil && !c.unread {
		r.Totals = c.seen.total.byKey()
	}
	for i := range c.findings {
		if f := &c.findings[i]; f.Writer == "" {
			f.Writer = c.writer(f)
		}
	}
	r.Findings = sorted(c.findings)
	if r.Findings == nil {
		r.Findings = []Finding{}
	}
	r.Counts = counts(r.Findings)
	single := alone(r.Findings)
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Hint = f.hint(single[f.Issue])
		r.Damaged = r.Damaged || f.Damaged()
	}
	return r
}

// writer says who wrote what a finding is about: the Puffin file names its writer, or the snapshot the engine.
func (c *checker) writer(f *Finding) string {
	if by := c.writers[f.Location]; by != "" {
		return by
	}
	snap := c.table.Metadata.SnapshotByID(f.snapshotID)
	if snap == nil || snap.Summary == nil {
		return ""
	}
	p := snap.Summary.Properties
	text := p["engine-name"]
	if v := p["engine-version"]; text != "" && v != "" {
		text += " " + v
	}
	if v := p["iceberg-version"]; v != "" {
		if text != "" {
			text += ", "
		}
		text += v
	}
	return text
}
