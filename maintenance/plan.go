package maintenance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// Plan says what a run would do to one branch of a table and what it would leave alone. It is a pure function of the
// table's state and of the options, so that it can be reviewed, saved and made again: equal fingerprints mean equal work.
type Plan struct {
	Table          string   `json:"table"`
	Ref            string   `json:"ref"`
	Action         Action   `json:"action"`
	PlanID         string   `json:"plan_id"`
	TableUUID      string   `json:"table_uuid"`
	SnapshotBefore *int64   `json:"snapshot_before"` // null: the branch has no snapshot
	FormatVersion  int      `json:"format_version"`
	UpgradeFormat  bool     `json:"upgrade_format"` // the commit will upgrade the table to version 3
	Settings       Settings `json:"settings"`
	Before         Counts   `json:"before"`

	Partitions  []PartitionPlan `json:"partitions"`   // with position delete files to merge
	Puffins     []PuffinPlan    `json:"puffins"`      // Puffin files to rewrite
	DanglingDVs []string        `json:"dangling_dvs"` // referenced data files that are not live
	Manifests   []ManifestPlan  `json:"manifests"`    // delete manifests to merge
	// TakenAlong are data files of other partitions than those asked for, whose deletion vectors are in Puffin files that are
	// written anew.
	TakenAlong  []string `json:"taken_along,omitempty"`
	Skipped     []Skip   `json:"skipped"`
	Fingerprint string   `json:"fingerprint"` // of the delete entries that the plan is about
	Work        bool     `json:"work"`        // there is something to do
	Forecast    Forecast `json:"forecast"`    // what it is worth to readers

	state   *snapshot.State
	pending *selection
	cost    storage.Stats
}

// Settings are the options that decide what a plan contains.
type Settings struct {
	UpgradeFormat    bool  `json:"upgrade_format"`
	TargetPuffinSize int64 `json:"target_puffin_size"`
	// HotSince is the time, in milliseconds since the epoch, after which a change of its deletes keeps a data file out of
	// the plan; 0 without a cool-down.
	HotSince int64 `json:"hot_since"`
	// Where is the predicate over the partitions that the plan is about, "" for all.
	Where string `json:"where,omitempty"`
	// InPlace says how position delete files are rewritten; null when they are not, but become deletion vectors.
	InPlace *InPlace `json:"in_place"`
}

// Counts are live delete entries of a snapshot.
type Counts struct {
	PositionDeleteFiles int   `json:"position_delete_files"`
	EqualityDeleteFiles int   `json:"equality_delete_files"`
	DeletionVectors     int   `json:"deletion_vectors"`
	PuffinFiles         int   `json:"puffin_files"`
	DeleteManifests     int   `json:"delete_manifests"`
	DeletedRows         int64 `json:"deleted_rows"` // positions in deletion vectors plus records in position delete files
	DeleteBytes         int64 `json:"delete_bytes"` // whole files, a Puffin counted once
}

// PartitionPlan is one partition of which position delete files will be merged.
type PartitionPlan struct {
	SpecID              int32  `json:"spec_id"`
	Partition           string `json:"partition"`
	DataFiles           int    `json:"data_files"` // that a record may name
	PositionDeleteFiles int    `json:"position_delete_files"`
	Records             int64  `json:"records"`
	// InPlace is null when the files become deletion vectors.
	InPlace *InPlacePlan `json:"in_place"`
}

// PuffinPlan is one Puffin file whose live deletion vectors will be written anew.
type PuffinPlan struct {
	Location        string `json:"location"`
	DeletionVectors int    `json:"deletion_vectors"`
	Bytes           int64  `json:"bytes"`
	DeadBytes       int64  `json:"dead_bytes"`
	Reason          string `json:"reason"` // small | dead-bytes | dangling
}

// Skip is something that stays as it is, and why. Reason is a stable word; where a fault is the reason it is the
// fault's id.
type Skip struct {
	Reason   string `json:"reason"`
	DataFile string `json:"data_file,omitempty"`
	Location string `json:"location,omitempty"` // delete file
	Detail   string `json:"detail"`
	Hint     string `json:"hint,omitempty"` // what to do about it
}

// MakePlan reads the state of a branch and decides what to do. It changes nothing.
func MakePlan(ctx context.Context, t *catalog.Table, o Options) (*Plan, error) {
	o = o.withDefaults()
	if err := refuse(t, o); err != nil {
		return nil, err
	}
	p := &Plan{
		Table: t.Name(), Ref: o.Ref, Action: o.Action, TableUUID: t.Metadata.TableUUID().String(), FormatVersion: t.Metadata.Version(),
		Settings:   Settings{UpgradeFormat: o.UpgradeFormat, TargetPuffinSize: o.TargetPuffinSize, HotSince: o.hotSinceMs(), Where: o.Where},
		Partitions: []PartitionPlan{}, Puffins: []PuffinPlan{}, DanglingDVs: []string{}, Manifests: []ManifestPlan{}, Skipped: []Skip{},
	}
	if g := o.InPlace.Granularity; g != "" && g != ByFile && g != ByPartition {
		return nil, fmt.Errorf("granularity %q is not one of file, partition", g)
	}
	if inPlace(t.Metadata, o) {
		p.Settings.InPlace = o.InPlace.of(t.Metadata)
	}
	head := t.Metadata.SnapshotByName(o.Ref)
	if head == nil {
		if o.Ref == "main" {
			return p.identify(), nil // a table that nobody wrote to
		}
		return nil, fmt.Errorf("%s: %w: %q", t.Name(), ErrNoRef, o.Ref)
	}
	p.SnapshotBefore = &head.SnapshotID
	o.Progress.Stage("reading manifests", 0, "")
	state, err := snapshot.Load(ctx, t.Store.FileIO(ctx), t.Metadata, head, snapshot.LoadOptions{Parallelism: o.Parallelism})
	if errors.Is(err, snapshot.ErrFormat) || errors.Is(err, snapshot.ErrPartitionValue) || errors.Is(err, snapshot.ErrMetadata) {
		err = fmt.Errorf("%w: %w", ErrRefusedTable, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name(), err)
	}
	twins, err := state.Twins(ctx, t.Store.FileIO(ctx), danglingPaths(state, p.Settings.InPlace != nil))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name(), err)
	}
	p.state = state
	p.Before = Count(state)
	if err := p.choose(twins, o); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name(), err)
	}
	return p.identify(), nil
}

