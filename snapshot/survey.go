package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"golang.org/x/sync/errgroup"
)

// SurveyOptions say what a survey reports. The functions are called from several goroutines, those about one manifest
// from one of them.
type SurveyOptions struct {
	Parallelism int // manifests read at once; 0 means 4
	// Entry is told of every live entry, in delete manifests with its column bounds. It may be nil.
	Entry func(m iceberg.ManifestFile, e iceberg.ManifestEntry, key GroupKey)
	// Manifest is told of every manifest, after its entries. It may be nil.
	Manifest func(Surveyed)
}

// Surveyed is what a manifest holds, as far as it could be read.
type Surveyed struct {
	File   iceberg.ManifestFile // as the manifest list describes it
	Header map[string][]byte    // metadata of the Avro file as stored
	Live   int64                // entries that are ADDED or EXISTING
	Rows   int64                // sum of their record counts
	MinSeq int64                // smallest data sequence number of a live entry, -1 when there is none
	Err    error                // why the manifest could not be read, or not to its end
	Odd    []error              // entries that were left out because they say something impossible
}

// Survey is a state that was read with leniency: for finding out what is wrong with a table, never for changing it.
type Survey struct {
	State *State
	// Complete says that every data manifest was read to its end, so that a path that was not seen is not live.
	Complete bool

	loader  *loader
	options SurveyOptions
	mu      sync.Mutex
}

// NewSurvey reads a snapshot as far as it can be read. What is damaged is told and left out; an error is of the store, of
// the manifest list, or of ctx.
func NewSurvey(ctx context.Context, fs iceio.IO, meta table.Metadata, snap *table.Snapshot, o SurveyOptions) (*Survey, error) {
	l, err := newLoader(fs, meta, snap, LoadOptions{Parallelism: o.Parallelism})
	if err != nil {
		return nil, err
	}
	s := &Survey{State: l.state, Complete: true, loader: l, options: o}
	if err := s.each(ctx, iceberg.ManifestContentDeletes, s.note(l.deleteEntry)); err != nil {
		return nil, err
	}
	l.index()
	l.named = map[string]bool{}
	for _, d := range l.state.PositionDeletes {
		l.named[d.Referenced] = true
	}
	if err := s.each(ctx, iceberg.ManifestContentData, s.note(l.dataEntry)); err != nil {
		return nil, err
	}
	l.bind()
	sortState(l.state)
	return s, nil
}

// note passes an entry on to what loads it and to the caller.
func (s *Survey) note(load func(iceberg.ManifestFile, iceberg.ManifestEntry) error) func(iceberg.ManifestFile, iceberg.ManifestEntry) error {
	return func(m iceberg.ManifestFile, e iceberg.ManifestEntry) error {
		key, _, err := s.loader.key(e.DataFile())
		if err != nil {
			return err
		}
		if err := load(m, e); err != nil {
			return err
		}
		if s.options.Entry != nil {
			s.options.Entry(m, e, key)
		}
		return nil
	}
}

// each goes over the manifests of one content. An error of entry concerns that entry only.
func (s *Survey) each(ctx context.Context, content iceberg.ManifestContent, entry func(iceberg.ManifestFile, iceberg.ManifestEntry) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.loader.parallelism)
	for _, m := range s.State.Manifests {
		if m.ManifestContent() != content {
			continue
		}
		g.Go(func() error {
			found := surveyManifest(ctx, s.loader.fs, m, func(e iceberg.ManifestEntry) error { return entry(m, e) })
			if err := storeFailed(ctx, found.Err); err != nil {
				return fmt.Errorf("manifest %s: %w", storage.Shown(m.FilePath()), err)
			}
			if note := s.loader.noteFields(m); note != nil && found.Err == nil && len(found.Odd) == 0 {
				note(found.Header)
			}
			if content == iceberg.ManifestContentData && (found.Err != nil || len(found.Odd) > 0) {
				s.mu.Lock()
				s.Complete = false
				s.mu.Unlock()
			}
			if s.options.Manifest != nil {
				s.options.Manifest(found)
			}
			return nil
		})
	}
	return g.Wait()
}

