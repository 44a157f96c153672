package repair

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/maintenance/verify"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// plan works out everything without writing, and fills a report.
func (r *repairer) plan(ctx context.Context) (*Report, error) {
	f := r.found
	report := &Report{
		Table: f.Table, Ref: f.Ref, Action: Action, PlanID: r.id(), SnapshotBefore: f.SnapshotID, Before: f.Before, After: f.Before,
		Findings: []check.Finding{}, DataFiles: []DataFile{}, Removed: []Removed{}, Manifests: []string{}, Copies: []Copy{}, Skipped: r.skipped,
		Warnings: []string{}, Verified: []string{}, Verification: emptyVerification(),
	}
	if len(r.chosen) == 0 {
		return report, nil
	}
	class := check.Repair("")
	_ = r.each(func(f *check.Finding) error {
		report.Findings = append(report.Findings, *f)
		if r.direct(f) {
			class = worst(class, f.Repair)
		}
		return nil
	})
	err := r.batches(ctx, func(b *batch) error {
		for _, p := range b.patients {
			o, err := r.resolve(ctx, b, p)
			if err != nil {
				return err
			}
			report.DataFiles = append(report.DataFiles, o.report())
			report.RestoreRows += o.restored
			class = worst(class, o.repair)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, file := range r.siblings {
		n := file.DV().Records
		report.DataFiles = append(report.DataFiles, DataFile{Path: file.Path, Issues: []string{}, Repair: check.Safe, Before: &n, After: n,
			Sources: []string{"its deletion vector as it is, which shares a Puffin file with what is repaired"}})
	}
	for _, d := range r.departures() {
		report.RestoreRows += r.gone[d].restored
	}
	for _, d := range r.removed() {
		report.Removed = append(report.Removed, removedOf(d))
	}
	report.Manifests = append(report.Manifests, slices.Concat(slices.Sorted(maps.Keys(r.rewrite)), slices.Sorted(maps.Keys(r.corrected)))...)
	report.NeedsConfirmation = class == check.Ask
	report.Operation = string(operation(class))
	if r.tags(class) {
		report.Tag = r.tag("dvcompactor-before-"+report.PlanID[:8], *f.SnapshotID)
	}
	report.RollBack = (&verify.Error{Table: r.table.Identifier, Ref: r.options.Ref, Parent: *f.SnapshotID}).RollBack()
	return report, nil
}

// tags says whether the snapshot before gets a tag.
func (r *repairer) tags(class check.Repair) bool {
	if r.options.Tag != TagAuto {
		return r.options.Tag == TagAlways
	}
	if class == check.Ask {
		return true
	}
	for f := range r.chosen {
		if len(f.Engines.Fail) > 0 || f.Effect == check.Unreadable || f.Effect == check.Risk {
			return false
		}
	}
	return true
}

// tag returns the name of the tag. One of a repair that was rolled back is there already.
func (r *repairer) tag(name string, id int64) string {
	refs := maps.Collect(r.table.Metadata.Refs())
	for n := 2; ; n++ {
		ref, taken := refs[name]
		r.tagged = taken && ref.SnapshotID == id && ref.SnapshotRefType == table.TagRef
		if !taken || r.tagged {
			return name
		}
		name = fmt.Sprintf("%s-%d", strings.TrimSuffix(name, fmt.Sprintf("-%d", n-1)), n)
	}
}

// operation is that of the snapshot: replace as long as no reader's answer changes.
func operation(class check.Repair) table.Operation {
	if class == check.Safe {
		return table.OpReplace
	}
	return table.OpDelete
}

// direct says whether the class of a finding is that of its repair. Those of data files are decided one by one.
func (r *repairer) direct(f *check.Finding) bool {
	switch treatmentOf(f.Issue) {
	case ofEntry, ofManifest, ofSummary, ofDeletes:
		return true
	}
	for _, d := range r.gone {
		if d.finding == f {
			return true
		}
	}
	return f.DataFile == "" && treatmentOf(f.Issue) != ofPuffin
}

// departures are the entries that go without another one in their place, in a fixed order.
func (r *repairer) departures() []*snapshot.DeleteFile {
	return slices.SortedFunc(maps.Keys(r.gone), compareEntries)
}

func compareEntries(a, b *snapshot.DeleteFile) int {
	return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Offset, b.Offset), strings.Compare(a.Manifest, b.Manifest))
}

// removed are all entries that go, in a fixed order.
func (r *repairer) removed() []*snapshot.DeleteFile {
	all := map[*snapshot.DeleteFile]bool{}
	for d := range r.gone {
		all[d] = true
	}
	for _, p := range r.patients {
		for _, d := range p.vectors {
			all[d] = true
		}
	}
	for _, file := range r.siblings {
		all[file.DV()] = true
	}
	return slices.SortedFunc(maps.Keys(all), compareEntries)
}

func removedOf(d *snapshot.DeleteFile) Removed {
	out := Removed{Location: d.Path, DataFile: d.Referenced, Records: d.Records}
	if d.IsDV() && d.Offset >= 0 && d.Length >= 0 {
		out.Offset, out.Length = &d.Offset, &d.Length
	}
	return out
}

// id names the repair: the same findings on the same snapshot have the same.
func (r *repairer) id() string {
	h := sha256.New()
	fmt.Fprintf(h, "repair\n%s\n%s\n%v\n%v\n", r.table.Metadata.TableUUID(), r.options.Ref, snapshotText(r.found.SnapshotID), r.options.Aliases)
	_ = r.each(func(f *check.Finding) error {
		fmt.Fprintf(h, "%s %q %q %v\n", f.Issue, f.DataFile, f.Location, f.Detail)
		return nil
	})
	return hex.EncodeToString(h.Sum(nil))[:16]
}

func snapshotText(id *int64) string {
	if id == nil {
		return "-"
	}
	return fmt.Sprint(*id)
}