// danglingPaths are the paths that entries reference and that are not live where they would have to be.
func danglingPaths(s *snapshot.State, positionDeletes bool) []string {
	var out []string
	for _, d := range s.DanglingDVs {
		if d.Referenced != "" {
			out = append(out, d.Referenced)
		}
	}
	for _, d := range s.PositionDeletes {
		if positionDeletes && d.Referenced != "" && s.DataFiles[d.Referenced] == nil {
			out = append(out, d.Referenced)
		}
	}
	return out
}

// choose runs the selection and copies it into the plan's public part.
func (p *Plan) choose(twins map[string]snapshot.Twin, o Options) error {
	chosen, err := partitionFilter(o.Where, p.state.Metadata)
	if err != nil {
		return err
	}
	s := &selection{state: p.state, options: o, blocked: map[*snapshot.DataFile]bool{}, twins: twins, cool: newCoolDown(p.state, p.Settings.HotSince), chosen: chosen, inPlace: p.Settings.InPlace}
	if err := s.run(); err != nil {
		return err
	}
	p.pending = s
	p.UpgradeFormat = s.upgrade
	p.Skipped = append(p.Skipped, s.skipped...)
	p.Partitions = append(p.Partitions, s.partitions...)
	p.Puffins = append(p.Puffins, s.puffins...)
	for _, d := range s.dangling {
		p.DanglingDVs = append(p.DanglingDVs, d.Referenced)
	}
	for _, m := range s.merges {
		p.Manifests = append(p.Manifests, ManifestPlan{SpecID: m.SpecID, Manifests: len(m.Manifests), Bytes: m.Bytes, After: m.After})
	}
	p.TakenAlong = s.takenAlong()
	p.Forecast = s.forecast()
	p.Work = len(s.groups)+len(s.puffins)+len(s.dangling)+len(s.merges) > 0
	return nil
}

// identify computes the fingerprint of what the plan is about and the plan's id from it.
func (p *Plan) identify() *Plan {
	h := sha256.New()
	// Not the time of the cool-down, which every plan has another: inputs say what it keeps out.
	fmt.Fprintf(h, "%s\n%s\n%s\n%v {UpgradeFormat:%v TargetPuffinSize:%v}\n", p.TableUUID, p.Ref, p.Action, p.UpgradeFormat, p.Settings.UpgradeFormat, p.Settings.TargetPuffinSize)
	if p.Settings.Where != "" {
		fmt.Fprintf(h, "where %s\n", p.Settings.Where)
	}
	if in := p.Settings.InPlace; in != nil {
		fmt.Fprintf(h, "%+v\n", *in)
	}
	if p.pending != nil {
		for _, line := range p.pending.inputs() {
			fmt.Fprintln(h, line)
		}
	}
	p.Fingerprint = hex.EncodeToString(h.Sum(nil))
	p.PlanID = p.Fingerprint[:16]
	return p
}

// Count counts the live delete entries of a state.
func Count(s *snapshot.State) Counts {
	c := Counts{
		PositionDeleteFiles: len(s.PositionDeletes), EqualityDeleteFiles: s.EqualityDeletes, DeletionVectors: len(s.DVs),
		DeleteManifests: len(s.DeleteManifests()),
	}
	for _, d := range s.PositionDeletes {
		c.DeletedRows += d.Records
		c.DeleteBytes += d.Size
	}
	for _, dvs := range s.Puffins() {
		c.PuffinFiles++
		c.DeleteBytes += dvs[0].Size
		for _, d := range dvs {
			c.DeletedRows += d.Records
		}
	}
	return c
}

// inputs lists the delete entries a selection is about, in an order that depends on nothing else.
func (s *selection) inputs() []string {
	var out []string
	add := func(kind string, d *snapshot.DeleteFile) {
		if s.cool.covers(d) {
			kind = "hot " + kind
		}
		out = append(out, fmt.Sprintf("%s %q %d %d %d", kind, d.Path, d.Offset, d.Length, d.Seq))
	}
	for _, g := range s.groups {
		for _, d := range s.sourcesOf(g) {
			add("position", d)
		}
		for _, f := range g.Data {
			if dv := f.DV(); dv != nil {
				add("dv", dv)
			}
		}
	}
	for d := range s.retire {
		add("retire", d)
	}
	for _, d := range s.dangling {
		add("dangling", d)
	}
	if len(out) == 0 { // else which manifests there are does not matter to what was reviewed
		for _, m := range s.merges {
			for _, location := range m.Manifests {
				out = append(out, fmt.Sprintf("manifest %q", location))
			}
		}
	}
	slices.SortFunc(out, strings.Compare)
	return out
}
