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
	byPath := map[string][]*drop{}
	for _, d := range drops {
		applied := all.of(d)
		for _, t := range applied {
			if out[t.Path] == nil {
				out[t.Path] = &loss{of: t}
			}
		}
		if len(applied) > 0 {
			byPath[d.Path] = append(byPath[d.Path], d)
		}
	}
	var mu sync.Mutex
	err := h.each(ctx, slices.Sorted(maps.Keys(byPath)), func(ctx context.Context, location string) error {
		for _, d := range byPath[location] {
			readable, err := h.positions(ctx, d.DeleteFile, d.into(out))
			if err != nil {
				return err
			}
			if !readable {
				mu.Lock()
				h.unreadable(d, all, reported)
				mu.Unlock()
			}
		}
		return nil
	})
	return out, err
}

// into adds what a delete file deleted of the data files to which it applied.
func (d *drop) into(byFile map[string]*loss) func(string, *puffin.Bitmap) {
	return func(path string, positions *puffin.Bitmap) {
		if l := byFile[path]; l != nil && d.deleted(l.of) {
			l.add(d, positions)
		}
	}
}

// unreadable judges a dropped delete file that cannot be read.
func (h *history) unreadable(d *drop, all *targets, reported map[string]bool) {
	h.skip(maintenance.Skip{Reason: "history", DataFile: d.Referenced, Location: d.Path,
		Detail: fmt.Sprintf("the delete file, which snapshot %d dropped, cannot be read", d.child.SnapshotID), Hint: "what it deleted was not compared"})
	h.certain(d, all, reported)
}

// takeAway removes what the head deletes, and positions that the data files do not have.
func (h *history) takeAway(ctx context.Context, byFile map[string]*loss) error {
	byPath := map[string][]*snapshot.DeleteFile{}
	for _, l := range byFile {
		if !l.clip() {
			continue
		}
		for _, d := range h.instead(l.of) {
			if !slices.Contains(byPath[d.Path], d) {
				byPath[d.Path] = append(byPath[d.Path], d)
			}
		}
	}
	return h.each(ctx, slices.Sorted(maps.Keys(byPath)), func(ctx context.Context, location string) error {
		for _, d := range byPath[location] {
			readable, err := h.positions(ctx, d, func(path string, positions *puffin.Bitmap) {
				if l := byFile[path]; l != nil && (d.IsDV() || d.AppliesTo(h.survey.State.DataFiles[path])) {
					l.remove(positions)
				}
			})
			if err != nil {
				return err
			}
			if !readable {
				h.doubt(d, byFile)
			}
		}
		return nil
	})
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

// positions tells what a deletion vector or position delete file deletes, by data file. It is false when it cannot be
// read to its end; an error is of the store, or of ctx.
func (h *history) positions(ctx context.Context, d *snapshot.DeleteFile, each func(string, *puffin.Bitmap)) (bool, error) {
	object := h.table.Store.Object(d.Path, 0)
	var err error
	if d.IsDV() {
		if d.Unbound() || h.misbound[d] {
			return false, nil // nobody knows what is deleted
		}
		var positions *puffin.Bitmap
		if positions, err = puffin.ReadDeletionVector(ctx, object, rangeOf(d)); err == nil {
			each(d.Referenced, positions)
		}
	} else {
		err = positiondelete.Read(ctx, positiondelete.File{Location: d.Path, Source: object, Size: d.Size}, func(path []byte, positions []int64) error {
			each(string(path), bitmapOf(positions))
			return nil
		})
	}
	var bad *positiondelete.Error
	if errors.As(err, &bad) || errors.Is(err, puffin.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) {
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
