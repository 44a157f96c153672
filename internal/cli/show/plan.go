package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/dvcompactor/dvcompactor/internal/cli/document"
	"github.com/dvcompactor/dvcompactor/internal/term"
	"github.com/dvcompactor/dvcompactor/maintenance"
)

// topPartitions is how many partitions a plan shows.
const topPartitions = 10

// Plan writes what a run would do and why, and what it would leave alone and why. err is why the plan cannot be carried
// out as it is, or nil. policy is what a daemon would do, nil when nothing is known of one.
func Plan(w io.Writer, s term.Style, plan *maintenance.Plan, policy *document.Policy, err error) error {
	p := &page{w: w}
	verdict := "nothing to do"
	switch {
	case err != nil:
		verdict = s.Bad("would be refused")
	case plan.Work:
		verdict = s.Good("there is work")
	}
	p.printf("%s  %s  %s  %s\n", s.Bold(term.Safe(plan.Table)), term.Safe(plan.Ref), plan.Action, verdict)
	p.printf("  %s\n\n", s.Dim(fmt.Sprintf("plan %s of snapshot %s, format version %d", plan.PlanID, id(plan.SnapshotBefore), plan.FormatVersion)))
	if err != nil {
		p.failure(s, err)
		p.printf("\n")
	}
	if plan.UpgradeFormat {
		p.printf("  %s\n\n", s.Warn("upgrades the table to format version 3, which cannot be undone"))
	}
	counts(p, plan.Before)
	if plan.Settings.Where != "" {
		p.printf("\n  %s: %s\n", s.Bold("where"), term.Safe(plan.Settings.Where))
	}
	partitions(p, s, plan.Partitions)
	puffins(p, s, plan.Puffins)
	files(p, s, "taken along", "deletion vectors of other partitions in the same Puffin files", plan.TakenAlong)
	dangling(p, s, plan.DanglingDVs)
	manifests(p, s, plan.Manifests)
	skips(p, s, plan.Skipped)
	forecast(p, s, plan.Forecast)
	daemonWould(p, s, policy)
	return p.err
}

// forecast says what the plan is worth to those who read the table. What comes after is at most what is shown.
func forecast(p *page, s term.Style, f maintenance.Forecast) {
	if f.Before == f.After {
		return
	}
	p.printf("\n  %s: what a full scan takes because of these deletes, and what they occupy\n", s.Bold("forecast"))
	t := &term.Table{Indent: "    ", Right: []bool{false, true, true}}
	t.Row("", s.Dim("now"), s.Dim("then about"))
	t.Row("requests", term.Count(f.Before.Requests), term.Count(f.After.Requests))
	t.Row("bytes", term.Size(f.Before.Bytes), term.Size(f.After.Bytes))
	t.Row("delete entries", term.Count(f.Before.DeleteEntries), term.Count(f.After.DeleteEntries))
	t.Row("stored", term.Size(f.Before.StoredBytes), term.Size(f.After.StoredBytes))
	p.table(t)
}

// daemonWould says which policy takes the table, and whether its triggers fire.
func daemonWould(p *page, s term.Style, policy *document.Policy) {
	switch {
	case policy == nil:
	case policy.Name == "":
		p.printf("\n  %s: %s\n", s.Bold("daemon"), term.Safe(policy.Why))
	case policy.Fires:
		p.printf("\n  %s: would do it when it is due: %s\n    %s\n", s.Bold("daemon"), term.Safe(policy.Trigger), s.Dim(term.Safe(policy.Why)))
	default:
		p.printf("\n  %s: would not do it: %s\n    %s\n", s.Bold("daemon"), term.Safe(policy.Trigger), s.Dim(term.Safe(policy.Why)))
	}
}

