package check_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// edited is a Puffin file of a vector whose entry in the footer is changed.
func edited(edit func(map[string]any)) func(*testing.T) *lab {
	return v3(func(l *lab) []iceberg.DataFile {
		p := l.vector(0, 1, 2)
		p.edit = edit
		return l.put(container{parts: []part{p}})
	})
}

// set sets a key of an entry in a footer.
func set(key string, value any) func(map[string]any) {
	return func(entry map[string]any) { entry[key] = value }
}

// property sets a property of an entry in a footer; "" takes it out.
func property(key, value string) func(map[string]any) {
	return func(entry map[string]any) {
		entry["properties"].(map[string]string)[key] = value
		if value == "" {
			delete(entry["properties"].(map[string]string), key)
		}
	}
}

// bytesOf is a Puffin file of two vectors whose bytes are changed at last.
func bytesOf(edit func([]byte) []byte) func(*testing.T) *lab {
	return v3(func(l *lab) []iceberg.DataFile {
		return l.put(container{parts: []part{l.vector(0, 1, 2), l.vector(1, 3)}, edit: edit})
	})
}

// moved is a table whose entry of data file 0 is at another place of a Puffin file of two vectors.
func moved(by int64, longer int64) func(*testing.T) *lab {
	return v3(func(l *lab) []iceberg.DataFile {
		p := []part{l.vector(0, 1, 2), l.vector(1, 3)}
		location, size, at := l.puffin(container{parts: p})
		return []iceberg.DataFile{
			l.entry(0, location, size, at[0], p[0]).ContentOffset(at[0] + by).ContentSizeInBytes(int64(len(p[0].blob)) + longer).Build(),
			l.entry(1, location, size, at[1], p[1]).Build(),
		}
	})
}

func TestFaultsThatFootersShow(t *testing.T) {
	t.Parallel()
	flip := func(from int) func([]byte) []byte { // from the end
		return func(b []byte) []byte { b[len(b)-from] ^= 0x41; return b }
	}
	for _, level := range []check.Level{check.Footers, check.Vectors} {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			treat(t, check.Options{Level: level}, []wound{
				{"a healthy one", nil, edited(nil)},
				{"fields with the row position", nil, edited(set("fields", []int{2147483645}))},
				{"fields of another column", []string{"puffin-blob-metadata"}, edited(set("fields", []int{2147483646}))},
				{"fields that are no numbers", []string{"puffin-blob-metadata"}, edited(set("fields", []any{map[string]any{"id": 1}}))},
				{"no snapshot id", []string{"puffin-blob-metadata"}, edited(func(e map[string]any) { delete(e, "snapshot-id") })},
				{"a snapshot id", []string{"puffin-blob-metadata"}, edited(set("snapshot-id", 5))},
				{"no cardinality", []string{"puffin-blob-metadata"}, edited(property("cardinality", ""))},
				{"no data file", []string{"puffin-blob-metadata"}, edited(property("referenced-data-file", ""))},
				{"a codec", []string{"puffin-compressed"}, edited(set("compression-codec", "lz4"))},
				{"another cardinality", []string{"dv-cardinality"}, edited(property("cardinality", "3"))},
				{"an old prefix", []string{"dv-reference-stale"}, edited(property("referenced-data-file", "s3://before/the/move/f001.parquet"))},
				{"another spelling", []string{"dv-reference-stale"}, edited(property("referenced-data-file", "s3a://lake/t/data/f001.parquet"))},
				{"a data file that is gone", []string{"dv-misbound"}, edited(property("referenced-data-file", "s3://lake/t/data/other.parquet"))},
				{"a live data file", []string{"dv-misbound"}, edited(property("referenced-data-file", "s3://lake/t/data/f002.parquet"))},
				{"a range outside", []string{"dv-range"}, edited(set("offset", 1<<40))},
				{"unknown flags", []string{"puffin-flags"}, v3(func(l *lab) []iceberg.DataFile {
					return l.put(container{parts: []part{l.vector(0, 1)}, flags: 2})
				})},
				{"a compressed footer", []string{"puffin-compressed"}, compressed},
				{"a broken head", []string{"dv-bare-blob"}, bytesOf(func(b []byte) []byte { b[0] = 'X'; return b })},
				{"a broken tail", []string{"dv-bare-blob"}, bytesOf(flip(1))},
				{"a broken payload", []string{"dv-bare-blob"}, bytesOf(flip(13))},
				{"no footer", []string{"dv-bare-blob"}, bytesOf(func(b []byte) []byte { return b[:4+2*46] })},
				{"a bare blob", []string{"dv-bare-blob"}, v3(func(l *lab) []iceberg.DataFile {
					p := l.vector(0, 1)
					l.Put(l.At+"/data/bare.bin", p.blob)
					return []iceberg.DataFile{l.entry(0, l.At+"/data/bare.bin", int64(len(p.blob)), 0, p).Build()}
				})},
				{"an offset that is off", []string{"dv-range"}, moved(1, 0)},
				{"a length that is off", []string{"dv-range"}, moved(0, 1)},
				{"an entry at its place", nil, moved(0, 0)},
				{"the range of another data file", []string{"dv-misbound"}, v3(func(l *lab) []iceberg.DataFile {
					p := []part{l.vector(0, 1), l.vector(1, 3)}
					location, size, at := l.puffin(container{parts: p})
					return []iceberg.DataFile{l.entry(0, location, size, at[1], p[1]).Build()}
				})},
				{"a size that is off", []string{"file-size"}, v3(func(l *lab) []iceberg.DataFile {
					p := l.vector(0, 1)
					location, size, at := l.puffin(container{parts: []part{p}})
					return []iceberg.DataFile{l.entry(0, location, size+10, at[0], p).Build()}
				})},
				{"no object", []string{"dv-missing"}, v3(func(l *lab) []iceberg.DataFile {
					f := one(l, 1)
					require.NoError(l.t, l.Remove(f[0].FilePath()))
					return f
				})},
			})
		})
	}
}

