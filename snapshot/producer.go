package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/google/uuid"
)

// ErrGone says that an entry that a change removes is not live exactly once in the state it is applied to.
var ErrGone = errors.New("entry to remove is not live")

// NewDV is a deletion vector to add. Its entry takes spec id and partition tuple from its data file.
type NewDV struct {
	Data *DataFile
	// Seq is the data sequence number, explicit in the entry: the largest one of the sources. [Fresh] inherits the new
	// snapshot's.
	Seq         int64
	Puffin      string // location
	PuffinSize  int64  // bytes of the whole file
	Offset      int64  // of the blob
	Length      int64  // bytes of the blob
	Cardinality int64
}

// Fresh stands for the data sequence number of the snapshot that is made: what an entry without one inherits.
const Fresh int64 = -1

// NewPositionDeletes is a position delete file in Parquet to add.
type NewPositionDeletes struct {
	Location     string
	Size         int64 // bytes
	Records      int64
	Group        *Group         // the partition whose data files it deletes rows of
	Seq          int64          // data sequence number, or [Fresh]
	Lower, Upper map[int][]byte // bounds of its columns by field id
	ColumnSizes  map[int]int64  // compressed bytes of its columns by field id
	SplitOffsets []int64        // where its row groups begin, in bytes
	Referenced   string         // the only data file that it has records of, "" when there are several
}

// Change replaces delete entries of one branch. Data manifests stay as they are.
type Change struct {
	Ref        string
	SnapshotID int64           // of the snapshot to make; see [NewSnapshotID]
	Operation  table.Operation // default "replace": the rows of the table are the same before and after
	Remove     map[FileID]bool
	Add        []NewDV
	AddFiles   []NewPositionDeletes
	Rewrite    map[string]bool   // locations of delete manifests to write anew even when none of their entries goes
	Totals     map[string]int64  // totals of the summary as they are, instead of the parent's carried forward; nil for those
	Tag        string            // name of a tag to put on the parent in the same commit, "" for none
	Upgrade    bool              // to format version 3 in the same commit
	Summary    map[string]string // further entries of the snapshot summary
	Now        time.Time
	// Parallelism is how many manifests are read at once; 0 means 4.
	Parallelism int
}

// Staged is a snapshot whose manifests and manifest list are written and that a catalog can commit.
type Staged struct {
	Snapshot     *table.Snapshot
	Requirements []table.Requirement
	Updates      []table.Update
	Written      []string // locations of the manifests and of the list, to be removed if the commit definitely fails
	Delta        Delta
}

// NewSnapshotID returns a random positive snapshot id.
func NewSnapshotID() int64 {
	u := uuid.New()
	var n uint64
	for i := range 8 {
		n = n<<8 | uint64(u[i]^u[8+i])
	}
	return int64(n &^ (1 << 63))
}

// Stage writes the manifests and the manifest list of the snapshot that applies c to s.
//
// The returned value lists what was written even when the error is not nil.
func Stage(ctx context.Context, fs iceio.WriteFileIO, s *State, c Change) (*Staged, error) {
	p := &producer{fs: fs, state: s, change: c, version: s.Metadata.Version(), commit: uuid.NewString(), staged: &Staged{}, merge: s.mergeRule()}
	root, err := storage.TableRoot(s.Metadata.Location())
	if err != nil {
		return p.staged, err
	}
	p.dir = storage.WriteDir(root, s.Metadata.Properties()["write.metadata.path"], "metadata")
	if c.Upgrade && p.version < 3 {
		p.version = 3
		p.staged.Updates = append(p.staged.Updates, table.NewUpgradeFormatVersionUpdate(3))
	}
	if p.version < 3 && len(c.Add) > 0 {
		return p.staged, fmt.Errorf("deletion vectors need format version 3, the table has %d: %w", p.version, ErrFormat)
	}
	manifests, err := p.manifests(ctx)
	if err != nil {
		return p.staged, err
	}
	if err := p.list(manifests); err != nil {
		return p.staged, err
	}
	return p.staged, nil
}

type producer struct {
	fs      iceio.WriteFileIO
	state   *State
	change  Change
	version int
	dir     string // location that manifests and list go to
	commit  string // unique part of the names of this attempt
	count   int
	staged  *Staged
	merge   *mergeRule
	counts  map[string]int // of manifests, for the summary, when some are written anew for their own sake
}

func (p *producer) parallelism() int {
	return cmp.Or(max(p.change.Parallelism, 0), defaultParallelism)
}

