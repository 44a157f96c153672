package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// work sorts the manifests of a state: carried as they are, or rewritten.
type work struct {
	carried       []iceberg.ManifestFile
	bySpec        map[int32]*specWork
	wanted, found int
}

// specWork is what happens to the delete manifests of one partition spec.
type specWork struct {
	rewrite []iceberg.ManifestFile
	add     []NewDV
	files   []NewPositionDeletes
	work    *work
}

func (w *work) specs() []int32 { return slices.Sorted(maps.Keys(w.bySpec)) }

func (w *work) spec(id int32) *specWork {
	s := w.bySpec[id]
	if s == nil {
		s = &specWork{work: w}
		w.bySpec[id] = s
	}
	return s
}

// plan decides for each manifest of the parent whether it is carried, rewritten, merged or dropped.
func (p *producer) plan() (*work, error) {
	w := &work{bySpec: map[int32]*specWork{}}
	touched := map[string]bool{}
	for d := range p.state.Deletes() {
		if p.change.Remove[d.FileID] {
			touched[d.Manifest] = true
			w.wanted++
		}
	}
	if w.wanted < len(p.change.Remove) {
		return nil, fmt.Errorf("%d of %d entries: %w", w.wanted, len(p.change.Remove), ErrGone)
	}
	for _, a := range byOffset(p.change.Add) {
		s := w.spec(a.Data.Group.Key.SpecID)
		s.add = append(s.add, a)
	}
	for _, a := range p.change.AddFiles {
		s := w.spec(a.Group.Key.SpecID)
		s.files = append(s.files, a)
	}
	maps.Copy(touched, p.change.Rewrite)
	for _, m := range p.state.Manifests {
		if touched[m.FilePath()] {
			w.spec(m.PartitionSpecID())
		}
	}
	for _, m := range p.state.Manifests {
		s := w.bySpec[m.PartitionSpecID()]
		switch {
		case m.ManifestContent() == iceberg.ManifestContentData:
			w.carried = append(w.carried, m)
		case !hasLive(m): // only tombstones of an earlier commit: nobody needs it any more
		case touched[m.FilePath()], s != nil && p.merge.small(m):
			s.rewrite = append(s.rewrite, m)
		default:
			w.carried = append(w.carried, m)
		}
	}
	return w, nil
}

// byOffset lists deletion vectors in the order of their blobs. Entries that name the blobs of a Puffin file in another
// order than the file has them make DuckDB up to 1.5.5 apply a vector to the wrong data file, silently.
func byOffset(add []NewDV) []NewDV {
	return slices.SortedFunc(slices.Values(add), func(a, b NewDV) int {
		return cmp.Or(strings.Compare(a.Puffin, b.Puffin), cmp.Compare(a.Offset, b.Offset))
	})
}