func partitions(p *page, s term.Style, all []maintenance.PartitionPlan) {
	if len(all) == 0 {
		return
	}
	var files, records int64
	for _, part := range all {
		files += int64(part.PositionDeleteFiles)
		records += part.Records
	}
	verb := "merge"
	if all[0].InPlace != nil {
		verb = "rewrite as fewer"
	}
	p.printf("\n  %s: %s with %s in %s\n", s.Bold(verb), term.Plural(files, "position delete file", "position delete files"),
		term.Plural(records, "record", "records"), term.Plural(int64(len(all)), "partition", "partitions"))
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b maintenance.PartitionPlan) int {
		return cmp.Or(cmp.Compare(b.PositionDeleteFiles, a.PositionDeleteFiles), cmp.Compare(b.Records, a.Records))
	})
	t := &term.Table{Indent: "    ", Right: []bool{false, true, true, true, true, true, true}}
	head := []string{s.Dim("partition"), s.Dim("spec"), s.Dim("delete files"), s.Dim("records"), s.Dim("data files")}
	if all[0].InPlace != nil {
		head = append(head, s.Dim("size"), s.Dim("become"))
	}
	t.Row(head...)
	for _, part := range sorted[:min(len(sorted), topPartitions)] {
		t.Row(partition(part)...)
	}
	p.table(t)
	if more := len(sorted) - topPartitions; more > 0 {
		p.printf("    %s\n", s.Dim(fmt.Sprintf("and %s", term.Plural(int64(more), "more partition", "more partitions"))))
	}
}

// partition is a row of the table of partitions.
func partition(part maintenance.PartitionPlan) []string {
	row := []string{
		term.Safe(cmp.Or(part.Partition, "unpartitioned")), fmt.Sprint(part.SpecID), term.Count(int64(part.PositionDeleteFiles)),
		term.Count(part.Records), term.Count(int64(part.DataFiles)),
	}
	if in := part.InPlace; in != nil {
		after := "as records tell"
		if in.FilesAfter != nil {
			after = term.Count(int64(*in.FilesAfter))
		}
		row = append(row, term.Size(in.Bytes), after)
	}
	return row
}

// why explains the reasons for writing a Puffin file anew.
func why(reason string) string {
	switch reason {
	case "small":
		return "many small files become few"
	case "dead-bytes":
		return "they hold bytes that no live deletion vector uses"
	case "dangling":
		return "they hold deletion vectors of data files that are gone"
	}
	return ""
}

func puffins(p *page, s term.Style, all []maintenance.PuffinPlan) {
	if len(all) == 0 {
		return
	}
	p.printf("\n  %s: %s\n", s.Bold("write anew"), term.Plural(int64(len(all)), "puffin file", "puffin files"))
	t := &term.Table{Indent: "    ", Right: []bool{false, true, true, true, true}}
	t.Row(s.Dim("reason"), s.Dim("files"), s.Dim("vectors"), s.Dim("size"), s.Dim("dead"))
	for _, reason := range reasons(all) {
		var files, vectors, bytes, dead int64
		for _, f := range all {
			if f.Reason == reason {
				files, vectors, bytes, dead = files+1, vectors+int64(f.DeletionVectors), bytes+f.Bytes, dead+f.DeadBytes
			}
		}
		t.Row(reason, term.Count(files), term.Count(vectors), term.Size(bytes), term.Size(dead), s.Dim(why(reason)))
	}
	p.table(t)
}

func reasons(all []maintenance.PuffinPlan) []string {
	var out []string
	for _, f := range all {
		if !slices.Contains(out, f.Reason) {
			out = append(out, f.Reason)
		}
	}
	return out
}

// files names some of the data files that something is about.
func files(p *page, s term.Style, what, why string, paths []string) {
	if len(paths) == 0 {
		return
	}
	p.printf("\n  %s: %s\n", s.Bold(what), why)
	for i, path := range paths {
		if i == examples {
			p.printf("    %s\n", s.Dim(fmt.Sprintf("and %d more", len(paths)-examples)))
			return
		}
		p.printf("    %s\n", term.Safe(path))
	}
}

func dangling(p *page, s term.Style, paths []string) {
	files(p, s, "drop", term.Plural(int64(len(paths)), "deletion vector", "deletion vectors")+" of data files that are not live", paths)
}

// manifests says how many delete manifests become how few.
func manifests(p *page, s term.Style, all []maintenance.ManifestPlan) {
	var before, bytes, after int64
	for _, m := range all {
		before, bytes, after = before+int64(m.Manifests), bytes+m.Bytes, after+int64(m.After)
	}
	if before > 0 {
		p.printf("\n  %s: %s of %s become %s at most\n", s.Bold("merge"), term.Plural(before, "delete manifest", "delete manifests"), term.Size(bytes), term.Count(after))
	}
}
