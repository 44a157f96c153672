package testlake

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/apache/iceberg-go/table/dv"
	"github.com/stretchr/testify/require"
)

// Deletes are the live deletes of a branch as an independent reader sees them.
type Deletes struct {
	Positions           map[string][][2]int64 // by path of the live data file; inclusive ranges
	Entries             map[string]iceberg.ManifestEntry
	PositionDeleteFiles int
	EqualityDeleteFiles int
	DVs                 int
	Puffins             map[string]int // deletion vectors by location
	FirstRowIDs         map[string]*int64
	// Broken says of a data file why its deletes cannot be read; see [ReadDamagedSnapshot].
	Broken map[string]string
}

// entry is a live delete entry.
type entry struct {
	iceberg.ManifestEntry
	file iceberg.DataFile
}

// Read reads what is deleted at a branch; see [ReadSnapshot].
func (l *Lake) Read(t testing.TB, name, ref string) *Deletes {
	snap := l.Load(t, name).Metadata.SnapshotByName(ref)
	require.NotNil(t, snap)
	return l.ReadSnapshot(t, snap)
}

// ReadSnapshot reads what is deleted at a snapshot; see [ReadSnapshot].
func (l *Lake) ReadSnapshot(t testing.TB, snap *table.Snapshot) *Deletes {
	return ReadSnapshot(t, localIO{l}, snap)
}

// ReadSnapshot reads what is deleted at a snapshot, with iceberg-go's readers: a deletion vector hides the position
// deletes of its data file; position deletes apply within one spec and partition, by sequence number.
func ReadSnapshot(t require.TestingT, fs iceio.IO, snap *table.Snapshot) *Deletes {
	out, r := index(t, fs, snap)
	for path, e := range out.Entries {
		require.Empty(t, out.Broken[path], path)
		out.Positions[path] = Ranges(r.of(path, e))
	}
	return out
}

// ReadDamagedSnapshot is [ReadSnapshot] for tables that are wrong: a data file whose deletes a strict reader refuses to
// read has the reason in Broken and no positions.
func ReadDamagedSnapshot(t require.TestingT, fs iceio.IO, snap *table.Snapshot) *Deletes {
	out, r := index(t, fs, snap)
	for path, e := range out.Entries {
		if out.Broken[path] != "" {
			continue
		}
		refusal := &refusal{}
		r.t = refusal
		if positions := refusal.of(func() []int64 { return r.of(path, e) }); refusal.reason == "" {
			out.Positions[path] = Ranges(positions)
		} else {
			out.Broken[path] = refusal.reason
		}
	}
	return out
}

// refusal takes down what a reader requires in vain.
type refusal struct{ reason string }

// Errorf implements require.TestingT.
func (r *refusal) Errorf(format string, args ...any) { r.reason = fmt.Sprintf(format, args...) }

// FailNow implements require.TestingT; of gets it.
func (r *refusal) FailNow() { panic(r) }

func (r *refusal) of(read func() []int64) []int64 {
	defer func() {
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
	}()
	return read()
}

// index reads the manifests of a snapshot.
func index(t require.TestingT, fs iceio.IO, snap *table.Snapshot) (*Deletes, *deletes) {
	manifests, err := snap.Manifests(fs)
	require.NoError(t, err)
	out := &Deletes{Positions: map[string][][2]int64{}, Entries: map[string]iceberg.ManifestEntry{}, Puffins: map[string]int{}, FirstRowIDs: map[string]*int64{}, Broken: map[string]string{}}
	r := &deletes{t: t, fs: fs, vectors: map[string]entry{}, records: map[string]map[string][]int64{}}
	for _, m := range manifests {
		for e, err := range m.Entries(fs, true) {
			require.NoError(t, err)
			f := e.DataFile()
			switch {
			case f.ContentType() == iceberg.EntryContentData:
				if out.Entries[f.FilePath()] != nil {
					out.Broken[f.FilePath()] = "it is live in two entries"
				}
				out.Entries[f.FilePath()] = e
				out.FirstRowIDs[f.FilePath()] = f.FirstRowID()
			case f.ContentType() == iceberg.EntryContentEqDeletes:
				out.EqualityDeleteFiles++
			case f.FileFormat() == iceberg.PuffinFile:
				out.DVs++
				out.Puffins[f.FilePath()]++
				if ref := f.ReferencedDataFile(); ref != nil {
					if _, two := r.vectors[*ref]; two {
						out.Broken[*ref] = "it has two deletion vectors"
					}
					r.vectors[*ref] = entry{e, f}
				}
			default:
				out.PositionDeleteFiles++
				r.files = append(r.files, entry{e, f})
			}
		}
	}
	return out, r
}

