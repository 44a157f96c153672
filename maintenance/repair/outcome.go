package repair

import (
	"context"
	"fmt"
	"slices"

	"github.com/dvcompactor/dvcompactor/internal/rowcount"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// outcome is the right set of deletes of a patient.
type outcome struct {
	patient   *patient
	sources   *sources
	positions *puffin.Bitmap // all that are deleted from now on
	seq       int64          // data sequence number of what holds them
	repair    check.Repair
	restored  int64
	unread    bool // the deletes of today are not known
	notes     []string
}

// resolve works out the deletes of a patient from what was read. The rule is that of readers: a deletion vector hides
// position delete files, and a data file has one. What goes beyond it is what the operator named.
func (r *repairer) resolve(ctx context.Context, b *batch, p *patient) (*outcome, error) {
	o := &outcome{patient: p, sources: b.sources[p], positions: puffin.NewBitmap(), notes: []string{}}
	for _, f := range p.findings {
		if !decidedLater(f) {
			o.repair = worst(o.repair, f.Repair)
		}
	}
	for _, step := range []func() error{
		func() error { return o.readable(b) },
		func() error { return r.vectorsInto(ctx, o) },
		func() error { return o.deletesInto(r.formatVersion()) },
		o.ghosts,
		func() error { return r.within(ctx, o) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if o.repair == "" {
		o.repair = check.Fix // what was lost is there again
	}
	o.sequence()
	return o, nil
}

// decidedLater says whether the class of a finding follows from what can be found elsewhere.
func decidedLater(f *check.Finding) bool {
	switch f.Issue {
	case "dv-corrupt", "dv-missing", "dv-resurrected":
		return true
	case "dv-range", "dv-misbound", "dv-cardinality":
		return f.Repair == check.Ask
	}
	return false
}

// readable refuses a data file without a deletion vector of which a position delete file cannot be read: a new vector would
// hide it.
func (o *outcome) readable(b *batch) error {
	p := o.patient
	if p.hides() {
		return nil
	}
	for d, err := range b.damaged {
		if d.AppliesTo(p.file) {
			return cannot(p.findings[0], "a position delete file that may apply cannot be read: %w", err)
		}
	}
	return nil
}

// vectorsInto adds the deletion vectors.
func (r *repairer) vectorsInto(ctx context.Context, o *outcome) error {
	for _, d := range o.patient.vectors {
		faults, got := o.patient.faults[d], o.sources.vectors[d]
		switch {
		case got.err == nil && faults["dv-resurrected"] != nil: // ghosts decides
		case got.err == nil && faults["dv-cardinality"] != nil && faults["dv-cardinality"].Repair == check.Ask:
			o.tooFew(d, got)
		case got.err == nil:
			o.take(d, got)
		default:
			if err := r.lost(ctx, o, d, got); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *outcome) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(o.notes, text) {
		o.notes = append(o.notes, text)
	}
}

func (o *outcome) take(d *snapshot.DeleteFile, got *reading) {
	o.positions.Or(got.bitmap)
	if got.note == "" {
		got.note = fmt.Sprintf("the deletion vector at %d+%d of %s", d.Offset, d.Length, d.Path)
	}
	o.note("%s (%d positions)", got.note, got.bitmap.Cardinality())
}

// tooFew is for a sound bitmap that has fewer positions than everybody says.
func (o *outcome) tooFew(d *snapshot.DeleteFile, got *reading) {
	o.take(d, got)
	known := got.bitmap.Clone()
	want := *d
	want.Records = max(d.Records, got.said)
	unknown, note := o.sources.recover(&want, known)
	o.recovered(known, unknown, note)
}

// lost is for a deletion vector whose bytes cannot be used. Another version of the object is as good as the vector itself;
// what older snapshots deleted is certain, and all of it only when the numbers agree.
func (r *repairer) lost(ctx context.Context, o *outcome, d *snapshot.DeleteFile, got *reading) error {
	faults := o.patient.faults[d]
	if faults["dv-corrupt"] == nil && faults["dv-missing"] == nil && faults["dv-range"] == nil && faults["dv-misbound"] == nil {
		return cannot(o.patient.findings[0], "its deletion vector at %d+%d of %s cannot be read: %w", d.Offset, d.Length, d.Path, got.err)
	}
	o.unread = true
	version, note, err := r.soundVersion(ctx, d)
	if err != nil {
		return err
	}
	if version != nil {
		o.recovered(version, 0, note)
		return nil
	}
	known := puffin.NewBitmap()
	unknown, note := o.sources.recover(d, known)
	o.recovered(known, unknown, note)
	return nil
}

// recovered adds what is known of a lost deletion vector.
func (o *outcome) recovered(known *puffin.Bitmap, unknown int64, note string) {
	o.positions.Or(known)
	o.restored += unknown
	o.note("%s", note)
	if unknown > 0 {
		o.repair = worst(o.repair, check.Ask)
	} else {
		o.repair = worst(o.repair, check.Fix)
	}
}

// deletesInto adds the position deletes.
func (o *outcome) deletesInto(version int) error {
	p, s := o.patient, o.sources
	if s.deletes != nil && !s.deletes.IsSubsetOf(o.positions) {
		hidden := version >= 3 && p.hides()
		if hidden && !p.has("dv-incomplete") && !p.has("delete-after-upgrade") && !o.unread {
			return cannot(p.findings[0], "its deletion vector lacks positions of live position delete files: name dv-incomplete as well")
		}
		o.positions.Or(s.deletes)
		o.note("position delete files that apply (%d positions)", s.deletes.Cardinality())
	}
	for _, w := range p.deletes {
		if w.note != "" {
			o.note("%s", w.note)
		}
	}
	for _, more := range []struct {
		positions *puffin.Bitmap
		what      string
	}{{s.meant, "position delete files that are replaced"}, {s.hidden, "position delete files that are not applied as they were meant"}, {p.lost, "older snapshots, which deleted them"}} {
		if more.positions != nil && !more.positions.IsEmpty() {
			o.positions.Or(more.positions)
			o.note("%s (%d positions)", more.what, more.positions.Cardinality())
		}
	}
	return nil
}

// hides says whether the data file has a deletion vector that stays, which hides position delete files from readers.
func (p *patient) hides() bool {
	return slices.ContainsFunc(p.file.DVs, func(d *snapshot.DeleteFile) bool { return p.faults[d]["dv-resurrected"] == nil })
}

// ghosts takes away the deletion vectors that came back after they had been removed, as far as nothing else deletes the same.
func (o *outcome) ghosts() error {
	for _, d := range o.patient.vectors {
		if o.patient.faults[d]["dv-resurrected"] == nil {
			continue
		}
		got := o.sources.vectors[d]
		if got.err != nil {
			return cannot(o.patient.findings[0], "it cannot be read: %w", got.err)
		}
		alone := got.bitmap.Clone()
		alone.AndNot(o.positions)
		n := alone.Cardinality()
		o.restored += n
		if n == 0 {
			o.repair = worst(o.repair, check.Safe)
		} else {
			o.repair = worst(o.repair, check.Ask)
		}
		o.note("not the deletion vector that came back, which alone deletes %d rows", n)
	}
	return nil
}

// within takes away positions that the data file does not have. It says itself how many rows that are.
func (r *repairer) within(ctx context.Context, o *outcome) error {
	p := o.patient
	last, some := o.positions.Max()
	if !some || last < p.file.Records {
		return nil
	}
	if !p.has("position-out-of-range") {
		return cannot(p.findings[0], "position %d is beyond the %d rows of the data file: name position-out-of-range as well", last, p.file.Records)
	}
	rows, err := rowcount.Of(ctx, r.table.Store.Object(p.file.Path, 0), rowcount.Options{Rows: p.file.Records})
	if err != nil {
		return cannot(p.findings[0], "how many rows the data file has cannot be read: %w", err)
	}
	if rows > p.file.Records {
		return cannot(p.findings[0], "the data file has %d rows, its manifest entry says %d: the entry is wrong, and not the deletes", rows, p.file.Records)
	}
	n := o.positions.Cardinality()
	o.positions.Truncate(rows)
	o.note("without %d positions that the data file, which says that it has %d rows, does not have", n-o.positions.Cardinality(), rows)
	return nil
}

// sequence chooses the data sequence number: that of the sources as long as no reader's answer changes.
func (o *outcome) sequence() {
	if o.repair != check.Safe {
		o.seq = snapshot.Fresh
		return
	}
	s := o.sources
	o.seq = max(o.patient.file.Seq, s.seq, s.meantSeq)
	for _, d := range o.patient.vectors {
		o.seq = max(o.seq, d.Seq)
	}
}

// extra are the positions that a position delete file has to hold beside those that stay.
func (o *outcome) extra() *puffin.Bitmap {
	out := o.positions.Clone()
	if o.sources.deletes != nil {
		out.AndNot(o.sources.deletes)
	}
	return out
}

// before is how many rows readers take as deleted today, nil when they fail or disagree.
func (o *outcome) before() *int64 {
	p, s := o.patient, o.sources
	if o.unread || slices.ContainsFunc(p.findings, func(f *check.Finding) bool { return f.Effect == check.Unreadable }) {
		return nil
	}
	now := puffin.NewBitmap()
	switch len(p.file.DVs) {
	case 0:
		for _, b := range []*puffin.Bitmap{s.deletes, s.meant} {
			if b != nil {
				now.Or(b)
			}
		}
	case 1:
		d := p.file.DVs[0]
		if p.faults[d]["dv-misbound"] != nil || p.faults[d]["dv-fields-missing"] != nil {
			return nil // what was read is not what the entry says
		}
		now = s.vectors[d].bitmap
	default:
		return nil
	}
	n := now.Cardinality()
	return &n
}

// report tells of the outcome.
func (o *outcome) report() DataFile {
	out := DataFile{Path: o.patient.file.Path, Issues: []string{}, Repair: o.repair, Before: o.before(), After: o.positions.Cardinality(), Restored: o.restored, Sources: o.notes}
	for _, f := range o.patient.findings {
		if !slices.Contains(out.Issues, f.Issue) {
			out.Issues = append(out.Issues, f.Issue)
		}
	}
	slices.Sort(out.Issues)
	return out
}
