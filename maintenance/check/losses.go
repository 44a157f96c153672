package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/dvcompactor/dvcompactor/puffin"
)

// loss is what dropped delete files deleted of a data file and the head does not, as far as it was compared.
type loss struct {
	of     *target
	mu     sync.Mutex
	shares []share
	unsure bool // a delete file of the head cannot be read
}

// share is what one dropped delete file deleted of a data file.
type share struct {
	*drop
	positions *puffin.Bitmap
}

// add notes positions that a dropped delete file deleted.
func (l *loss) add(d *drop, positions *puffin.Bitmap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.IndexFunc(l.shares, func(s share) bool { return s.drop == d }); i >= 0 {
		l.shares[i].positions.Or(positions)
		return
	}
	l.shares = append(l.shares, share{d, positions})
}

func (l *loss) remove(positions *puffin.Bitmap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.shares {
		s.positions.AndNot(positions)
	}
}

// clip forgets positions beyond the rows of the data file: nothing is back where nothing was. It is false when no
// positions are left.
func (l *loss) clip() bool {
	some := false
	for _, s := range l.shares {
		s.positions.Truncate(l.of.Records)
		some = some || !s.positions.IsEmpty()
	}
	return some
}

// lostKey is what one finding is about.
type lostKey struct{ path, issue string }

// lost are positions of a data file that came back.
type lost struct {
	lostKey
	by        *drop // the last that deleted any of them
	positions *puffin.Bitmap
}

// lostRows collects what came back over all parts of the comparison.
type lostRows map[lostKey]*lost

// collect adds what is left of a loss. Each position counts for the last delete file that had it, which is the one whose
// drop brought it back.
func (all lostRows) collect(l *loss) {
	slices.SortFunc(l.shares, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.child.SequenceNumber, a.child.SequenceNumber), byPlace(a.drop, b.drop))
	})
	known := puffin.NewBitmap()
	for _, s := range l.shares {
		s.positions.AndNot(known)
		if s.positions.IsEmpty() {
			continue
		}
		known.Or(s.positions)
		all.put(lostKey{l.of.Path, s.issue(l.of)}, s)
	}
}

func (all lostRows) put(key lostKey, s share) {
	if l := all[key]; l != nil {
		l.positions.Or(s.positions)
		return
	}
	all[key] = &lost{lostKey: key, by: s.drop, positions: s.positions}
}

// sorted returns them by data file.
func (all lostRows) sorted() []*lost {
	keys := slices.SortedFunc(maps.Keys(all), func(a, b lostKey) int {
		return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(a.issue, b.issue))
	})
	out := make([]*lost, len(keys))
	for i, key := range keys {
		out[i] = all[key]
	}
	return out
}
