package check_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/stretchr/testify/assert"
)

// writer makes random snapshots of a table as a sound writer does, with a deletion vector for each data file that has
// deleted rows.
type writer struct {
	*lab
	random  *rand.Rand
	deleted [][]int64 // of each data file; nil when the data file is gone
	vectors []iceberg.DataFile
}

// step commits one snapshot.
func (w *writer) step() {
	i := w.random.IntN(len(w.data))
	switch {
	case w.random.IntN(5) == 0:
		w.data = append(w.data, w.DataFile("", 0, nil, rows))
		w.deleted, w.vectors = append(w.deleted, []int64{}), append(w.vectors, nil)
		w.add(w.data[len(w.data)-1])
	case w.random.IntN(5) == 0:
		w.Commit(forge.Change{Merge: true, Forget: w.random.IntN(2) == 0})
	case w.deleted[i] == nil: // nothing is left of it
	case w.random.IntN(6) == 0:
		w.drop(i)
	case w.random.IntN(4) == 0:
		w.compact(i)
	case w.random.IntN(5) == 0:
		w.move(i)
	default:
		w.remove(i)
	}
}

// remove deletes a row and writes the whole deletion vector anew.
func (w *writer) remove(i int) {
	if p := w.random.Int64N(rows / 2); !slices.Contains(w.deleted[i], p) {
		w.deleted[i] = append(w.deleted[i], p)
		slices.Sort(w.deleted[i])
	}
	next := w.write(i)
	w.replace(w.old(i), next)
	w.vectors[i] = next
}

// write writes the deletion vector of a data file.
func (w *writer) write(i int) iceberg.DataFile {
	p := w.vector(i, w.deleted[i]...)
	location, size, at := w.puffin(container{parts: []part{p}})
	return w.entry(i, location, size, at[0], p).Build()
}

// move writes a deletion vector to another Puffin file, which changes no rows.
func (w *writer) move(i int) {
	if old := w.old(i); len(old) > 0 {
		w.vectors[i] = w.write(i)
		w.rewrite(old, w.vectors[i])
	}
}

// compact writes what is left of a data file to a new one, and removes the old deletion vector at once or later.
func (w *writer) compact(i int) {
	left := w.DataFile("", 0, nil, w.data[i].Count()-int64(len(w.deleted[i])))
	if old := w.old(i); w.random.IntN(2) == 0 {
		w.rewrite(append(old, w.data[i]), left)
	} else {
		w.rewrite([]iceberg.DataFile{w.data[i]}, left)
		w.rewrite(old)
	}
	w.data[i], w.deleted[i], w.vectors[i] = left, []int64{}, nil
}

// drop removes a data file with its deletion vector, or leaves that to another snapshot.
func (w *writer) drop(i int) {
	if w.random.IntN(2) == 0 {
		w.replace(append(w.old(i), w.data[i]))
	} else {
		w.replace([]iceberg.DataFile{w.data[i]})
		w.replace(w.old(i))
	}
	w.deleted[i] = nil
}

func (w *writer) old(i int) []iceberg.DataFile {
	if w.vectors[i] == nil {
		return nil
	}
	return []iceberg.DataFile{w.vectors[i]}
}

func TestNoHistoryOfASoundWriterGivesAFalseAlarm(t *testing.T) {
	t.Parallel()
	for seed := range uint64(testlake.Size(30, 6)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := &writer{lab: newLab(t, 3), random: rand.New(rand.NewPCG(seed, 1)), deleted: [][]int64{{}, {}, {}}, vectors: make([]iceberg.DataFile, 3)}
			for range 15 {
				w.step()
			}
			for _, level := range []check.Level{check.Metadata, check.Vectors} {
				r := w.check(check.Options{Level: level, History: 100, Memory: int64(seed % 2)}) // much, or so little that nothing is kept
				assert.Empty(t, r.Findings, "%+v", r.Findings)
				assert.Empty(t, r.Skipped)
			}
			for i, f := range w.vectors {
				if f != nil && w.deleted[i] != nil {
					w.replace([]iceberg.DataFile{f})
					assert.Equal(t, []string{"delete-dropped"}, issues(w.check(check.Options{})), "the writer dropped %s", f.FilePath())
					return
				}
			}
		})
	}
}
