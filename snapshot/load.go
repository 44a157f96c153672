package snapshot

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"golang.org/x/sync/errgroup"
)

// ErrFormat says that a table or entry is of a kind this program does not handle; the message says which and why.
var ErrFormat = errors.New("not supported")

// defaultParallelism is how many manifests are read at once unless options say otherwise.
const defaultParallelism = 4

// LoadOptions control how a state is read.
type LoadOptions struct {
	Parallelism int // manifests read at once; 0 means 4
	// Corrected replaces, by location, what the manifest list says of manifests.
	Corrected map[string]iceberg.ManifestFile
	// Named are further data files to keep when they are live.
	Named map[string]bool
}

// Load reads the state of one snapshot: the manifest list once, each delete manifest once, then each data manifest once
// (without column statistics), and no data manifest at all when nothing is deleted.
func Load(ctx context.Context, fs iceio.IO, meta table.Metadata, snap *table.Snapshot, o LoadOptions) (*State, error) {
	l, err := loadDeletes(ctx, fs, meta, snap, o)
	if err != nil {
		return nil, err
	}
	if len(l.state.DVs)+len(l.state.PositionDeletes)+len(l.named) > 0 {
		if err := l.each(ctx, iceberg.ManifestContentData, l.dataEntry); err != nil {
			return nil, err
		}
	}
	l.bind()
	l.state.noteRead()
	sortState(l.state)
	return l.state, nil
}

// LoadDeletes reads only the delete manifests of a snapshot: the state knows no data files and no dangling entries.
func LoadDeletes(ctx context.Context, fs iceio.IO, meta table.Metadata, snap *table.Snapshot, o LoadOptions) (*State, error) {
	l, err := loadDeletes(ctx, fs, meta, snap, o)
	if err != nil {
		return nil, err
	}
	sortState(l.state)
	return l.state, nil
}

func loadDeletes(ctx context.Context, fs iceio.IO, meta table.Metadata, snap *table.Snapshot, o LoadOptions) (*loader, error) {
	l, err := newLoader(fs, meta, snap, o)
	if err != nil {
		return nil, err
	}
	if err := l.each(ctx, iceberg.ManifestContentDeletes, l.deleteEntry); err != nil {
		return nil, err
	}
	l.index()
	return l, nil
}

// newLoader reads the manifest list.
func newLoader(fs iceio.IO, meta table.Metadata, snap *table.Snapshot, o LoadOptions) (*loader, error) {
	manifests, err := readList(fs, snap)
	if err != nil {
		return nil, fmt.Errorf("manifest list %s of snapshot %d: %w", storage.Shown(snap.ManifestList), snap.SnapshotID, err)
	}
	for i, m := range manifests {
		if right := o.Corrected[m.FilePath()]; right != nil {
			manifests[i] = right
		}
	}
	l := &loader{
		fs: fs, meta: meta, parallelism: o.Parallelism, named: o.Named, targets: map[string][]*DeleteFile{},
		state: &State{
			Metadata: meta, Snapshot: snap, Manifests: manifests, Groups: map[GroupKey]*Group{}, DataFiles: map[string]*DataFile{}, read: map[string]*manifestContent{},
		},
	}
	if l.parallelism <= 0 {
		l.parallelism = defaultParallelism
	}
	return l, nil
}

type loader struct {
	fs          iceio.IO
	meta        table.Metadata
	parallelism int
	skip        func(iceberg.ManifestFile) bool // manifests that need not be read; nil for none
	fields      fieldJudge

	mu    sync.Mutex
	state *State
	// targets are the deletion vectors by referenced data file, complete before data manifests are read.
	targets map[string][]*DeleteFile
	named   map[string]bool // further data files to keep; nil for none
}