// deletes are the live delete entries of a snapshot.
type deletes struct {
	t       require.TestingT
	fs      iceio.IO
	vectors map[string]entry              // by referenced data file
	files   []entry                       // position delete files
	records map[string]map[string][]int64 // of position delete files read so far: by location, then by data file
}

// of returns the deleted positions of a data file, sorted.
func (d *deletes) of(path string, data iceberg.ManifestEntry) []int64 {
	if v, ok := d.vectors[path]; ok {
		return d.vector(path, data, v)
	}
	var out []int64
	for _, f := range d.files {
		ref := f.file.ReferencedDataFile()
		applies := f.file.FileFormat() == iceberg.ParquetFile && f.file.SpecID() == data.DataFile().SpecID() && f.SequenceNum() >= data.SequenceNum() &&
			EqualTuples(f.file.Partition(), data.DataFile().Partition()) && (ref == nil || *ref == path)
		if !applies {
			continue
		}
		location := f.file.FilePath()
		if d.records[location] == nil {
			d.records[location] = Records(d.t, d.fs, location)
		}
		out = append(out, d.records[location][path]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (d *deletes) vector(path string, data iceberg.ManifestEntry, v entry) []int64 {
	require.Equal(d.t, data.DataFile().SpecID(), v.file.SpecID(), "spec of the deletion vector of %s", path)
	require.True(d.t, EqualTuples(data.DataFile().Partition(), v.file.Partition()), "partition of the deletion vector of %s: %v", path, v.file.Partition())
	require.GreaterOrEqual(d.t, v.SequenceNum(), data.SequenceNum(), "the deletion vector is older than its data file")
	bitmap, err := dv.ReadDV(d.fs, v.file)
	require.NoError(d.t, err)
	var out []int64
	for p := range bitmap.Positions() {
		out = append(out, int64(p))
	}
	slices.Sort(out)
	return out
}

// EqualTuples compares partition tuples of one spec by value: bytes by content, floats by their bits with all NaNs equal.
func EqualTuples(a, b map[int]any) bool {
	return maps.EqualFunc(a, b, func(x, y any) bool { return plain(x) == plain(y) })
}

// plain returns what == compares as partition values do.
func plain(v any) any {
	switch v := v.(type) {
	case []byte:
		return string(v)
	case float32:
		return plain(float64(v))
	case float64:
		if math.IsNaN(v) {
			return "NaN"
		}
		return math.Float64bits(v)
	}
	return v
}

// Records reads a position delete file record by record, columns by name, and returns the positions by data file.
func Records(t require.TestingT, fs iceio.IO, location string) map[string][]int64 {
	in, err := fs.Open(location)
	require.NoError(t, err)
	f, err := file.NewParquetReader(in)
	require.NoError(t, err)
	defer f.Close()
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	require.NoError(t, err)
	tbl, err := r.ReadTable(context.Background())
	require.NoError(t, err)
	defer tbl.Release()
	out := map[string][]int64{}
	if tbl.NumRows() == 0 {
		return out
	}
	tr := array.NewTableReader(tbl, 0)
	defer tr.Release()
	for tr.Next() {
		batch := tr.RecordBatch()
		paths := batch.Column(batch.Schema().FieldIndices("file_path")[0])
		positions := batch.Column(batch.Schema().FieldIndices("pos")[0]).(*array.Int64)
		for i := range int(batch.NumRows()) {
			out[paths.ValueStr(i)] = append(out[paths.ValueStr(i)], positions.Value(i))
		}
	}
	return out
}

// Ranges returns sorted positions as inclusive ranges.
func Ranges(positions []int64) [][2]int64 {
	out := [][2]int64{}
	for _, p := range positions {
		if n := len(out); n > 0 && out[n-1][1]+1 == p {
			out[n-1][1] = p
		} else {
			out = append(out, [2]int64{p, p})
		}
	}
	return out
}

func (l *Lake) local(location string) string {
	if relative, ok := strings.CutPrefix(location, l.Prefix); ok {
		return filepath.Join(l.Dir, relative)
	}
	return strings.TrimPrefix(location, "file://")
}

// localIO opens the lake's locations in its folder, without the program's own storage.
type localIO struct{ lake *Lake }

// Open implements iceio.IO.
func (l localIO) Open(name string) (iceio.File, error) {
	return iceio.LocalFS{}.Open(l.lake.local(name))
}

// Remove implements iceio.IO; a reader removes nothing.
func (l localIO) Remove(string) error { return nil }
