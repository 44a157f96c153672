package reports

import (
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// damage is a table with one data file whose deletes are wrong and two whose deletion vectors can be packed.
func damage(t *testing.T, reason string, damage func(l *lab, f iceberg.DataFile) []string) {
	t.Helper()
	l := newDamagedLab(t, v3())
	f := l.files(3)
	l.vector(f[1], 10)
	l.vector(f[2], 20)
	stays := damage(l, f[0])
	r := l.compact()
	assert.True(t, r.Committed, "the other data files are none the worse for it")
	s := skip(t, r, reason)
	assert.Equal(t, f[0].FilePath(), s.DataFile)
	assert.NotEmpty(t, s.Detail)
	live := l.liveDeletes()
	for _, path := range stays {
		assert.NotEmpty(t, live[path], "the damaged entry is gone")
	}
	got := l.read("main")
	assert.Equal(t, one(10), got.Positions[f[1].FilePath()])
	assert.Equal(t, one(20), got.Positions[f[2].FilePath()])
	assert.Len(t, got.Puffins, 1+len(stays))
}

func TestTwoDeletionVectorsForOneDataFileStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]func(l *lab, f iceberg.DataFile) []string{
		"in two commits": func(l *lab, f iceberg.DataFile) []string {
			return []string{l.vector(f, 1).FilePath(), l.vector(f, 3).FilePath()}
		},
		"in one commit": func(l *lab, f iceberg.DataFile) []string {
			a, b := l.DeletionVectors(forge.Vector{Data: f, Positions: []int64{1}})[0], l.DeletionVectors(forge.Vector{Data: f, Positions: []int64{3}})[0]
			l.delete(a, b)
			return []string{a.FilePath(), b.FilePath()}
		},
		"in one Puffin file": func(l *lab, f iceberg.DataFile) []string {
			other := l.DataFile("", 0, nil, 1000)
			both := l.DeletionVectors(forge.Vector{Data: f, Positions: []int64{1}}, forge.Vector{Data: other, Positions: []int64{3}})
			l.delete(both[0], l.VectorEntry(both[1]).ReferencedDataFile(f.FilePath()).Build())
			return []string{both[0].FilePath()}
		},
		"one of them damaged": func(l *lab, f iceberg.DataFile) []string {
			bad := l.blob(3)
			bad[len(bad)-1] ^= 1
			d := l.puffin(f, bad, "1", 1).Build()
			l.delete(d)
			return []string{d.FilePath(), l.vector(f, 1).FilePath()}
		},
		"one older than the data file": func(l *lab, f iceberg.DataFile) []string {
			d := l.DeletionVectors(forge.Vector{Data: f, Positions: []int64{1}})[0]
			seq := int64(0)
			l.Commit(forge.Change{Operation: table.OpDelete, Add: []forge.Added{{File: d, Seq: &seq}}})
			return []string{d.FilePath(), l.vector(f, 3).FilePath()}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			damage(t, "dv-duplicate", second)
		})
	}
}

func TestDeletionVectorsThatCannotBeBelievedStayAsTheyAre(t *testing.T) {
	t.Parallel()
	five := []int64{1, 2, 3, 5, 8}
	for name, blob := range map[string]func(l *lab, f iceberg.DataFile) *iceberg.DataFileBuilder{
		"a checksum that is the complement of the right one": func(l *lab, f iceberg.DataFile) *iceberg.DataFileBuilder {
			b := l.blob(five...)
			for i := len(b) - 4; i < len(b); i++ {
				b[i] = ^b[i]
			}
			return l.puffin(f, b, "5", 5)
		},
		"one bit flipped in a container": func(l *lab, f iceberg.DataFile) *iceberg.DataFileBuilder {
			b := l.blob(five...)
			b[len(b)-6] ^= 1
			return l.puffin(f, b, "5", 5)
		},
		"fewer positions than the entry counts": func(l *lab, f iceberg.DataFile) *iceberg.DataFileBuilder {
			return l.puffin(f, l.blob(five[:4]...), "5", 5)
		},
		"more positions than the entry counts": func(l *lab, f iceberg.DataFile) *iceberg.DataFileBuilder {
			return l.puffin(f, l.blob(five...), "5", 4)
		},
		"an entry that counts none": func(l *lab, f iceberg.DataFile) *iceberg.DataFileBuilder {
			return l.puffin(f, l.blob(five...), "5", 0)
		},
		"a bitmap cut short under a good checksum": func(l *lab, f iceberg.DataFile) *iceberg.DataFileBuilder {
			b := l.blob(five...)
			return l.puffin(f, resealed(append(b[:len(b)-8:len(b)-8], 0, 0, 0, 0)), "5", 5)
		},
		"a range that ends before the blob does": func(l *lab, f iceberg.DataFile) *iceberg.DataFileBuilder {
			d := l.puffin(f, l.blob(five...), "5", 5)
			return d.ContentSizeInBytes(*d.Build().ContentSizeInBytes() - 1)
		},
		"a range beyond the object": func(l *lab, f iceberg.DataFile) *iceberg.DataFileBuilder {
			return l.puffin(f, l.blob(five...), "5", 5).ContentOffset(100000)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			damage(t, "dv-corrupt", func(l *lab, f iceberg.DataFile) []string {
				d := blob(l, f).Build()
				l.delete(d)
				return []string{d.FilePath()}
			})
		})
	}
}

