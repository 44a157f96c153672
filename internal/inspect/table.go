package inspect

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// Table is the live deletes of one branch or tag of a table.
type Table struct {
	Table         string             `json:"table"`
	Ref           string             `json:"ref"`
	SnapshotID    *int64             `json:"snapshot_id"` // null when nothing was written to the table yet
	FormatVersion int                `json:"format_version"`
	Deletes       maintenance.Counts `json:"deletes"`
	Partitions    []Partition        `json:"partitions"` // those with deletes
	Puffins       []Puffin           `json:"puffins"`
	Dangling      []DanglingVector   `json:"dangling_dvs"`
}

// Partition is the live deletes of one partition under one spec.
type Partition struct {
	SpecID              int32  `json:"spec_id"`
	Partition           string `json:"partition"`
	DeletionVectors     int    `json:"deletion_vectors"`
	PositionDeleteFiles int    `json:"position_delete_files"`
	DeletedRows         int64  `json:"deleted_rows"` // positions in deletion vectors plus records in position delete files
	DeleteBytes         int64  `json:"delete_bytes"` // blobs of deletion vectors plus whole position delete files
}

// Puffin is one file with live deletion vectors.
type Puffin struct {
	Location        string `json:"location"`
	DeletionVectors int    `json:"deletion_vectors"` // live ones
	Bytes           int64  `json:"bytes"`            // of the whole file
	LiveBytes       int64  `json:"live_bytes"`       // of the blobs of live deletion vectors
	DeletedRows     int64  `json:"deleted_rows"`
}

// DanglingVector is a live deletion vector whose data file is not live.
type DanglingVector struct {
	DataFile string `json:"data_file"`
	Location string `json:"location"`
	Offset   int64  `json:"offset"`
	Length   int64  `json:"length"`
}

// ReadTable reads the live deletes of a branch or tag. Only metadata is read.
func ReadTable(ctx context.Context, t *catalog.Table, ref string, parallelism int) (*Table, error) {
	ref = cmp.Or(ref, "main")
	out := &Table{
		Table: t.Name(), Ref: ref, FormatVersion: t.Metadata.Version(),
		Partitions: []Partition{}, Puffins: []Puffin{}, Dangling: []DanglingVector{},
	}
	head := t.Metadata.SnapshotByName(ref)
	if head == nil {
		if ref == "main" {
			return out, nil
		}
		return nil, fmt.Errorf("%s: %w: %q", t.Name(), maintenance.ErrNoRef, ref)
	}
	out.SnapshotID = &head.SnapshotID
	s, err := snapshot.Load(ctx, t.Store.FileIO(ctx), t.Metadata, head, snapshot.LoadOptions{Parallelism: parallelism})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name(), err)
	}
	out.fill(s)
	return out, nil
}

func (t *Table) fill(s *snapshot.State) {
	t.partitions(s)
	t.puffins(s)
	for _, d := range s.DanglingDVs {
		t.Dangling = append(t.Dangling, DanglingVector{DataFile: d.Referenced, Location: d.Path, Offset: d.Offset, Length: d.Length})
	}
	t.Deletes = maintenance.Count(s)
}

func (t *Table) partitions(s *snapshot.State) {
	byGroup := map[*snapshot.Group]*Partition{}
	for d := range s.Deletes() {
		p := byGroup[d.Group]
		if p == nil {
			p = &Partition{SpecID: d.Group.Key.SpecID, Partition: d.Group.Label}
			byGroup[d.Group] = p
		}
		p.add(d)
	}
	for _, g := range s.SortedGroups() {
		if p := byGroup[g]; p != nil {
			t.Partitions = append(t.Partitions, *p)
		}
	}
}

func (p *Partition) add(d *snapshot.DeleteFile) {
	p.DeletedRows += d.Records
	p.DeleteBytes += d.ContentBytes()
	if d.IsDV() {
		p.DeletionVectors++
	} else {
		p.PositionDeleteFiles++
	}
}

func (t *Table) puffins(s *snapshot.State) {
	for location, dvs := range s.Puffins() {
		p := Puffin{Location: location, DeletionVectors: len(dvs), Bytes: dvs[0].Size}
		for _, d := range dvs {
			p.LiveBytes += max(0, d.Length)
			p.DeletedRows += d.Records
		}
		t.Puffins = append(t.Puffins, p)
	}
	slices.SortFunc(t.Puffins, func(a, b Puffin) int { return cmp.Compare(a.Location, b.Location) })
}

// WriteJSON prints the table as one JSON document.
func (t *Table) WriteJSON(w io.Writer) error { return writeJSON(w, t) }
