package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dvcompactor/dvcompactor/snapshot"
)

// vectors finds what the entries of deletion vectors contradict.
func (c *checker) vectors() {
	byFile := map[string][]*snapshot.DeleteFile{}
	for _, d := range c.survey.State.DVs {
		c.vector(d)
		if d.Referenced != "" {
			byFile[d.Referenced] = append(byFile[d.Referenced], d)
		}
	}
	for _, dvs := range byFile {
		c.several(dvs)
	}
}

// vector looks at one entry and its data file.
func (c *checker) vector(d *snapshot.DeleteFile) {
	if c.report.FormatVersion < 3 {
		f := of("dv-in-v2", d)
		f.Detail = fmt.Sprintf("a deletion vector in a table of format version %d", c.report.FormatVersion)
		c.add(f)
	}
	if d.Unbound() {
		if c.options.Level == Metadata {
			c.lacking(d, func(*Finding) {})
		}
		return // else the footer says more
	}
	if d.Records == 0 {
		f := of("dv-empty", d)
		f.Detail = "the entry of the deletion vector counts no positions"
		c.add(f)
	}
	data := c.survey.State.DataFiles[d.Referenced]
	if data == nil || data.Twice {
		return
	}
	if d.Group != data.Group {
		f := of("dv-partition", d)
		f.Expected, f.Actual = place(data.Group), place(d.Group)
		f.Detail = fmt.Sprintf("the data file is in %s, its deletion vector in %s", f.Expected, f.Actual)
		c.add(f)
	}
	if d.Seq < data.Seq {
		f := of("dv-sequence", d)
		f.Expected, f.Actual = fmt.Sprintf("at least %d", data.Seq), fmt.Sprint(d.Seq)
		f.Detail = fmt.Sprintf("the deletion vector's data sequence number %d is below its data file's %d", d.Seq, data.Seq)
		c.add(f)
	}
	if d.Records > 0 && d.Records == data.Records {
		f := of("file-fully-deleted", d)
		f.Detail = fmt.Sprintf("all %d rows are deleted", d.Records)
		c.add(f)
	}
}

// lacking reports an entry that does not say which bytes it is and what it is about. The finding is given to more.
func (c *checker) lacking(d *snapshot.DeleteFile, more func(*Finding)) {
	var fields []string
	for name, missing := range map[string]bool{"referenced_data_file": d.Referenced == "", "content_offset": d.Offset < 0, "content_size_in_bytes": d.Length < 0} {
		if missing {
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	f := of("dv-fields-missing", d)
	f.Detail = "the deletion vector's entry lacks " + strings.Join(fields, ", ")
	more(&f)
	c.add(f)
}

// place names a partition under its spec.
func place(g *snapshot.Group) string {
	if g.Label == "" {
		return fmt.Sprintf("spec %d", g.Key.SpecID)
	}
	return fmt.Sprintf("spec %d, %s", g.Key.SpecID, g.Label)
}

// several looks at the deletion vectors of one data file.
func (c *checker) several(dvs []*snapshot.DeleteFile) {
	times := map[snapshot.FileID]int{}
	for _, d := range dvs {
		times[d.FileID]++
	}
	snapshots := map[int64]bool{}
	reported := map[snapshot.FileID]bool{}
	for _, d := range dvs {
		snapshots[d.SnapshotID] = true
		if n := times[d.FileID]; n > 1 && !reported[d.FileID] {
			reported[d.FileID] = true
			f := of("dv-listed-twice", d)
			f.Detail = fmt.Sprintf("%d live entries name the same bytes", n)
			c.add(f)
		}
	}
	if len(times) > 1 {
		f := of("dv-duplicate", dvs[0])
		if len(snapshots) == 1 {
			f.Repair = Safe // the parts of one job: their union is what it deleted
		}
		of := "one snapshot"
		if len(snapshots) > 1 {
			of = fmt.Sprintf("%d snapshots", len(snapshots))
		}
		f.Detail = fmt.Sprintf("%d live deletion vectors of %s for one data file: %s", len(times), of, ranges(dvs))
		c.add(f)
	}
}

// ranges names where deletion vectors are.
func ranges(dvs []*snapshot.DeleteFile) string {
	var out []string
	for _, d := range dvs {
		out = append(out, fmt.Sprintf("%s at %d+%d (%d positions)", d.Path, d.Offset, d.Length, d.Records))
	}
	return strings.Join(out, "; ")
}

// absent looks for the data files that deletes name and that are not live. When not all data manifests could be read
// nobody knows what is live, and nothing is said.
func (c *checker) absent(ctx context.Context) error {
	if !c.survey.Complete {
		return nil
	}
	var paths []string
	for _, d := range c.survey.State.DanglingDVs {
		if d.Referenced != "" {
			paths = append(paths, d.Referenced)
		}
	}
	twins, err := c.survey.Twins(ctx, paths)
	if err != nil {
		return err
	}
	for _, d := range c.survey.State.DanglingDVs {
		switch twin, near := twins[d.Referenced]; {
		case d.Referenced == "":
		case near:
			f := of("path-near-miss", d)
			f.Expected, f.Actual = twin.Path, d.Referenced
			f.Detail = "the deletion vector's data file is not live, but " + twin.Path + " is"
			c.add(f)
		default:
			f := of("dv-dangling", d)
			f.Detail = "the deletion vector's data file is not live"
			c.add(f)
		}
	}
	return nil
}
