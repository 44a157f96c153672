package maintenance

import (
	"slices"

	"github.com/dvcompactor/dvcompactor/snapshot"
)

// ManifestPlan is delete manifests of one partition spec that will be merged. No entry of them changes.
type ManifestPlan struct {
	SpecID    int32 `json:"spec_id"`
	Manifests int   `json:"manifests"` // how many there are now
	Bytes     int64 `json:"bytes"`
	After     int   `json:"after"` // at most so many will be left of them
}

// merged returns the locations of the delete manifests that are merged in a commit on a state: those of the specs that
// the plan is about, as far as it is still worth it. Manifests never change, so nothing but their being there matters.
func (s *selection) merged(now *snapshot.State) map[string]bool {
	out := map[string]bool{}
	if len(s.merges) == 0 {
		return out
	}
	for _, m := range now.Merges() {
		if !slices.ContainsFunc(s.merges, func(o snapshot.ManifestMerge) bool { return o.SpecID == m.SpecID }) {
			continue
		}
		for _, location := range m.Manifests {
			out[location] = true
		}
	}
	return out
}
