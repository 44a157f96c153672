package snapshot

import (
	"slices"
	"strconv"

	"github.com/apache/iceberg-go"
)

// Defaults of the table properties about manifests, those of the reference implementation.
const (
	manifestTargetSize = 8 << 20 // commit.manifest.target-size-bytes
	minCountToMerge    = 100     // commit.manifest.min-count-to-merge
)

// ManifestMerge is delete manifests of one partition spec that can become fewer.
type ManifestMerge struct {
	SpecID    int32
	Manifests []string // locations, in the order of the manifest list
	Bytes     int64    // of all of them
	After     int      // at most so many manifests hold their entries afterwards
}

// Merges returns, by spec id, the delete manifests that are worth a snapshot of their own: at least as many small ones of
// a spec as commit.manifest.min-count-to-merge says, when they become fewer. One of a spec is left at most, so that what
// was merged is not worth merging again.
func (s *State) Merges() []ManifestMerge {
	r := s.mergeRule()
	least := int(positive(s.Metadata.Properties()["commit.manifest.min-count-to-merge"], minCountToMerge))
	var out []ManifestMerge
	for _, m := range s.Manifests {
		if !r.small(m) {
			continue
		}
		i := slices.IndexFunc(out, func(o ManifestMerge) bool { return o.SpecID == m.PartitionSpecID() })
		if i < 0 {
			i = len(out)
			out = append(out, ManifestMerge{SpecID: m.PartitionSpecID()})
		}
		out[i].Manifests = append(out[i].Manifests, m.FilePath())
		out[i].Bytes += m.Length()
	}
	for i := range out {
		out[i].After = int((out[i].Bytes + r.target - 1) / r.target)
	}
	out = slices.DeleteFunc(out, func(m ManifestMerge) bool { return len(m.Manifests) < least || len(m.Manifests) <= m.After })
	slices.SortFunc(out, func(a, b ManifestMerge) int { return int(a.SpecID - b.SpecID) })
	return out
}

// mergeRule says which delete manifests of a state may be written anew only to have fewer of them.
type mergeRule struct {
	state   *State
	target  int64 // bytes of a manifest
	enabled bool
	twice   map[string]bool // locations that the list has more than once
}

func (s *State) mergeRule() *mergeRule {
	props := s.Metadata.Properties()
	return &mergeRule{
		state: s, target: positive(props["commit.manifest.target-size-bytes"], manifestTargetSize),
		enabled: props["commit.manifest-merge.enabled"] != "false", twice: s.listedTwice(),
	}
}

// small says that a delete manifest may be merged: it is well below the target size, every field of its entries can be
// written again, and none is of an equality delete file, for those are left where they are.
func (r *mergeRule) small(m iceberg.ManifestFile) bool {
	if !r.enabled || m.ManifestContent() != iceberg.ManifestContentDeletes || !hasLive(m) || r.twice[m.FilePath()] {
		return false
	}
	c := r.state.read[m.FilePath()]
	return c != nil && c.whole && c.equalityDeletes == 0 && m.Length() > 0 && m.Length() < r.target/4*3
}

// positive reads a number above 0, or gives the default of it.
func positive(text string, otherwise int64) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return otherwise
	}
	return n
}
