package inspect

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/dvcompactor/dvcompactor/internal/term"
)

// someRows is how many partitions and Puffin files are shown unless everything is asked for.
const someRows = 20

// WriteText prints the table for people.
func (t *Table) WriteText(w io.Writer, opts TextOptions) error {
	x := &text{w: w, style: opts.Style, all: opts.All}
	at := "no snapshot yet"
	if t.SnapshotID != nil {
		at = fmt.Sprintf("snapshot %d", *t.SnapshotID)
	}
	x.printf("%s  %s  %s\n", x.style.Bold(term.Safe(t.Table)), term.Safe(t.Ref), x.style.Dim(fmt.Sprintf("%s, format version %d", at, t.FormatVersion)))
	x.deletes(t)
	x.partitions(t.Partitions)
	x.puffins(t.Puffins)
	x.dangling(t.Dangling)
	return x.err
}

func (t *text) deletes(of *Table) {
	c := of.Deletes
	t.printf("\n")
	table := &term.Table{Indent: "  ", Right: []bool{false, true}}
	for _, row := range []struct {
		name  string
		count int
	}{
		{"position delete files", c.PositionDeleteFiles}, {"equality delete files", c.EqualityDeleteFiles}, {"deletion vectors", c.DeletionVectors},
		{"puffin files", c.PuffinFiles}, {"delete manifests", c.DeleteManifests},
	} {
		table.Row(row.name, term.Count(int64(row.count)))
	}
	table.Row("deleted rows", term.Count(c.DeletedRows))
	table.Row("size of deletes", term.Size(c.DeleteBytes))
	t.table(table)
}

func (t *text) partitions(all []Partition) {
	if len(all) == 0 {
		return
	}
	t.printf("\n  %s\n", t.style.Bold(term.Plural(int64(len(all)), "partition", "partitions")+" with deletes"))
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b Partition) int { return cmp.Compare(b.DeletedRows, a.DeletedRows) })
	table := &term.Table{Indent: "    ", Right: []bool{false, true, true, true, true, true}}
	table.Row(t.dim("partition", "spec", "position deletes", "vectors", "deleted rows", "size")...)
	for _, p := range sorted[:t.some(len(sorted))] {
		table.Row(term.Safe(cmp.Or(p.Partition, "unpartitioned")), fmt.Sprint(p.SpecID), term.Count(int64(p.PositionDeleteFiles)),
			term.Count(int64(p.DeletionVectors)), term.Count(p.DeletedRows), term.Size(p.DeleteBytes))
	}
	t.table(table)
	t.more(len(sorted))
}

func (t *text) puffins(all []Puffin) {
	if len(all) == 0 {
		return
	}
	t.printf("\n  %s\n", t.style.Bold(term.Plural(int64(len(all)), "puffin file", "puffin files")))
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b Puffin) int { return cmp.Compare(b.Bytes, a.Bytes) })
	table := &term.Table{Indent: "    ", Right: []bool{false, true, true, true, true}}
	table.Row(t.dim("location", "vectors", "deleted rows", "live", "size")...)
	for _, p := range sorted[:t.some(len(sorted))] {
		table.Row(term.Safe(p.Location), term.Count(int64(p.DeletionVectors)), term.Count(p.DeletedRows), term.Size(p.LiveBytes), term.Size(p.Bytes))
	}
	t.table(table)
	t.more(len(sorted))
}

func (t *text) dangling(all []DanglingVector) {
	if len(all) == 0 {
		return
	}
	t.printf("\n  %s\n", t.style.Warn(term.Plural(int64(len(all)), "deletion vector", "deletion vectors")+" of data files that are not live"))
	for _, d := range all[:t.some(len(all))] {
		t.printf("    %s\n", term.Safe(cmp.Or(d.DataFile, d.Location)))
	}
	t.more(len(all))
}

// some bounds how many of n rows are shown.
func (t *text) some(n int) int {
	if t.all {
		return n
	}
	return min(n, someRows)
}

func (t *text) more(n int) {
	if rest := n - t.some(n); rest > 0 {
		t.printf("    %s\n", t.style.Dim(fmt.Sprintf("and %s more: --all shows them", term.Count(int64(rest)))))
	}
}

func (t *text) dim(cells ...string) []string {
	for i, c := range cells {
		cells[i] = t.style.Dim(c)
	}
	return cells
}
