package reports

import (
	"fmt"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/faults"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// race runs an action while another writer commits once, right before our first commit.
func (l *lab) race(o maintenance.Options, other func()) *maintenance.Report {
	l.t.Helper()
	r, err := maintenance.Run(l.t.Context(), &testlake.Racing{Catalog: l.Catalog, Before: func(n int) {
		if n == 1 {
			other()
		}
	}}, forge.Ident(), o)
	require.NoError(l.t, err)
	return r
}

func TestADeleteOfAPartitionThatComesMeanwhileIsNotLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fields []iceberg.PartitionField
		tuple  forge.Tuple
	}{
		"unpartitioned": {nil, nil},
		"by an int":     {[]iceberg.PartitionField{identity(2, 1000, "region")}, forge.Tuple{1000: int32(4)}},
		"by a date":     {[]iceberg.PartitionField{identity(3, 1000, "day")}, forge.Tuple{1000: iceberg.Date(4)}},
		"by null":       {[]iceberg.PartitionField{identity(3, 1000, "day")}, forge.Tuple{1000: nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := iceberg.NewPartitionSpec(c.fields...)
			l := newLab(t, forge.Options{Spec: &spec})
			f, g := l.DataFile("", 0, c.tuple, 100), l.DataFile("", 0, c.tuple, 100)
			l.append(f, g)
			l.deletePositions(f, map[string][]int64{f.FilePath(): {1}, g.FilePath(): {2}})
			r := l.race(options(maintenance.Migrate), func() {
				l.deletePositions(f, map[string][]int64{f.FilePath(): {50}})
			})
			assert.False(t, r.Committed, "the delete file would stay, for the data file that is left out")
			assert.Equal(t, map[string][][2]int64{f.FilePath(): at(1, 50), g.FilePath(): one(2)}, l.read("main").Positions)
			l.migrate()
			assert.Zero(t, l.read("main").PositionDeleteFiles)
			assert.Equal(t, map[string][][2]int64{f.FilePath(): at(1, 50), g.FilePath(): one(2)}, l.read("main").Positions)
		})
	}
}

func TestAHotPartitionDoesNotKeepTheOthersFromBeingDone(t *testing.T) {
	t.Parallel()
	spec := iceberg.NewPartitionSpec(identity(2, 1000, "region"))
	l := newLab(t, forge.Options{Spec: &spec})
	hot, cold := l.DataFile("", 0, forge.Tuple{1000: int32(1)}, 100), l.DataFile("", 0, forge.Tuple{1000: int32(2)}, 100)
	l.append(hot, cold)
	l.deletePositions(hot, map[string][]int64{hot.FilePath(): {1}})
	l.deletePositions(cold, map[string][]int64{cold.FilePath(): {2}})
	r := l.race(options(maintenance.Migrate), func() { l.deletePositions(hot, map[string][]int64{hot.FilePath(): {3}}) })
	assert.True(t, r.Committed)
	assert.Equal(t, []string{hot.FilePath()}, r.Dropped)
	got := l.read("main")
	assert.Equal(t, 1, got.DVs)
	assert.Equal(t, 2, got.PositionDeleteFiles)
	l.migrate()
	assert.Equal(t, map[string][][2]int64{hot.FilePath(): at(1, 3), cold.FilePath(): one(2)}, l.read("main").Positions)
}

func TestSeveralVectorsOfADataFileInTheHistoryAreNoConflict(t *testing.T) {
	t.Parallel()
	l := newLab(t, v3())
	f := l.files(3)
	l.vector(f[1], 1)
	l.vector(f[2], 2)
	r := l.race(options(maintenance.Compact), func() {
		l.vector(f[0], 5)
		l.replaceVector(f[0], 5, 6)
		l.replaceVector(f[0], 5, 6, 7)
	})
	assert.True(t, r.Committed)
	assert.Empty(t, r.Dropped)
	assert.Equal(t, map[string][][2]int64{f[0].FilePath(): {{5, 7}}, f[1].FilePath(): one(1), f[2].FilePath(): one(2)}, l.read("main").Positions)
}