// rewriteSpec writes the new delete manifests of one spec. Removed entries go to a manifest of their own, which the
// next commit drops, so that readers never have to skip them among live ones; and so do those of manifests with equality
// deletes, so that manifests which can be merged stay so.
func (p *producer) rewriteSpec(ctx context.Context, specID int32, s *specWork) ([]iceberg.ManifestFile, error) {
	spec := p.state.Metadata.PartitionSpecByID(int(specID))
	if spec == nil {
		return nil, fmt.Errorf("partition spec %d is not in the table metadata: %w", specID, ErrFormat)
	}
	spec = avroSpec(spec)
	schema, err := p.schemaFor(spec, s.rewrite)
	if err != nil {
		return nil, err
	}
	rolling := func() *rollingManifest { return &rollingManifest{p: p, spec: spec, schema: schema} }
	live, mixed, gone := rolling(), rolling(), rolling()
	for _, a := range s.add {
		if err := p.add(live, a); err != nil {
			return nil, err
		}
	}
	for _, a := range s.files {
		if err := p.addFile(live, a); err != nil {
			return nil, err
		}
	}
	err = inOrder(ctx, p.fs, s.rewrite, p.parallelism(), func(fs iceio.IO, m iceberg.ManifestFile) error {
		stay := live
		if c := p.state.read[m.FilePath()]; c != nil && c.equalityDeletes > 0 {
			stay = mixed
		}
		if err := p.copyEntries(ctx, fs, m, s.work, stay, gone); err != nil {
			return fmt.Errorf("manifest %s: %w", m.FilePath(), err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []iceberg.ManifestFile
	for _, r := range []*rollingManifest{live, mixed, gone} {
		if err := r.close(); err != nil {
			return nil, err
		}
		out = append(out, r.done...)
	}
	return out, nil
}

// copyEntries carries the live entries of a manifest as EXISTING and marks the removed ones DELETED, each with its own
// sequence numbers.
func (p *producer) copyEntries(ctx context.Context, fs iceio.IO, m iceberg.ManifestFile, w *work, live, gone *rollingManifest) error {
	for e, err := range wholeEntries(ctx, fs, m) {
		if err != nil {
			return err
		}
		f := e.DataFile()
		if f.ContentType() == iceberg.EntryContentPosDeletes && p.change.Remove[fileID(f)] {
			w.found++
			p.staged.Delta.removed(f)
			err = gone.write(func(w *iceberg.ManifestWriter) error { return w.Delete(e) })
		} else {
			err = live.write(func(w *iceberg.ManifestWriter) error { return w.Existing(e) })
		}
		if err != nil {
			return fmt.Errorf("entry %s: %w", f.FilePath(), err)
		}
	}
	return nil
}

// schemaFor finds a schema that still has every source column of the spec: with another one the partition tuple is
// written as null and deletes stop applying. The newest schema of the table comes first, then those that the manifests
// carry, because a table may have dropped old schemas.
func (p *producer) schemaFor(spec *iceberg.PartitionSpec, manifests []iceberg.ManifestFile) (*iceberg.Schema, error) {
	if s := SchemaWith(p.state.Metadata, spec); s != nil {
		return s, nil
	}
	for _, m := range manifests {
		s, err := p.ownSchema(m)
		if err != nil {
			return nil, fmt.Errorf("manifest %s: %w", m.FilePath(), err)
		}
		if hasSources(s, spec) {
			return s, nil
		}
	}
	return nil, fmt.Errorf("no schema has the source columns of partition spec %d: %w", spec.ID(), ErrFormat)
}

func (p *producer) ownSchema(m iceberg.ManifestFile) (schema *iceberg.Schema, err error) {
	err = withManifest(p.fs, m, func(r io.Reader) error {
		mr, err := readManifest(iceberg.NewManifestReader).open(m, r)
		if err != nil {
			return err
		}
		defer mr.Close()
		return safely(func() (err error) {
			schema, err = mr.Schema()
			return err
		})
	})
	return schema, err
}

// SchemaWith returns the newest schema of a table that has every source column of a spec, or nil.
func SchemaWith(meta table.Metadata, spec *iceberg.PartitionSpec) *iceberg.Schema {
	if current := meta.CurrentSchema(); hasSources(current, spec) {
		return current
	}
	schemas := slices.SortedFunc(slices.Values(meta.Schemas()), func(a, b *iceberg.Schema) int { return b.ID - a.ID })
	for _, s := range schemas {
		if hasSources(s, spec) {
			return s
		}
	}
	return nil
}

func hasSources(s *iceberg.Schema, spec *iceberg.PartitionSpec) bool {
	for _, f := range spec.Fields() {
		for _, id := range f.SourceIDs {
			if _, ok := s.FindFieldByID(id); !ok {
				return false
			}
		}
	}
	return true
}

// rollingManifest writes entries of one spec to as many manifests as the target size asks for.
type rollingManifest struct {
	p      *producer
	spec   *iceberg.PartitionSpec
	schema *iceberg.Schema
	w      *iceberg.ManifestWriter
	buf    bytes.Buffer
	done   []iceberg.ManifestFile
}

func (r *rollingManifest) write(entry func(*iceberg.ManifestWriter) error) error {
	if r.w == nil {
		r.buf = bytes.Buffer{}
		w, err := iceberg.NewManifestWriter(entryVersion, &r.buf, *r.spec, r.schema, r.p.change.SnapshotID, iceberg.WithManifestWriterContent(iceberg.ManifestContentDeletes))
		if err != nil {
			return err
		}
		r.w = w
	}
	if err := safely(func() error { return entry(r.w) }); err != nil {
		return err
	}
	if int64(r.buf.Len()) >= r.p.merge.target {
		return r.close()
	}
	return nil
}

func (r *rollingManifest) close() error {
	if r.w == nil {
		return nil
	}
	if err := r.w.Close(); err != nil {
		return err
	}
	data, err := labelled(r.buf.Bytes(), r.p.version)
	if err != nil {
		return err
	}
	location := fmt.Sprintf("%s/%s-m%d.avro", r.p.dir, r.p.commit, r.p.count)
	r.p.count++
	m, err := r.w.ToManifestFile(location, int64(r.buf.Len()))
	if err != nil {
		return fmt.Errorf("manifest %s: %w", location, err)
	}
	r.w = nil
	r.done = append(r.done, recordOf(m, r.p.version))
	return r.p.write(location, data)
}
