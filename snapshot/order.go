package snapshot

import (
	"cmp"
	"slices"
	"strings"
)

// sortState puts everything into an order that does not depend on which manifest was read first, so that plans and
// Puffin files of equal states are equal.
func sortState(s *State) {
	sortDeletes(s)
	slices.SortFunc(s.DanglingDVs, compareDeletes)
	for _, g := range s.Groups {
		slices.SortFunc(g.Data, func(a, b *DataFile) int { return strings.Compare(a.Path, b.Path) })
		slices.SortFunc(g.PositionDeletes, compareDeletes)
	}
}

// sortDeletes sorts the delete entries of a state and of its data files.
func sortDeletes(s *State) {
	slices.SortFunc(s.DVs, compareDeletes)
	slices.SortFunc(s.PositionDeletes, compareDeletes)
	for _, f := range s.DataFiles {
		slices.SortFunc(f.DVs, compareDeletes)
	}
}

func compareDeletes(a, b *DeleteFile) int {
	return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Length, b.Length), cmp.Compare(a.Seq, b.Seq))
}

// Compare orders groups by spec id, then by partition tuple.
func (k GroupKey) Compare(o GroupKey) int {
	return cmp.Or(cmp.Compare(k.SpecID, o.SpecID), strings.Compare(k.Tuple, o.Tuple))
}

// SortedGroups returns the groups in the order of their keys.
func (s *State) SortedGroups() []*Group {
	out := make([]*Group, 0, len(s.Groups))
	for _, g := range s.Groups {
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b *Group) int { return a.Key.Compare(b.Key) })
	return out
}