func TestDeletionVectorsThatOnlyTheFooterIsWrongAboutAreWrittenAnew(t *testing.T) {
	t.Parallel()
	for name, blob := range map[string]func(l *lab, f iceberg.DataFile) *iceberg.DataFileBuilder{
		"no Puffin file around the blob": func(l *lab, f iceberg.DataFile) *iceberg.DataFileBuilder {
			b := l.blob(1, 3)
			return l.blobEntry(f, b, 0, int64(len(b)), 2)
		},
		"another cardinality in the footer": func(l *lab, f iceberg.DataFile) *iceberg.DataFileBuilder {
			return l.puffin(f, l.blob(1, 3), "1", 2)
		},
		"bytes after the bitmap under a good checksum": func(l *lab, f iceberg.DataFile) *iceberg.DataFileBuilder {
			b := l.blob(1, 3)
			return l.puffin(f, resealed(append(b[:len(b):len(b)], 0, 0, 0)), "2", 2)
		},
		"the wrong file size in the entry": func(l *lab, f iceberg.DataFile) *iceberg.DataFileBuilder {
			b := l.puffin(f, l.blob(1, 3), "2", 2).Build()
			e := l.Entry(0, nil, iceberg.EntryContentPosDeletes, b.FilePath(), iceberg.PuffinFile, 2, 9)
			return e.ReferencedDataFile(f.FilePath()).ContentOffset(*b.ContentOffset()).ContentSizeInBytes(*b.ContentSizeInBytes())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newDamagedLab(t, v3())
			f := l.files(2)
			old := blob(l, f[0]).Build()
			l.delete(old)
			l.vector(f[1], 7)
			assert.True(t, l.compact().Committed)
			l.damaged = false // what was refused by strict readers is right now
			got := l.read("main")
			assert.Equal(t, map[string][][2]int64{f[0].FilePath(): at(1, 3), f[1].FilePath(): one(7)}, got.Positions)
			assert.NotContains(t, got.Puffins, old.FilePath())
		})
	}
}

func TestDeletionVectorsWhoseEntriesAreWrongStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		entry  func(l *lab, f iceberg.DataFile) []string
	}{
		"older than its data file": {"dv-sequence", func(l *lab, f iceberg.DataFile) []string {
			d := l.DeletionVectors(forge.Vector{Data: f, Positions: []int64{1}})[0]
			seq := int64(0)
			l.Commit(forge.Change{Operation: table.OpDelete, Add: []forge.Added{{File: d, Seq: &seq}}})
			return []string{d.FilePath()}
		}},
		"without an offset": {"dv-fields-missing", func(l *lab, f iceberg.DataFile) []string {
			d := l.DeletionVectors(forge.Vector{Data: f, Positions: []int64{1}})[0]
			b := l.Entry(0, nil, iceberg.EntryContentPosDeletes, d.FilePath(), iceberg.PuffinFile, 1, d.FileSizeBytes())
			l.delete(b.ReferencedDataFile(f.FilePath()).ContentSizeInBytes(*d.ContentSizeInBytes()).Build())
			return []string{d.FilePath()}
		}},
		"the range of another data file's, of which a good entry has it too": {"dv-listed-twice", func(l *lab, f iceberg.DataFile) []string {
			g := l.files(1)[0]
			good := l.vector(g, 4)
			l.delete(l.VectorEntry(good).ReferencedDataFile(f.FilePath()).Build())
			return []string{good.FilePath()}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			damage(t, c.reason, c.entry)
		})
	}
}