// manifests returns the manifests of the new snapshot: data manifests as they are, delete manifests rewritten where an
// entry goes, small ones of a rewritten spec merged, and none that was without live entries before this commit.
func (p *producer) manifests(ctx context.Context) ([]iceberg.ManifestFile, error) {
	w, err := p.plan()
	if err != nil {
		return nil, err
	}
	var out []iceberg.ManifestFile
	for _, spec := range w.specs() {
		files, err := p.rewriteSpec(ctx, spec, w.bySpec[spec])
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	if w.found != w.wanted {
		return nil, fmt.Errorf("%d of %d entries: %w", w.found, w.wanted, ErrGone)
	}
	if len(p.change.Rewrite) > 0 {
		p.counts = map[string]int{"manifests-created": len(out), "manifests-kept": len(w.carried), "manifests-replaced": len(p.state.Manifests) - len(w.carried)}
	}
	return append(out, w.carried...), nil
}

// list writes the manifest list and completes the staged snapshot.
func (p *producer) list(manifests []iceberg.ManifestFile) error {
	meta, parent := p.state.Metadata, p.state.Snapshot
	location := fmt.Sprintf("%s/snap-%d-1-%s.avro", p.dir, p.change.SnapshotID, p.commit)
	snap := &table.Snapshot{
		SnapshotID: p.change.SnapshotID, ParentSnapshotID: &parent.SnapshotID, SequenceNumber: meta.LastSequenceNumber() + 1,
		// Readers refuse a snapshot older than the table by more than a minute, and clocks differ.
		TimestampMs:  max(p.change.Now.UnixMilli(), parent.TimestampMs, meta.LastUpdatedMillis()),
		ManifestList: location, SchemaID: &meta.CurrentSchema().ID,
		Summary: &table.Summary{Operation: cmp.Or(p.change.Operation, table.OpReplace), Properties: p.summary(parent)},
	}
	w, err := newListWriter(p.version, snap, meta.NextRowID())
	if err != nil {
		return fmt.Errorf("manifest list %s: %w", location, err)
	}
	data, err := w.write(manifests)
	if err != nil {
		return fmt.Errorf("manifest list %s: %w", location, err)
	}
	if err := p.write(location, data); err != nil {
		return err
	}
	p.staged.Snapshot = snap
	p.staged.Updates = append(p.staged.Updates, table.NewAddSnapshotUpdate(snap), p.setRef())
	p.staged.Requirements = []table.Requirement{table.AssertTableUUID(meta.TableUUID()), table.AssertRefSnapshotID(p.change.Ref, &parent.SnapshotID)}
	if tag := p.change.Tag; tag != "" {
		p.staged.Updates = append(p.staged.Updates, table.NewSetSnapshotRefUpdate(tag, parent.SnapshotID, table.TagRef, 0, 0, 0))
		p.staged.Requirements = append(p.staged.Requirements, table.AssertRefSnapshotID(tag, nil))
	}
	return nil
}

// summary is that of the difference, with the totals that the change knows better, and counts of manifests under the keys
// that the reference gives them.
func (p *producer) summary(parent *table.Snapshot) iceberg.Properties {
	out := p.staged.Delta.summary(parent, p.change.Summary)
	for key, n := range p.change.Totals {
		out[key] = strconv.FormatInt(n+p.staged.Delta.totals()[key], 10)
	}
	for key, n := range p.counts {
		out[key] = strconv.Itoa(n)
	}
	return out
}

// setRef moves the branch and keeps its retention, which the update would otherwise reset.
func (p *producer) setRef() table.Update {
	var age, snapshotAge int64
	var keep int
	for name, ref := range p.state.Metadata.Refs() {
		if name != p.change.Ref {
			continue
		}
		if ref.MaxRefAgeMs != nil {
			age = *ref.MaxRefAgeMs
		}
		if ref.MaxSnapshotAgeMs != nil {
			snapshotAge = *ref.MaxSnapshotAgeMs
		}
		if ref.MinSnapshotsToKeep != nil {
			keep = *ref.MinSnapshotsToKeep
		}
	}
	return table.NewSetSnapshotRefUpdate(p.change.Ref, p.change.SnapshotID, table.BranchRef, age, snapshotAge, keep)
}

func (p *producer) write(location string, data []byte) error {
	p.staged.Written = append(p.staged.Written, location)
	if err := p.fs.WriteFile(location, data); err != nil {
		return fmt.Errorf("writing %s: %w", location, err)
	}
	return nil
}
