package daemon

import "hash/fnv"

// Shard is part Index of Of, from 1. The zero value is everything.
type Shard struct{ Index, Of uint64 }

// Has says whether a table is in the shard. It goes by a hash of the name, so that new tables do not move others.
func (s Shard) Has(table string) bool {
	if s.Of <= 1 {
		return true
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(table)) // never fails
	sum := h.Sum64()
	return (sum^sum>>32)%s.Of == s.Index-1
}
