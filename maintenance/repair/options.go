package repair

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
)

// Action is what reports of repairs call the action.
const Action maintenance.Action = "repair"

// Reasons why nothing is repaired. Test with errors.Is.
var (
	// ErrOptions marks options that mean nothing.
	ErrOptions = errors.New("options of the repair")
	// ErrConfirm: rows would come back, and the operator did not confirm how many.
	ErrConfirm = errors.New("rows would come back")
	// ErrNoRepair: a finding cannot be repaired, or not on its own.
	ErrNoRepair = errors.New("cannot be repaired")
)

// Alias says that locations with one prefix are the same objects as those with another.
type Alias struct{ From, To string }

// ParseAlias reads "FROM=TO", for instance s3a://=s3://.
func ParseAlias(text string) (Alias, error) {
	from, to, ok := strings.Cut(text, "=")
	if !ok || from == "" || to == "" || from == to {
		return Alias{}, fmt.Errorf("%w: alias %q is not of the form s3a://bucket/=s3://bucket/", ErrOptions, text)
	}
	return Alias{From: from, To: to}, nil
}

// Tagging says when a repair puts a tag on the snapshot before, so that snapshot expiry keeps it.
type Tagging string

// The ways of tagging.
const (
	// TagAuto puts a tag unless some reader fails on that snapshot: a ref is something that engines and audits go over.
	// When rows come back it always does, because the snapshot is then the only place that still knows of them.
	TagAuto   Tagging = "auto"
	TagAlways Tagging = "always"
	TagNever  Tagging = "never"
)

// Options of one repair of one table. The zero value of a field means its default.
type Options struct {
	Ref    string   // branch; default "main"
	Issues []string // ids to repair, at least one; see [check.Issues]
	// File restricts the repair to findings about this data file or object, and Offset to the deletion vector there.
	File   string
	Offset *int64
	// Apply changes the table. Without it the report says what would be done.
	Apply bool
	// RestoreRows is the operator's confirmation of how many deleted rows come back; nil for none.
	RestoreRows *int64
	Aliases     []Alias
	// UpgradeFormat upgrades a table of format version 2 that has deletion vectors (dv-in-v2) in the same commit, which
	// cannot be undone. Without it they become position delete files.
	UpgradeFormat bool
	Tag           Tagging // default TagAuto
	Memory        int64   // bytes for bitmaps; default 512 MiB
	Parallelism   int     // default: number of CPUs
	Version       string
	Retry         maintenance.Retry
	Progress      maintenance.Progress
	Now           func() time.Time
}

func (o Options) withDefaults() Options {
	if o.Ref == "" {
		o.Ref = "main"
	}
	if o.Tag == "" {
		o.Tag = TagAuto
	}
	if o.Memory <= 0 {
		o.Memory = 512 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Validate refuses ids that no issue has and options that contradict each other. The error is ErrOptions.
func (o Options) Validate() error {
	if len(o.Issues) == 0 {
		return fmt.Errorf("%w: name the issues to repair", ErrOptions)
	}
	for _, id := range o.Issues {
		if _, known := check.Find(id); !known {
			return fmt.Errorf("%w: no issue is called %q", ErrOptions, id)
		}
	}
	if o.Offset != nil && o.File == "" {
		return fmt.Errorf("%w: an offset needs the file that it is in", ErrOptions)
	}
	if o.RestoreRows != nil && *o.RestoreRows < 0 {
		return fmt.Errorf("%w: %d rows cannot come back", ErrOptions, *o.RestoreRows)
	}
	if !slices.Contains([]Tagging{"", TagAuto, TagAlways, TagNever}, o.Tag) {
		return fmt.Errorf("%w: tagging %q is not one of auto, always, never", ErrOptions, o.Tag)
	}
	return nil
}

func (o Options) asked(issue string) bool { return slices.Contains(o.Issues, issue) }

// selects says whether a finding is one of those to repair.
func (o Options) selects(f *check.Finding) bool {
	return o.asked(f.Issue) && (o.File == "" || o.File == f.DataFile || o.File == f.Location) &&
		(o.Offset == nil || f.Offset != nil && *f.Offset == *o.Offset)
}

// meaning returns what a path means by the aliases, and whether one of them applies.
func (o Options) meaning(path string) (string, bool) {
	for _, a := range o.Aliases {
		if rest, ok := strings.CutPrefix(path, a.From); ok {
			return a.To + rest, true
		}
	}
	return path, false
}

func (o Options) check() check.Options {
	return check.Options{
		Ref: o.Ref, Level: check.Vectors, Memory: o.Memory, Parallelism: o.Parallelism, Progress: o.Progress, Now: o.Now, Positions: true,
	}
}