func TestAWriterWinsOverMaintenanceOnADataFileAndNeitherLosesRows(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]func(l *lab, f iceberg.DataFile){
		"replaces the vector":   func(l *lab, f iceberg.DataFile) { l.replaceVector(f, 1, 2) },
		"replaces it twice":     func(l *lab, f iceberg.DataFile) { l.replaceVector(f, 1, 3); l.replaceVector(f, 1, 2) },
		"removes the data file": func(l *lab, f iceberg.DataFile) { l.Commit(forge.Change{Remove: named(f)}) },
		"adds the path anew": func(l *lab, f iceberg.DataFile) {
			l.Commit(forge.Change{Remove: isVectorOf(f)})
			l.Commit(forge.Change{Remove: named(f)})
			l.append(f)
		},
		"adds a position delete file":  func(l *lab, f iceberg.DataFile) { l.deletePositions(f, map[string][]int64{f.FilePath(): {1}}) },
		"adds an equality delete file": func(l *lab, _ iceberg.DataFile) { l.delete(l.EqualityDeletes(0, nil, 1)) },
		"merges all manifests into one": func(l *lab, _ iceberg.DataFile) {
			l.Commit(forge.Change{Operation: table.OpReplace, Merge: true, Forget: true})
		},
		"removes the vector for no good": func(l *lab, f iceberg.DataFile) { l.Commit(forge.Change{Remove: isVectorOf(f)}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, v3())
			f := l.files(3)
			for _, d := range f {
				l.vector(d, 1)
			}
			var want map[string][][2]int64
			r := l.race(options(maintenance.Compact), func() {
				other(l, f[0])
				want = l.read("main").Positions
			})
			assert.True(t, r.Committed)
			got := l.read("main")
			assert.Equal(t, want, got.Positions)
			l.run(options(maintenance.Compact))
			assert.Equal(t, want, l.read("main").Positions)
		})
	}
}

func TestARunThatLosesEveryRaceLeavesTheTableToTheWriter(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.files(2)
	l.deletePositions(f[0], map[string][]int64{f[0].FilePath(): {1}, f[1].FilePath(): {2}})
	n := int64(10)
	o := options(maintenance.Migrate)
	o.Retry.Attempts = 5
	_, err := maintenance.Run(t.Context(), &testlake.Racing{Catalog: l.Catalog, Before: func(int) {
		n++
		l.append(l.DataFile("", 0, nil, n))
	}}, forge.Ident(), o)
	require.ErrorIs(t, err, maintenance.ErrConflicts)
	assert.Equal(t, 2, l.Load().Metadata.Version())
	for _, key := range l.Keys() {
		assert.NotContains(t, key, "dvcompactor")
	}
	l.migrate()
}

func TestACommitOfUnknownOutcomeIsLookedForAndNothingIsRemoved(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"commit #1: lost-reply", "commit #1: conflict-after-success", "commit #1: conflict"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, v2())
			f := l.files(2)
			l.deletePositions(f[0], map[string][]int64{f[0].FilePath(): {1}, f[1].FilePath(): {2}})
			s, err := faults.Parse(script)
			require.NoError(t, err)
			r := l.runThrough(s.Catalog(l.Catalog), options(maintenance.Migrate))
			assert.True(t, r.Committed)
			assert.Len(t, r.Puffins, 1)
			assert.Contains(t, l.livePaths(), r.Puffins[0])
		})
	}
}

func TestAnEqualityDeleteThatComesMeanwhileStillAppliesToWhatItDid(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.files(2)
	l.deletePositions(f[0], map[string][]int64{f[0].FilePath(): {1}, f[1].FilePath(): {2}})
	eq := l.EqualityDeletes(0, nil, 1)
	var at int64
	r := l.race(options(maintenance.Migrate), func() { at = l.delete(eq).SequenceNumber })
	assert.True(t, r.Committed)
	e := l.liveDeletes()[eq.FilePath()]
	require.Len(t, e, 1)
	assert.Equal(t, at, e[0].SequenceNum())
	for path, d := range l.read("main").Entries {
		assert.Less(t, d.SequenceNum(), at, path)
	}
}

func TestManyRunsAtOnceOnOneTableEndInOneResult(t *testing.T) {
	t.Parallel()
	l := newLab(t, v2())
	f := l.files(4)
	for i, d := range f {
		l.deletePositions(d, map[string][]int64{d.FilePath(): {int64(i)}, f[(i+1)%4].FilePath(): {int64(i) + 100}})
	}
	want := l.read("main").Positions
	reports := make(chan string, 8)
	for range cap(reports) {
		go func() {
			r, err := maintenance.Run(t.Context(), l.Catalog, forge.Ident(), options(maintenance.Migrate))
			if err != nil {
				reports <- err.Error()
				return
			}
			reports <- fmt.Sprint(r.Committed)
		}()
	}
	results := map[string]int{}
	for range cap(reports) {
		results[<-reports]++
	}
	assert.Equal(t, map[string]int{"true": 1, "false": cap(reports) - 1}, results)
	assert.Equal(t, want, l.read("main").Positions)
	assert.Equal(t, 1, l.judged)
}