func TestADeletionVectorThatNamesNoDataFileKeepsItsPuffinFile(t *testing.T) {
	t.Parallel()
	l := newDamagedLab(t, v3())
	f := l.files(3)
	both := l.DeletionVectors(forge.Vector{Data: f[0], Positions: []int64{1}}, forge.Vector{Data: f[1], Positions: []int64{2}})
	l.delete(l.VectorEntry(both[0]).Build(), both[1])
	l.vector(f[2], 3)
	l.vector(f[2], 3)
	r := l.compact()
	assert.Equal(t, both[0].FilePath(), skip(t, r, "dv-fields-missing").Location)
	assert.Len(t, l.liveDeletes()[both[0].FilePath()], 2)
}

func TestOnlyLiveEntriesAreReadAsDeletionVectors(t *testing.T) {
	t.Parallel()
	l := newLab(t, v3())
	f := l.files(2)
	l.vector(f[0], 0)
	l.replaceVector(f[0], 0, 1)
	l.replaceVector(f[0], 0, 1, 2) // the manifests with the first two, DELETED, stay in the list
	l.vector(f[1], 9)
	assert.True(t, l.compact().Committed)
	got := l.read("main")
	assert.Equal(t, [][2]int64{{0, 2}}, got.Positions[f[0].FilePath()])
	assert.Equal(t, 2, got.DVs)
	assert.Len(t, got.Puffins, 1)
}

func TestSiblingsInAPuffinFileAreToldApartByTheirRange(t *testing.T) {
	t.Parallel()
	l := newLab(t, v3())
	a, b := l.DataFile("", 0, nil, 100000), l.DataFile("", 0, nil, 100000)
	l.append(a, b)
	both := l.DeletionVectors(forge.Vector{Data: a, Positions: run(0, 61440)}, forge.Vector{Data: b, Positions: run(7, 13560)})
	l.delete(both...)
	l.Commit(forge.Change{Operation: table.OpDelete, Remove: named(a)}) // its deletion vector stays, dangling
	r := l.compact()
	assert.True(t, r.Committed)
	got := l.read("main")
	assert.Equal(t, map[string][][2]int64{b.FilePath(): {{7, 7 + 13560 - 1}}}, got.Positions)
	assert.Equal(t, 1, got.DVs)
	assert.NotContains(t, got.Puffins, both[0].FilePath(), "expiry of old snapshots would remove it")
}

// run is n positions in a row.
func run(from, n int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = from + int64(i)
	}
	return out
}

func TestADeletionVectorWhoseObjectIsGoneStaysAndTheOthersArePacked(t *testing.T) {
	t.Parallel()
	damage(t, "dv-missing", func(l *lab, f iceberg.DataFile) []string {
		d := l.vector(f, 1, 2)
		require.NoError(l.t, l.Remove(d.FilePath()))
		return []string{d.FilePath()}
	})
}

func TestADeletionVectorUnderANameThatNobodyCanOpenStays(t *testing.T) {
	t.Parallel()
	damage(t, "dv-missing", func(l *lab, f iceberg.DataFile) []string {
		d := l.DeletionVectors(forge.Vector{Data: f, Positions: []int64{1}})[0]
		b := l.Entry(0, nil, iceberg.EntryContentPosDeletes, "s3://lake/internal/"+d.FilePath()[len("s3://lake/"):], iceberg.PuffinFile, 1, d.FileSizeBytes())
		l.delete(b.ReferencedDataFile(f.FilePath()).ContentOffset(*d.ContentOffset()).ContentSizeInBytes(*d.ContentSizeInBytes()).Build())
		return []string{"s3://lake/internal/" + d.FilePath()[len("s3://lake/"):]}
	})
}

func TestADeletionVectorInATableOfVersion2StaysUntilSomebodyDecides(t *testing.T) {
	t.Parallel()
	l := newDamagedLab(t, v2())
	f := l.files(2)
	b := l.blob(1)
	d := l.blobEntry(f[0], b, 0, int64(len(b)), 1).Build() // the manifests of version 2 have no fields for the range
	l.delete(d)
	l.deletePositions(f[1], map[string][]int64{f[1].FilePath(): {4}})
	r := l.run(maintenance.Options{Action: maintenance.Compact})
	assert.False(t, r.Committed)
	assert.Equal(t, map[string]int{"dv-in-v2": 1}, reasons(r))
	r = l.migrate()
	assert.Equal(t, map[string]int{"dv-in-v2": 1}, reasons(r))
	assert.Contains(t, l.livePaths(), d.FilePath())
	assert.Equal(t, map[string]int{"dv-fields-missing": 1}, reasons(l.compact()))
	assert.Contains(t, l.livePaths(), d.FilePath())
}
