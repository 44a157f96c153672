package maintenance

import (
	"slices"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/maintenance/where"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// partitionFilter says which partitions a run works on.
func partitionFilter(predicate string, meta table.Metadata) (func(*snapshot.Group) bool, error) {
	if predicate == "" {
		return func(*snapshot.Group) bool { return true }, nil
	}
	p, err := where.Parse(predicate)
	if err != nil {
		return nil, err
	}
	f, err := p.Bind(meta)
	if err != nil {
		return nil, err
	}
	known := map[*snapshot.Group]bool{}
	return func(g *snapshot.Group) bool {
		matches, ok := known[g]
		if !ok {
			matches = f.Matches(g.Key.SpecID, g.Partition)
			known[g] = matches
		}
		return matches
	}, nil
}

// outside says that no deletion vector of a Puffin file is in a partition to work on.
func (s *selection) outside(dvs []*snapshot.DeleteFile) bool {
	return !slices.ContainsFunc(dvs, func(d *snapshot.DeleteFile) bool { return s.chosen(d.Group) })
}

// takenAlong returns the data files of other partitions whose deletion vectors move with those of a partition to work on,
// sorted: all live vectors of a Puffin file move together.
func (s *selection) takenAlong() []string {
	var out []string
	for d := range s.retire {
		if !s.chosen(d.Group) {
			out = append(out, d.Referenced)
		}
	}
	slices.Sort(out)
	return out
}