// errStore marks an error of the store while a manifest was read, which says nothing about the manifest.
type errStore struct{ error }

// Unwrap returns the error of the store.
func (e errStore) Unwrap() error { return e.error }

// storeFailed returns the error when it is no fact about the manifest.
func storeFailed(ctx context.Context, err error) error {
	var failed errStore
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &failed):
		return failed.error
	}
	return nil
}

// surveyManifest reads a manifest as far as it goes. Column statistics are read of delete files only.
func surveyManifest(ctx context.Context, files iceio.IO, m iceberg.ManifestFile, entry func(iceberg.ManifestEntry) error) Surveyed {
	s := Surveyed{File: m, MinSeq: -1}
	read := readManifest(iceberg.NewManifestReader)
	if m.ManifestContent() == iceberg.ManifestContentData {
		read = withoutStatistics
	}
	noted := &notedIO{IO: files}
	s.Err = decode(ctx, noted, m, read, func(header map[string][]byte) { s.Header = header }, func(e iceberg.ManifestEntry) error {
		s.note(e, entry)
		return nil
	})
	if noted.err != nil {
		s.Err = noted.err
	}
	return s
}

// note counts an entry and passes it on when it is live. What is odd about it is no reason to stop.
func (s *Surveyed) note(e iceberg.ManifestEntry, entry func(iceberg.ManifestEntry) error) {
	if e.Status() == iceberg.EntryStatusDELETED {
		return
	}
	s.Live++
	s.Rows += e.DataFile().Count()
	if seq := e.SequenceNum(); s.MinSeq < 0 || seq < s.MinSeq {
		s.MinSeq = seq
	}
	err := safely(func() error {
		if err := checkEntry(e.DataFile()); err != nil {
			return err
		}
		return entry(e)
	})
	if err != nil {
		s.Odd = append(s.Odd, err)
	}
}

// Twins is [State.Twins] with the leniency of the survey.
func (s *Survey) Twins(ctx context.Context, paths []string) (map[string]Twin, error) {
	if len(paths) == 0 {
		return map[string]Twin{}, nil
	}
	t := newTwinIndex(s.State.Metadata.Location(), paths)
	quiet := &Survey{State: s.State, loader: s.loader}
	err := quiet.each(ctx, iceberg.ManifestContentData, func(_ iceberg.ManifestFile, e iceberg.ManifestEntry) error {
		t.see(e.DataFile().FilePath())
		return nil
	})
	return t.found, err
}

// EachData streams the live entries of all data manifests once more, from several goroutines.
func (s *Survey) EachData(ctx context.Context, each func(iceberg.DataFile)) error {
	quiet := &Survey{State: s.State, loader: s.loader}
	return quiet.each(ctx, iceberg.ManifestContentData, func(_ iceberg.ManifestFile, e iceberg.ManifestEntry) error {
		each(e.DataFile())
		return nil
	})
}

// notedIO remembers the error of the store that ended the reading of a file.
type notedIO struct {
	iceio.IO
	err error
}

// Open implements iceio.IO.
func (n *notedIO) Open(name string) (iceio.File, error) {
	f, err := n.IO.Open(name)
	if err != nil {
		n.note(err)
		return nil, err
	}
	return &notedFile{File: f, io: n}, nil
}

// note keeps an error that is no fact about the object.
func (n *notedIO) note(err error) {
	if !errors.Is(err, io.EOF) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, storage.ErrBeyondEnd) && !errors.Is(err, storage.ErrInvalidLocation) {
		n.err = errStore{err}
	}
}

// notedFile is a file of a notedIO.
type notedFile struct {
	iceio.File
	io *notedIO
}

// Read implements io.Reader.
func (f *notedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	if err != nil {
		f.io.note(err)
	}
	return n, err
}
