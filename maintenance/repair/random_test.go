package repair_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/maintenance/repair"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// spoilt is a table with deletion vectors of two snapshots and position delete files, of which what is deleted is known.
type spoilt struct {
	*forge.Lake
	right map[string][]int64
}

func newSpoilt(t *testing.T) *spoilt {
	s := &spoilt{Lake: forge.New(t, forge.Options{Version: 2}), right: map[string][]int64{}}
	var files []iceberg.DataFile
	for range 4 {
		files = append(files, s.DataFile("", 0, nil, 1000))
	}
	s.Commit(forge.Change{Add: forge.Files(files...)})
	old := map[string][]int64{files[2].FilePath(): {3, 4, 900}, files[3].FilePath(): {7}}
	s.Commit(forge.Change{Add: forge.Files(s.PositionDeletes(0, nil, forge.Records(old)...).Build())})
	s.upgrade()
	s.Commit(forge.Change{Add: forge.Files(s.DeletionVectors(forge.Vector{Data: files[0], Positions: []int64{1, 2, 500}}, forge.Vector{Data: files[1], Positions: []int64{9}})...)})
	s.Commit(forge.Change{Add: forge.Files(s.DeletionVectors(forge.Vector{Data: files[2], Positions: []int64{3, 4, 5, 900}})...)})
	s.right = map[string][]int64{files[0].FilePath(): {1, 2, 500}, files[1].FilePath(): {9}, files[2].FilePath(): {3, 4, 5, 900}, files[3].FilePath(): {7}}
	return s
}

// upgrade makes a table of format version 3.
func (s *spoilt) upgrade() {
	s.EditMetadata(func(m map[string]any) { m["format-version"], m["next-row-id"] = 3, 0 })
}

// deletes are the locations of everything that says what is deleted.
func (s *spoilt) deletes(t *testing.T) []string {
	at := map[string]bool{}
	head := s.Load().Metadata.CurrentSnapshot()
	for d := range state(t, s.Load()).Deletes() {
		at[d.Path], at[d.Manifest] = true, true
	}
	at[head.ManifestList] = true
	var out []string
	for location := range at {
		out = append(out, location)
	}
	slices.Sort(out)
	return out
}

// findings are the ids of what a check finds, but those that are only reported.
func (s *spoilt) findings(t *testing.T) []string {
	r, err := check.Run(t.Context(), s.Load(), check.Options{Level: check.Vectors})
	if err != nil {
		return nil // the manifest list, or a store that makes no sense of a location
	}
	var out []string
	for _, f := range r.Findings {
		if f.Repair != check.None && !slices.Contains(out, f.Issue) {
			out = append(out, f.Issue)
		}
	}
	return out
}

// lost returns what is not deleted any more although readers do not notice anything.
func (s *spoilt) lost(t *testing.T) string {
	got := testlake.ReadDamagedSnapshot(t, s.IO(), s.Load().Metadata.CurrentSnapshot())
	for path, want := range s.right {
		if _, live := got.Positions[path]; !live && got.Broken[path] != "" {
			continue
		}
		for _, pos := range want {
			if !slices.ContainsFunc(got.Positions[path], func(r [2]int64) bool { return r[0] <= pos && pos <= r[1] }) && got.Broken[path] == "" {
				return fmt.Sprintf("position %d of %s is not deleted any more", pos, path)
			}
		}
	}
	return ""
}

func TestARepairOfRandomDamageNeverGivesRowsBackUnasked(t *testing.T) {
	t.Parallel()
	repaired, seeds := 0, testlake.Size(150, 30)
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 5))
		s := newSpoilt(t)
		all := s.deletes(t)
		location := all[r.IntN(len(all))]
		data := s.Get(location)
		for range 1 + r.IntN(3) {
			data[r.IntN(len(data))] ^= byte(1 << r.IntN(8))
		}
		s.Put(location, data)
		issues := s.findings(t)
		if len(issues) == 0 {
			continue
		}
		report, err := repair.Run(t.Context(), s.Catalog, forge.Ident(), repair.Options{Issues: issues, Apply: true})
		if err != nil || !report.Committed {
			continue // it asks, or refuses
		}
		repaired++
		assert.Zero(t, report.RestoreRows)
		assert.Empty(t, s.lost(t), "seed %d, %s, %s", seed, location, strings.Join(issues, ","))
	}
	require.Greater(t, repaired, seeds/15, "hardly anything was repaired")
}
