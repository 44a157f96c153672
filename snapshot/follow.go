package snapshot

import (
	"context"
	"fmt"
	"maps"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// manifestContent is what a state keeps of one manifest.
type manifestContent struct {
	listed          iceberg.ManifestFile // as the manifest list had it; nil until the whole manifest was read
	deletes         []*DeleteFile        // live ones, without equality deletes
	equalityDeletes int
	whole           bool        // every field of its entries can be written again; known of delete manifests
	data            []*DataFile // live ones that the state keeps
}

// contentOf returns what is kept of a manifest, made if need be.
func (s *State) contentOf(m iceberg.ManifestFile) *manifestContent {
	c := s.read[m.FilePath()]
	if c == nil {
		c = &manifestContent{}
		s.read[m.FilePath()] = c
	}
	return c
}

// noteRead notes that all manifests were read. One that is listed twice is not: what was kept of it cannot be told
// apart.
func (s *State) noteRead() {
	twice := s.listedTwice()
	for _, m := range s.Manifests {
		if !twice[m.FilePath()] {
			s.contentOf(m).listed = m
		}
	}
}

// listedTwice returns the locations of manifests that the list has more than once.
func (s *State) listedTwice() map[string]bool {
	seen, twice := map[string]bool{}, map[string]bool{}
	for _, m := range s.Manifests {
		if path := m.FilePath(); seen[path] {
			twice[path] = true
		} else {
			seen[path] = true
		}
	}
	return twice
}

// Follower reads further snapshots of a table whose state is known. Manifests never change, so it reads those only that
// it has not seen: after a commit of somebody else that is the manifest list and the few manifests that came with it,
// however many the table has.
//
// What a manifest holds is kept by its location, a word for each delete entry and each data file of the state. To stay
// small it does not keep other data files. That is exact for the paths it is about: those that the state keeps, and the
// further ones given to [State.Follow], of which the manifests of that state say nothing that matters.
type Follower struct {
	base *State
	also map[string]bool
	read map[string]*manifestContent
}

// Follow returns a follower that knows the manifests of s, which [Load] read. It is about the data files of s and about
// the paths in also, which must not be live at s in a partition where anybody will ask for them.
func (s *State) Follow(also map[string]bool) *Follower {
	return &Follower{base: s, also: also, read: s.read}
}

// Load reads the state of another snapshot of the table. It has every delete entry; of the data files it has those, live
// now, that the follower is about. Groups with the key of one of the first state are that very group, so that entries of
// both states can be compared by [DeleteFile.AppliesTo]; what Groups list is that of the first state. DanglingDVs is
// empty.
func (f *Follower) Load(ctx context.Context, fs iceio.IO, meta table.Metadata, snap *table.Snapshot, o LoadOptions) (*State, error) {
	l, err := newLoader(fs, meta, snap, o)
	if err != nil {
		return nil, err
	}
	s := l.state
	s.Groups = maps.Clone(f.base.Groups)
	twice := s.listedTwice()
	known := map[string]bool{}
	for _, m := range s.Manifests {
		if c := f.known(m); c != nil && !twice[m.FilePath()] {
			s.read[m.FilePath()] = c
			known[m.FilePath()] = true
		}
	}
	l.skip = func(m iceberg.ManifestFile) bool { return known[m.FilePath()] }
	if err := l.each(ctx, iceberg.ManifestContentDeletes, l.deleteEntry); err != nil {
		return nil, err
	}
	if err := l.each(ctx, iceberg.ManifestContentData, func(m iceberg.ManifestFile, e iceberg.ManifestEntry) error { return f.dataEntry(l, m, e) }); err != nil {
		return nil, err
	}
	s.noteRead()
	s.assemble()
	sortDeletes(s)
	f.read = s.read // what is no longer listed is forgotten
	return s, nil
}

// known returns what is kept of a manifest when it was read and is still listed with the same numbers.
func (f *Follower) known(m iceberg.ManifestFile) *manifestContent {
	c := f.read[m.FilePath()]
	if c == nil || c.listed == nil {
		return nil
	}
	old := c.listed
	same := old.Length() == m.Length() && old.SequenceNum() == m.SequenceNum() && old.SnapshotID() == m.SnapshotID() &&
		old.PartitionSpecID() == m.PartitionSpecID() && old.ManifestContent() == m.ManifestContent() && hasLive(old) == hasLive(m)
	if !same {
		return nil
	}
	return c
}

func (f *Follower) dataEntry(l *loader, m iceberg.ManifestFile, e iceberg.ManifestEntry) error {
	file := e.DataFile()
	path := file.FilePath()
	if f.base.DataFiles[path] == nil && !f.also[path] {
		return nil
	}
	key, partition, err := l.key(file)
	if err != nil {
		return fmt.Errorf("entry %s: %w", path, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.state.contentOf(m)
	c.data = append(c.data, &DataFile{Path: path, Group: l.group(key, partition), Seq: e.SequenceNum(), Records: file.Count()})
	return nil
}

// assemble fills a state with what is kept of its manifests.
func (s *State) assemble() {
	s.DVs, s.PositionDeletes, s.EqualityDeletes = nil, nil, 0
	targets := map[string][]*DeleteFile{}
	for _, c := range s.read {
		s.EqualityDeletes += c.equalityDeletes
		for _, d := range c.deletes {
			if !d.IsDV() {
				s.PositionDeletes = append(s.PositionDeletes, d)
				continue
			}
			s.DVs = append(s.DVs, d)
			targets[d.Referenced] = append(targets[d.Referenced], d)
		}
	}
	for _, c := range s.read {
		for _, d := range c.data {
			if old := s.DataFiles[d.Path]; old != nil {
				old.Twice = true
				continue
			}
			live := *d
			live.DVs, live.Twice = targets[d.Path], false
			s.DataFiles[d.Path] = &live
		}
	}
}
