package maintenance

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// Action is what a run does.
type Action string

// The actions.
const (
	// Compact merges position deletes and deletion vectors into one deletion vector per data file, packs many small
	// Puffin files into few, and drops dangling and superseded deletes. In a table of format version 2, which has no deletion
	// vectors, it rewrites many small position delete files as few.
	Compact Action = "compact"
	// Migrate replaces position delete files by deletion vectors, and upgrades the table when allowed to.
	Migrate Action = "migrate"
)

// Reasons why a table is left alone or a run ends early. Test with errors.Is.
var (
	// ErrRefusedTable: a safety check refused; trying again will not help.
	ErrRefusedTable = errors.New("table refused")
	// ErrOptedOut: the table's owner wants it left alone. It is a kind of ErrRefusedTable.
	ErrOptedOut = errors.New("its property dvcompactor.enabled is false")
	// ErrNoRef: the branch does not exist.
	ErrNoRef = errors.New("no such branch")
	// ErrStale: the table no longer has the deletes that the plan was made for.
	ErrStale = errors.New("plan is stale")
	// ErrConflicts: other writers won every race until retries were exhausted.
	ErrConflicts = errors.New("conflicts, retries exhausted")
	// ErrProof: what was read back is not what was merged. Nothing was committed.
	ErrProof = errors.New("proof failed")
	// ErrAbsent: the catalog acknowledged a snapshot that it does not show, and went on to do so. Nobody can say whether it
	// is committed, so nothing that was written is removed. It is a kind of catalog.ErrUnknown.
	ErrAbsent = fmt.Errorf("%w: the catalog acknowledged a snapshot that is not in the table", catalog.ErrUnknown)
	// ErrVerify: the committed snapshot is not what was staged.
	ErrVerify = errors.New("verification of the committed snapshot failed")
)

// Options of one run on one table. The zero value of a field means its default.
type Options struct {
	Action           Action
	Ref              string // branch; default "main"
	UpgradeFormat    bool   // Migrate only: upgrade a table to format version 3 in the same commit, which cannot be undone
	TargetPuffinSize int64  // bytes; default 64 MiB
	InPlace          InPlace
	Memory           int64 // bytes for bitmaps being merged; default 512 MiB
	Parallelism      int   // default: number of CPUs
	// CoolDown keeps the run off data files whose deletes changed within this time before the plan; 0 or less means off.
	CoolDown time.Duration
	// Where is a predicate over the partitions to work on, see package where; "" for all.
	Where    string
	Version  string // of this program, for created-by and the snapshot summary
	Retry    Retry
	Progress Progress // nil for none
	Now      func() time.Time

	hotSince int64 // of a plan that was made before; see hotSinceMs
}

// Retry bounds the commit loop.
type Retry struct {
	Attempts  int           // default 10
	BaseDelay time.Duration // before the second attempt, doubled and jittered after each; default 100 ms
	MaxDelay  time.Duration // default 10 s
}

// Progress is told about long work: a stage and how much of it is done. It is called from several goroutines.
type Progress interface {
	Stage(name string, total int64, unit string)
	Add(n int64)
}

type noProgress struct{}

// Stage implements Progress.
func (noProgress) Stage(string, int64, string) {}

// Add implements Progress.
func (noProgress) Add(int64) {}

// withDefaults fills in what the caller left open.
func (o Options) withDefaults() Options {
	def := func(v, d int64) int64 {
		if v <= 0 {
			return d
		}
		return v
	}
	o.TargetPuffinSize = def(o.TargetPuffinSize, 64<<20)
	o.Memory = def(o.Memory, 512<<20)
	o.Parallelism = int(def(int64(o.Parallelism), int64(runtime.GOMAXPROCS(0))))
	o.Retry.Attempts = int(def(int64(o.Retry.Attempts), 10))
	o.Retry.BaseDelay = time.Duration(def(int64(o.Retry.BaseDelay), int64(100*time.Millisecond)))
	o.Retry.MaxDelay = time.Duration(def(int64(o.Retry.MaxDelay), int64(10*time.Second)))
	if o.Ref == "" {
		o.Ref = "main"
	}
	if o.Version == "" {
		o.Version = "devel"
	}
	if o.Progress == nil {
		o.Progress = noProgress{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Encrypted returns ErrRefusedTable for a table whose metadata says that it is encrypted, else nil.
func Encrypted(meta table.Metadata) error {
	if meta.Properties()["encryption.key-id"] != "" {
		return fmt.Errorf("%w: it is encrypted (property encryption.key-id)", ErrRefusedTable)
	}
	for range meta.EncryptionKeys() {
		return fmt.Errorf("%w: it is encrypted (encryption-keys in its metadata)", ErrRefusedTable)
	}
	return nil
}

// Refused says why a branch of a table may not be touched, before anything else of it is read: ErrRefusedTable, or nil.
func Refused(t *catalog.Table, ref string) error { return refuse(t, Options{Ref: ref}) }

// refuse says why a table may not be touched, before anything else of it is read.
func refuse(t *catalog.Table, o Options) error {
	no := func(format string, args ...any) error {
		return fmt.Errorf("%s: %w: %w", t.Name(), ErrRefusedTable, fmt.Errorf(format, args...))
	}
	meta := t.Metadata
	if v := meta.Version(); v > 3 {
		return no("format version %d is newer than this program knows", v)
	}
	if _, err := storage.TableRoot(meta.Location()); err != nil {
		return no("%w", err)
	}
	props := meta.Properties()
	if props["dvcompactor.enabled"] == "false" {
		return fmt.Errorf("%s: %w: %w", t.Name(), ErrRefusedTable, ErrOptedOut)
	}
	if err := Encrypted(meta); err != nil {
		return fmt.Errorf("%s: %w", t.Name(), err)
	}
	for _, s := range meta.Snapshots() {
		if meta.Version() < 3 && !o.UpgradeFormat {
			break // no row ids are given
		}
		if s.FirstRowID != nil && s.AddedRows != nil && *s.FirstRowID+*s.AddedRows > meta.NextRowID() {
			return no("next-row-id %d is behind snapshot %d, which gave row ids up to %d: another commit would give them twice", meta.NextRowID(), s.SnapshotID, *s.FirstRowID+*s.AddedRows)
		}
	}
	for name, ref := range meta.Refs() {
		if name == o.Ref && ref.SnapshotRefType != "branch" {
			return no("ref %q is a tag, which never changes: name a branch", o.Ref)
		}
	}
	return nil
}
