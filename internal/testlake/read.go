package testlake

import (
	"bytes"
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
}

// entry is a live delete entry.
type entry struct {
	iceberg.ManifestEntry
	file iceberg.DataFile
}

// Read reads what is deleted at a branch, with iceberg-go's readers: a deletion vector hides the position deletes of its
// data file; position deletes apply within one spec and partition, by sequence number.
func (l *Lake) Read(t testing.TB, name, ref string) *Deletes {
	tbl := l.Load(t, name)
	snap := tbl.Metadata.SnapshotByName(ref)
	require.NotNil(t, snap)
	return l.ReadSnapshot(t, tbl.Metadata, snap)
}

// ReadSnapshot reads what is deleted at a snapshot.
func (l *Lake) ReadSnapshot(t testing.TB, meta table.Metadata, snap *table.Snapshot) *Deletes {
	fs := localIO{l}
	manifests, err := snap.Manifests(fs)
	require.NoError(t, err)
	out := &Deletes{Positions: map[string][][2]int64{}, Entries: map[string]iceberg.ManifestEntry{}, Puffins: map[string]int{}, FirstRowIDs: map[string]*int64{}}
	var deletes []entry
	for _, m := range manifests {
		for e, err := range m.Entries(fs, true) {
			require.NoError(t, err)
			f := e.DataFile()
			switch {
			case f.ContentType() == iceberg.EntryContentData:
				require.NotContains(t, out.Entries, f.FilePath())
				out.Entries[f.FilePath()] = e
				out.FirstRowIDs[f.FilePath()] = f.FirstRowID()
			case f.ContentType() == iceberg.EntryContentEqDeletes:
				out.EqualityDeleteFiles++
			default:
				deletes = append(deletes, entry{e, f})
			}
		}
	}
	for path, e := range out.Entries {
		out.Positions[path] = ranges(l.deleted(t, path, e, deletes))
	}
	for _, d := range deletes {
		if d.file.FileFormat() == iceberg.PuffinFile {
			out.DVs++
			out.Puffins[d.file.FilePath()]++
		} else {
			out.PositionDeleteFiles++
		}
	}
	return out
}

func (l *Lake) deleted(t testing.TB, path string, data iceberg.ManifestEntry, deletes []entry) []int64 {
	for _, d := range deletes {
		if ref := d.file.ReferencedDataFile(); d.file.FileFormat() == iceberg.PuffinFile && ref != nil && *ref == path {
			require.Equal(t, data.DataFile().SpecID(), d.file.SpecID(), "spec of the deletion vector of %s", path)
			require.Equal(t, data.DataFile().Partition(), d.file.Partition(), "partition of the deletion vector of %s", path)
			require.GreaterOrEqual(t, d.SequenceNum(), data.SequenceNum())
			bitmap, err := dv.ReadDV(localIO{l}, d.file)
			require.NoError(t, err)
			var out []int64
			for p := range bitmap.Positions() {
				out = append(out, int64(p))
			}
			slices.Sort(out)
			return out
		}
	}
	var out []int64
	for _, d := range deletes {
		ref := d.file.ReferencedDataFile()
		applies := d.file.FileFormat() == iceberg.ParquetFile && d.file.SpecID() == data.DataFile().SpecID() && d.SequenceNum() >= data.SequenceNum() &&
			equalTuples(d.file.Partition(), data.DataFile().Partition()) && (ref == nil || *ref == path)
		if applies {
			out = append(out, l.parquetPositions(t, d.file.FilePath(), path)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func equalTuples(a, b map[int]any) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		w, ok := b[k]
		if x, isBytes := v.([]byte); isBytes {
			y, _ := w.([]byte)
			ok = ok && bytes.Equal(x, y)
		} else {
			ok = ok && v == w
		}
		if !ok {
			return false
		}
	}
	return true
}

// parquetPositions reads a position delete file record by record, columns by name.
func (l *Lake) parquetPositions(t testing.TB, location, path string) []int64 {
	f, err := file.OpenParquetFile(l.local(location), false)
	require.NoError(t, err)
	defer f.Close()
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	require.NoError(t, err)
	tbl, err := r.ReadTable(t.Context())
	require.NoError(t, err)
	defer tbl.Release()
	if tbl.NumRows() == 0 {
		return nil
	}
	var out []int64
	tr := array.NewTableReader(tbl, 0)
	defer tr.Release()
	for tr.Next() {
		batch := tr.RecordBatch()
		paths := batch.Column(batch.Schema().FieldIndices("file_path")[0])
		positions := batch.Column(batch.Schema().FieldIndices("pos")[0]).(*array.Int64)
		for i := range int(batch.NumRows()) {
			if paths.ValueStr(i) == path {
				out = append(out, positions.Value(i))
			}
		}
	}
	return out
}

func ranges(positions []int64) [][2]int64 {
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

func (l localIO) Open(name string) (iceio.File, error) {
	return iceio.LocalFS{}.Open(l.lake.local(name))
}

func (l localIO) Remove(string) error { return nil }
