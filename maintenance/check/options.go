package check

import (
	"errors"
	"fmt"
	"hash/fnv"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dvcompactor/dvcompactor/maintenance"
)

// Options of one check of one table. The zero value of a field means its default.
type Options struct {
	Ref   string // branch or tag; default "main"
	Level Level
	// Subset of the data files whose deletes are read at level [Vectors]; the zero value means all.
	Subset Subset
	// Issues are the ids to report; empty means all.
	Issues []string
	// History is how many ancestors of the head are compared with their children; default 20, below 0 none.
	History int
	// Positions asks for the positions of findings about deletes that were lost: see [Finding.Positions].
	Positions   bool
	Memory      int64         // bytes for bitmaps that are compared; default 512 MiB
	Parallelism int           // default: number of CPUs
	OrphanAge   time.Duration // how old a Puffin file has to be to be called an orphan; default 72 h
	Progress    maintenance.Progress
	Now         func() time.Time
}

func (o Options) withDefaults() Options {
	if o.Ref == "" {
		o.Ref = "main"
	}
	if o.History == 0 {
		o.History = 20
	}
	if o.Memory <= 0 {
		o.Memory = 512 << 20
	}
	if o.Parallelism <= 0 {
		o.Parallelism = runtime.GOMAXPROCS(0)
	}
	if o.OrphanAge <= 0 {
		o.OrphanAge = 72 * time.Hour
	}
	if o.Progress == nil {
		o.Progress = silent{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Subset = o.Subset.on(o.Now())
	return o
}

// wants says whether findings of an issue are asked for.
func (o Options) wants(issue string) bool {
	return len(o.Issues) == 0 || slices.Contains(o.Issues, issue)
}

// ErrOptions marks options that mean nothing.
var ErrOptions = errors.New("options of the check")

// Validate refuses ids that no issue has: a misspelt one would find nothing and look healthy. The error is ErrOptions.
func (o Options) Validate() error {
	for _, id := range o.Issues {
		if _, known := Find(id); !known {
			return fmt.Errorf("%w: no issue is called %q", ErrOptions, id)
		}
	}
	return nil
}

// silent is the progress that nobody looks at.
type silent struct{}

// Stage implements maintenance.Progress.
func (silent) Stage(string, int64, string) {}

// Add implements maintenance.Progress.
func (silent) Add(int64) {}

// Subset is a part of all data files: part Index of Of, from 1. Without an Index it is another part every day. The zero
// value is everything.
type Subset struct{ Index, Of uint64 }

// ParseSubset reads "n/t", the n-th of t parts that cover everything together, or "x%", a part of at least that size that
// is another one every day, until everything was read.
func ParseSubset(text string) (Subset, error) {
	bad := fmt.Errorf("%w: subset %q is not of the form 2/7 or 10%%", ErrOptions, text)
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		x, err := strconv.ParseFloat(percent, 64)
		if err != nil || !(x >= 0.001 && x <= 100) {
			return Subset{}, bad
		}
		return Subset{Of: uint64(100 / x)}, nil
	}
	n, t, ok := strings.Cut(text, "/")
	if !ok {
		return Subset{}, bad
	}
	index, err := strconv.ParseUint(n, 10, 31)
	of, errOf := strconv.ParseUint(t, 10, 31)
	if err != nil || errOf != nil || index < 1 || index > of {
		return Subset{}, bad
	}
	return Subset{Index: index, Of: of}, nil
}

// on returns the part for a day.
func (s Subset) on(now time.Time) Subset {
	const day = 24 * 60 * 60
	if s.Of > 1 && s.Index == 0 {
		s.Index = uint64(max(0, now.Unix()))/day%s.Of + 1
	}
	return s
}

// Has says whether a data file is in the subset. It goes by a hash of the path, so that new data files do not move others.
func (s Subset) Has(path string) bool {
	if s.Of <= 1 {
		return true
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(path)) // never fails
	sum := h.Sum64()
	sum ^= sum >> 32 // the low bits of the hash of similar texts are alike
	return sum%s.Of == s.Index-1
}