// compressed makes a table with a Puffin file whose footer is compressed.
func compressed(t *testing.T) *lab {
	l := newLab(t, 3)
	var out buffer
	w := puffin.NewWriter(&out, puffin.WriterOptions{})
	b := puffin.NewBitmap()
	require.NoError(t, b.Add(1))
	m, err := w.AddDeletionVector(l.path(0), b)
	require.NoError(t, err)
	size, err := w.Finish(puffin.FinishOptions{CompressFooter: true})
	require.NoError(t, err)
	l.Put(l.At+"/data/lz4.puffin", out)
	l.add(l.entry(0, l.At+"/data/lz4.puffin", size, m.Offset, part{blob: make([]byte, m.Length), n: 1}).Build())
	return l
}

// buffer is an io.Writer.
type buffer []byte

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

func TestAnEntryThatLacksFieldsIsMatchedWithTheOnlyBlobThatFits(t *testing.T) {
	t.Parallel()
	bare := func(l *lab, f iceberg.DataFile) iceberg.DataFile {
		return l.Entry(0, nil, iceberg.EntryContentPosDeletes, f.FilePath(), iceberg.PuffinFile, f.Count(), f.FileSizeBytes()).Build()
	}
	for name, c := range map[string]struct {
		parts  func(l *lab) []part
		repair check.Repair
		of     int
	}{
		"one of its size":  {func(l *lab) []part { return []part{l.vector(0, 1), l.vector(1, 1, 2)} }, check.Fix, 0},
		"two of its size":  {func(l *lab) []part { return []part{l.vector(0, 1), l.vector(1, 2)} }, check.Ask, -1},
		"none of its size": {func(l *lab) []part { p := l.vector(0, 1); p.edit = property("cardinality", "9"); return []part{p} }, check.Ask, -1},
		"one of a file is gone": {func(l *lab) []part {
			p := l.vector(0, 1)
			p.edit = property("referenced-data-file", "s3://x/y")
			return []part{p}
		}, check.Ask, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 3)
			f := l.put(container{parts: c.parts(l)})
			l.add(bare(l, f[0]))
			r := l.check(everything())
			require.Equal(t, []string{"dv-fields-missing"}, issues(r), "%+v", r.Findings)
			assert.Equal(t, c.repair, r.Findings[0].Repair)
			want := ""
			if c.of >= 0 {
				want = l.path(c.of)
			}
			assert.Equal(t, want, r.Findings[0].DataFile)
		})
	}
}

func TestALiveDataFileOfTheSameNameInAnotherFolderIsNoOldPrefix(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	for _, folder := range []string{"a", "b"} {
		l.data = append(l.data, l.DataFile(folder+"/same.parquet", 0, nil, rows))
	}
	l.add(l.data[3:]...)
	p := part{blob: blob(t, 1), of: l.path(4), n: 1}
	location, size, at := l.puffin(container{parts: []part{p}})
	l.add(l.entry(3, location, size, at[0], p).Build())
	r := l.check(everything())
	require.Equal(t, []string{"dv-misbound"}, issues(r), "%+v", r.Findings)
	assert.Equal(t, check.Ask, r.Findings[0].Repair)
}

