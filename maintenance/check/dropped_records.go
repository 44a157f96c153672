package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// compareRecords reads what dropped delete files deleted and takes away what the head deletes. The rest is back.
func (h *history) compareRecords(ctx context.Context, drops []*drop, all *targets, reported map[string]bool) error {
	h.options.Progress.Stage("reading dropped delete files", int64(len(drops)), "files")
	found := lostRows{}
	for _, part := range h.partsOf(drops) {
		byFile, err := h.losses(ctx, part, all, reported)
		if err == nil {
			err = h.takeAway(ctx, byFile)
		}
		if err != nil {
			return err
		}
		for _, l := range byFile {
			if !l.unsure {
				found.collect(l)
			}
		}
	}
	for _, l := range found.sorted() {
		if !reported[l.path] {
			h.lost(l.by, l.lostKey, l.positions.Cardinality(), l.positions)
		}
	}
	return nil
}

// partsOf cuts delete files into sets whose positions fit half of the memory.
func (h *history) partsOf(drops []*drop) [][]*drop {
	const expansion = 4 // a bitmap in memory is rarely larger than this many times the file
	out := [][]*drop{nil}
	room := h.options.Memory / 2
	for _, d := range drops {
		need := d.ContentBytes() * expansion
		if last := len(out) - 1; len(out[last]) > 0 && need > room {
			out, room = append(out, nil), h.options.Memory/2
		}
		out[len(out)-1] = append(out[len(out)-1], d)
		room -= need
	}
	return out
}

// losses reads dropped delete files. One that is gone or damaged is judged by its entry.
func (h *history) losses(ctx context.Context, drops []*drop, all *targets, reported map[string]bool) (map[string]*loss, error) {
	out := map[string]*loss{}
	byPath := map[string][]reading{}
	for _, d := range drops {
		applied := all.of(d)
		for _, t := range applied {
			if out[t.Path] == nil {
				out[t.Path] = &loss{of: t}
			}
		}
		if len(applied) > 0 {
			byPath[d.Path] = append(byPath[d.Path], h.lossOf(d, all, out, reported))
		}
	}
	return out, h.read(ctx, byPath)
}

// lossOf is the reading of a dropped delete file: what it deleted of the data files to which it applied.
func (h *history) lossOf(d *drop, all *targets, byFile map[string]*loss, reported map[string]bool) reading {
	return reading{d.DeleteFile, func(path string, positions *puffin.Bitmap) {
		if l := byFile[path]; l != nil && d.deleted(l.of) {
			l.add(d, positions)
		}
	}, func() { h.unreadable(d, all, reported) }}
}

// unreadable judges a dropped delete file that cannot be read.
func (h *history) unreadable(d *drop, all *targets, reported map[string]bool) {
	h.skip(maintenance.Skip{Reason: "history", DataFile: d.Referenced, Location: d.Path,
		Detail: fmt.Sprintf("the delete file, which snapshot %d dropped, cannot be read", d.child.SnapshotID), Hint: "what it deleted was not compared"})
	h.certain(d, all, reported)
}

// takeAway removes what the head deletes, and positions that the data files do not have.
func (h *history) takeAway(ctx context.Context, byFile map[string]*loss) error {
	instead := map[*snapshot.DeleteFile]bool{}
	byPath := map[string][]reading{}
	for _, l := range byFile {
		if !l.clip() {
			continue
		}
		for _, d := range h.instead(l.of) {
			if !instead[d] {
				instead[d] = true
				byPath[d.Path] = append(byPath[d.Path], h.still(d, byFile))
			}
		}
	}
	return h.read(ctx, byPath)
}

// still is the reading of a delete file of the head.
func (h *history) still(d *snapshot.DeleteFile, byFile map[string]*loss) reading {
	return reading{d, func(path string, positions *puffin.Bitmap) {
		if l := byFile[path]; l != nil && (d.IsDV() || d.AppliesTo(h.survey.State.DataFiles[path])) {
			l.remove(positions)
		}
	}, func() { h.doubt(d, byFile) }}
}

// doubt leaves the data files undecided that an unreadable delete file of the head may delete rows of.
func (h *history) doubt(d *snapshot.DeleteFile, byFile map[string]*loss) {
	for _, l := range byFile {
		if slices.Contains(h.instead(l.of), d) {
			l.mu.Lock()
			l.unsure = true
			l.mu.Unlock()
		}
	}
}

// reading is a delete file to read.
type reading struct {
	*snapshot.DeleteFile
	each       func(path string, positions *puffin.Bitmap) // what it deletes, by data file
	unreadable func()                                      // it cannot be read to its end; one of them at a time
}

// read reads delete files by location. An error is of the store, or of ctx.
func (h *history) read(ctx context.Context, byLocation map[string][]reading) error {
	var mu sync.Mutex
	return h.each(ctx, slices.Sorted(maps.Keys(byLocation)), func(ctx context.Context, location string) error {
		bad, err := h.readAll(ctx, location, byLocation[location])
		mu.Lock()
		defer mu.Unlock()
		for _, r := range bad {
			r.unreadable()
		}
		return err
	})
}

// readAll reads the delete files at one location, deletion vectors that are neighbours with one request, and returns
// those that it cannot read.
func (h *history) readAll(ctx context.Context, location string, files []reading) (bad []reading, err error) {
	var vectors []reading
	var ranges []puffin.DeletionVectorRange
	for _, r := range files {
		switch {
		case !r.IsDV():
			whole, err := h.readRecords(ctx, r)
			if err != nil {
				return nil, err
			}
			if !whole {
				bad = append(bad, r)
			}
		case r.Unbound() || h.misbound[r.DeleteFile]:
			bad = append(bad, r) // nobody knows what it deletes
		default:
			vectors, ranges = append(vectors, r), append(ranges, maintenance.RangeOf(r.DeleteFile))
		}
	}
	if len(vectors) == 0 {
		return bad, nil
	}
	err = puffin.ReadDeletionVectors(ctx, h.table.Store.Object(location, 0), ranges, puffin.ReadOptions{}, func(i int, positions *puffin.Bitmap, err error) error {
		switch {
		case err == nil:
			vectors[i].each(vectors[i].Referenced, positions)
		case errors.Is(err, puffin.ErrCorrupt), errors.Is(err, fs.ErrNotExist):
			bad = append(bad, vectors[i])
		default:
			return err
		}
		return nil
	})
	return bad, err
}

// readRecords reads a position delete file, and is false when it cannot be read to its end.
func (h *history) readRecords(ctx context.Context, r reading) (bool, error) {
	err := positiondelete.Read(ctx, maintenance.FileOf(h.table.Store, r.DeleteFile), func(path []byte, positions []int64) error {
		r.each(string(path), bitmapOf(positions))
		return nil
	})
	if positiondelete.Unreadable(err) {
		return false, nil
	}
	return err == nil, err
}

// bitmapOf leaves out positions that no data file can have.
func bitmapOf(positions []int64) *puffin.Bitmap {
	b := puffin.NewBitmap()
	for _, p := range positions {
		_ = b.Add(p) // its only error is a position that cannot be
	}
	return b
}
