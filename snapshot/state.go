package snapshot

import (
	"iter"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// DataFile is a live data file that deletes may apply to.
type DataFile struct {
	Path    string // exactly as in the manifest; paths are compared byte by byte
	Group   *Group
	Seq     int64 // data sequence number
	Records int64 // record_count of the manifest entry

	// DVs are the live deletion vectors whose referenced_data_file is Path. A sound table has none or one.
	DVs []*DeleteFile
	// Twice says that the path is live in two entries, so that nobody can say which one a delete belongs to.
	Twice bool
}

// DV returns the data file's only deletion vector, or nil.
func (f *DataFile) DV() *DeleteFile {
	if len(f.DVs) == 1 {
		return f.DVs[0]
	}
	return nil
}

// FileID identifies a delete entry: the path for a position delete file, path and byte range for a deletion vector.
type FileID struct {
	Path           string
	Offset, Length int64 // -1 when the entry has none
}

// DeleteFile is a live delete entry: a position delete file, or a deletion vector when Format is Puffin.
type DeleteFile struct {
	FileID
	Format     iceberg.FileFormat
	Group      *Group
	Seq        int64  // data sequence number
	Records    int64  // record_count: rows of the file, or cardinality of the deletion vector
	Size       int64  // file_size_in_bytes of the whole object
	Referenced string // referenced_data_file, "" when the entry has none
	SnapshotID int64  // snapshot that added the entry
	Manifest   string // location of the manifest that lists it
	Encrypted  bool   // the entry has key_metadata
}

// IsDV says whether the entry is a deletion vector.
func (d *DeleteFile) IsDV() bool { return d.Format == iceberg.PuffinFile }

// Unbound says that the entry of a deletion vector does not tell which bytes it is or what it is about.
func (d *DeleteFile) Unbound() bool { return d.Referenced == "" || d.Offset < 0 || d.Length < 0 }

// AppliesTo says whether the position deletes of d may apply to f: same spec and partition tuple, data sequence number
// of f not above that of d (equal applies), and f is the referenced data file when d names one (spec, "Scan Planning").
func (d *DeleteFile) AppliesTo(f *DataFile) bool {
	return d.Group == f.Group && f.Seq <= d.Seq && (d.Referenced == "" || d.Referenced == f.Path)
}

// ContentBytes returns what the entry's deletes occupy: the blob of a deletion vector, the whole position delete file.
// It is the size that snapshot summaries count.
func (d *DeleteFile) ContentBytes() int64 {
	if d.IsDV() && d.Length >= 0 {
		return d.Length
	}
	return d.Size
}

// State is what is live at one snapshot, as far as deletes are concerned.
type State struct {
	Metadata  table.Metadata
	Snapshot  *table.Snapshot
	Manifests []iceberg.ManifestFile

	Groups map[GroupKey]*Group
	// DataFiles holds, by path, the live data files that a deletion vector references or that lie in a partition with
	// position delete files. Other data files are not kept.
	DataFiles map[string]*DataFile

	DVs             []*DeleteFile // every live deletion vector
	PositionDeletes []*DeleteFile // every live position delete file
	EqualityDeletes int           // number of live equality delete files; they are never touched

	// DanglingDVs are live deletion vectors whose referenced data file is not live under exactly that path, or that
	// reference none.
	DanglingDVs []*DeleteFile

	read map[string]*manifestContent // by location; see [Follower]
}

// Deletes goes over every live delete entry but equality deletes: deletion vectors, then position delete files.
func (s *State) Deletes() iter.Seq[*DeleteFile] {
	return func(yield func(*DeleteFile) bool) {
		for _, files := range [][]*DeleteFile{s.DVs, s.PositionDeletes} {
			for _, d := range files {
				if !yield(d) {
					return
				}
			}
		}
	}
}

// DeleteManifests returns the delete manifests with live entries.
func (s *State) DeleteManifests() []iceberg.ManifestFile {
	var out []iceberg.ManifestFile
	for _, m := range s.Manifests {
		if m.ManifestContent() == iceberg.ManifestContentDeletes && hasLive(m) {
			out = append(out, m)
		}
	}
	return out
}

// Puffins groups the live deletion vectors by the Puffin file that holds them.
func (s *State) Puffins() map[string][]*DeleteFile {
	out := map[string][]*DeleteFile{}
	for _, d := range s.DVs {
		out[d.Path] = append(out[d.Path], d)
	}
	return out
}

// hasLive says whether a manifest may hold entries that are not DELETED. Unknown counts (-1) count as yes.
func hasLive(m iceberg.ManifestFile) bool { return m.HasAddedFiles() || m.HasExistingFiles() }