func TestABlobWhoseDataFileHasADeletionVectorIsNoCandidate(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	f := l.put(container{parts: []part{l.vector(0, 1), l.vector(1, 2)}})
	l.add(l.Entry(0, nil, iceberg.EntryContentPosDeletes, f[0].FilePath(), iceberg.PuffinFile, 1, f[0].FileSizeBytes()).Build(), f[1])
	r := l.check(everything())
	require.Equal(t, []string{"dv-fields-missing"}, issues(r), "%+v", r.Findings)
	assert.Equal(t, check.Fix, r.Findings[0].Repair)
	assert.Equal(t, l.path(0), r.Findings[0].DataFile)
}

func TestAnEntryThatLacksFieldsIsFoundWhateverElseIsWrong(t *testing.T) {
	t.Parallel()
	for name, hurt := range map[string]func(l *lab, puffin string){
		"the footer is broken": func(l *lab, puffin string) { l.Put(puffin, l.Get(puffin)[:10]) },
		"a manifest is gone":   func(l *lab, _ string) { require.NoError(l.t, l.Remove(manifestOf(l, iceberg.ManifestContentData))) },
	} {
		for _, level := range []check.Level{check.Metadata, check.Footers, check.Vectors} {
			l := newLab(t, 3)
			f := one(l, 1)[0]
			l.add(l.Entry(0, nil, iceberg.EntryContentPosDeletes, f.FilePath(), iceberg.PuffinFile, 1, f.FileSizeBytes()).Build())
			hurt(l, f.FilePath())
			assert.Contains(t, issues(l.check(check.Options{Level: level})), "dv-fields-missing", "%s, %s", name, level)
		}
	}
}

func TestOldPuffinFilesThatNoSnapshotReferencesAreOrphans(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	old := one(l, 1)
	l.add(old...)
	l.Commit(forge.Change{Add: forge.Files(one(l, 1, 2)...), Remove: gone(old[0])})
	l.Put(l.At+"/data/left-over.puffin", []byte("x"))
	l.Put(l.At+"/data/left-over.parquet", []byte("x"))
	l.Put(l.At+"/metadata/dvcompactor/repair/1/copied.puffin", []byte("x")) // kept on purpose
	o := everything()
	assert.Empty(t, issues(l.check(o)), "it may be of a commit under way")
	o.Now = func() time.Time { return time.Now().Add(100 * time.Hour) }
	r := l.check(o)
	require.Equal(t, []string{"puffin-orphan"}, issues(r))
	require.Len(t, r.Findings, 1, "the one of the older snapshot is none: %+v", r.Findings)
	assert.Equal(t, l.At+"/data/left-over.puffin", r.Findings[0].Location)
	assert.False(t, r.Damaged, "it costs space only")
}

func TestTheFooterOfEachPuffinFileIsReadOnceAndAdjacentVectorsWithOneRequest(t *testing.T) {
	t.Parallel()
	lake := testlake.Copy(t, "v3-shared-puffin")
	o := everything()
	o.Issues = []string{"dv-corrupt"} // no listing
	r, err := check.Run(t.Context(), lake.Load(t, "t"), o)
	require.NoError(t, err)
	assert.EqualValues(t, r.Checked.PuffinFiles, r.Requests.Heads)
	assert.LessOrEqual(t, r.Requests.RangeGets, 2*r.Checked.PuffinFiles, "a footer and a run of vectors each: %+v", r.Requests)
	assert.EqualValues(t, r.Checked.Manifests+1, r.Requests.Gets, "each manifest once, and the list")
}

func TestNothingIsWritten(t *testing.T) {
	t.Parallel()
	lake := testlake.Copy(t, "v3-upgraded-mixed")
	before := lake.Files(t)
	r, err := check.Run(t.Context(), lake.Load(t, "t"), everything())
	require.NoError(t, err)
	assert.Equal(t, before, lake.Files(t))
	assert.Zero(t, r.Requests.Puts+r.Requests.Deletes)
	_, err = os.Stat(filepath.Join(lake.Dir, "t", "metadata", "dvcompactor"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}