// each streams the live entries of all manifests of one content, one goroutine a manifest.
func (l *loader) each(ctx context.Context, content iceberg.ManifestContent, entry func(iceberg.ManifestFile, iceberg.ManifestEntry) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(l.parallelism)
	for _, m := range l.state.Manifests {
		if m.ManifestContent() != content || l.skip != nil && l.skip(m) {
			continue
		}
		g.Go(func() error {
			for e, err := range entries(ctx, l.fs, m, withoutStatistics, l.noteFields(m)) {
				if err == nil {
					err = entry(m, e)
				}
				if err != nil {
					return fmt.Errorf("manifest %s: %w", storage.Shown(m.FilePath()), err)
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// noteFields notes, of a delete manifest whose header it is told, whether its entries can be written again.
func (l *loader) noteFields(m iceberg.ManifestFile) func(map[string][]byte) {
	if m.ManifestContent() != iceberg.ManifestContentDeletes {
		return nil
	}
	return func(header map[string][]byte) {
		whole := l.fields.whole(header["avro.schema"], l.meta.PartitionSpecByID(int(m.PartitionSpecID())))
		l.mu.Lock()
		defer l.mu.Unlock()
		l.state.contentOf(m).whole = whole
	}
}

func (l *loader) deleteEntry(m iceberg.ManifestFile, e iceberg.ManifestEntry) error {
	f := e.DataFile()
	if f.ContentType() == iceberg.EntryContentEqDeletes {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.state.EqualityDeletes++
		l.state.contentOf(m).equalityDeletes++
		return nil
	}
	d := &DeleteFile{
		FileID: fileID(f), Format: FormatOf(f), Seq: e.SequenceNum(), Records: f.Count(), Size: f.FileSizeBytes(),
		SnapshotID: e.SnapshotID(), Manifest: m.FilePath(), Encrypted: len(f.KeyMetadata()) > 0,
	}
	if r := f.ReferencedDataFile(); r != nil {
		d.Referenced = *r
	}
	key, partition, err := l.key(f)
	if err != nil {
		return fmt.Errorf("entry %s: %w", d.Path, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	d.Group = l.group(key, partition)
	c := l.state.contentOf(m)
	c.deletes = append(c.deletes, d)
	if d.IsDV() {
		l.state.DVs = append(l.state.DVs, d)
	} else {
		l.state.PositionDeletes = append(l.state.PositionDeletes, d)
	}
	return nil
}

// key computes the partition of an entry; the tuple of an unpartitioned spec is never decoded.
func (l *loader) key(f iceberg.DataFile) (GroupKey, map[int]any, error) {
	key := GroupKey{SpecID: f.SpecID()}
	if spec := l.meta.PartitionSpecByID(int(f.SpecID())); spec != nil && spec.NumFields() == 0 {
		return key, nil, nil
	}
	var partition map[int]any
	err := safely(func() (err error) {
		partition = f.Partition()
		key.Tuple, err = tupleKey(partition)
		return err
	})
	return key, partition, err
}

// group returns the group of a key, made if need be. The caller holds the lock.
func (l *loader) group(key GroupKey, partition map[int]any) *Group {
	g := l.state.Groups[key]
	if g == nil {
		g = &Group{Key: key, Partition: partition, Label: label(l.meta.PartitionSpecByID(int(key.SpecID)), partition)}
		l.state.Groups[key] = g
	}
	return g
}

func (l *loader) index() {
	for _, d := range l.state.DVs {
		l.targets[d.Referenced] = append(l.targets[d.Referenced], d)
	}
	for _, d := range l.state.PositionDeletes {
		d.Group.PositionDeletes = append(d.Group.PositionDeletes, d)
	}
}

func (l *loader) dataEntry(m iceberg.ManifestFile, e iceberg.ManifestEntry) error {
	f := e.DataFile()
	path := f.FilePath()
	key, partition, err := l.key(f)
	if err != nil {
		return fmt.Errorf("entry %s: %w", path, err)
	}
	dvs := l.targets[path]
	l.mu.Lock()
	defer l.mu.Unlock()
	group := l.state.Groups[key]
	if len(dvs) == 0 && !l.named[path] && (group == nil || len(group.PositionDeletes) == 0) {
		return nil
	}
	data := &DataFile{Path: path, Group: l.group(key, partition), Seq: e.SequenceNum(), Records: f.Count(), DVs: dvs}
	c := l.state.contentOf(m)
	c.data = append(c.data, data)
	if old := l.state.DataFiles[path]; old != nil {
		old.Twice = true
		return nil
	}
	l.state.DataFiles[path] = data
	data.Group.Data = append(data.Group.Data, data)
	return nil
}

// bind finds the deletion vectors that no live data file answers to.
func (l *loader) bind() {
	for path, dvs := range l.targets {
		if path == "" || l.state.DataFiles[path] == nil {
			l.state.DanglingDVs = append(l.state.DanglingDVs, dvs...)
		}
	}
}

// fileID returns the identity of a manifest entry's file.
func fileID(f iceberg.DataFile) FileID {
	id := FileID{Path: f.FilePath(), Offset: -1, Length: -1}
	if o := f.ContentOffset(); o != nil {
		id.Offset = *o
	}
	if n := f.ContentSizeInBytes(); n != nil {
		id.Length = *n
	}
	return id
}
