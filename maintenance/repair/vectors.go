package repair

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"

	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
	"golang.org/x/sync/errgroup"
)

// reading is what the bytes of a deletion vector hold.
type reading struct {
	bitmap *puffin.Bitmap
	err    error  // why there is no bitmap
	said   int64  // cardinality that the footer says, -1 when it says none
	note   string // how it was read, when not as the entry says
}

// parallel runs a function for each of n things. Requests wait for the store more than they compute.
func (r *repairer) parallel(ctx context.Context, n int, do func(context.Context, int) error) error {
	limit := r.options.Parallelism
	if limit <= 0 {
		limit = runtime.GOMAXPROCS(0)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(limit * 4)
	for i := range n {
		g.Go(func() error { return do(ctx, i) })
	}
	return g.Wait()
}

// wanted is an entry of a patient to read, and where.
type wanted struct {
	patient *patient
	entry   *snapshot.DeleteFile
	at      puffin.DeletionVectorRange
	said    int64
	note    string
}

// vectors reads the deletion vectors of a batch, adjacent ones with one request.
func (r *repairer) vectors(ctx context.Context, b *batch) error {
	byPuffin := map[string][]*wanted{}
	for _, p := range b.patients {
		for _, d := range p.vectors {
			w, err := r.locate(ctx, p, d)
			if err != nil {
				return err
			}
			if w == nil {
				b.sources[p].vectors[d] = &reading{err: errNowhere, said: -1}
				continue
			}
			byPuffin[d.Path] = append(byPuffin[d.Path], w)
		}
	}
	locations := slices.Sorted(maps.Keys(byPuffin))
	return r.parallel(ctx, len(locations), func(ctx context.Context, i int) error {
		return r.readPuffin(ctx, locations[i], byPuffin[locations[i]], b)
	})
}

// errNowhere: neither the entry nor the footer says where a deletion vector is.
var errNowhere = errors.New("nothing says where it is")

// locate says where to read the deletion vector that an entry means. For faults of the range that is what the footer says;
// it is nil when the footer does not have it either.
func (r *repairer) locate(ctx context.Context, p *patient, d *snapshot.DeleteFile) (*wanted, error) {
	w := &wanted{patient: p, entry: d, said: -1, at: maintenance.RangeOf(d)}
	w.at.ReferencedDataFile = p.file.Path // which the entry need not say
	faults := p.faults[d]
	if faults["dv-cardinality"] != nil || faults["dv-range"] != nil || faults["dv-misbound"] != nil || faults["dv-fields-missing"] != nil {
		blobs, err := r.footer(ctx, d.Path)
		if err != nil {
			return nil, err
		}
		own := blobs[p.file.Path]
		if faults["dv-cardinality"] != nil {
			w.at.RecordCount = puffin.UnknownRecordCount
			for _, blob := range own {
				if blob.Offset == d.Offset {
					w.said = blob.Cardinality()
				}
			}
			return w, nil
		}
		if len(own) != 1 {
			return nil, nil
		}
		w.at.Offset, w.at.Length = own[0].Offset, own[0].Length
		if faults["dv-misbound"] != nil {
			w.at.RecordCount = own[0].Cardinality() // that of the entry may be of the other blob, as its range is
		}
		w.note = fmt.Sprintf("the blob at %d+%d of %s, which the footer says is that of the data file", own[0].Offset, own[0].Length, d.Path)
	}
	return w, nil
}

// footer returns the deletion vectors that the footer of a Puffin file lists, by data file; none when it cannot be read.
func (r *repairer) footer(ctx context.Context, location string) (map[string][]puffin.BlobMetadata, error) {
	if known, ok := r.blobs[location]; ok {
		return known, nil
	}
	out := map[string][]puffin.BlobMetadata{}
	object := r.table.Store.Object(location, 0)
	size, err := object.Size(ctx)
	if err == nil {
		var file *puffin.File
		if file, err = puffin.Open(ctx, object, puffin.OpenOptions{Location: location, Size: size}); err == nil {
			for _, b := range file.Blobs {
				if b.IsDeletionVector() {
					out[b.ReferencedDataFile()] = append(out[b.ReferencedDataFile()], b)
				}
			}
		}
	}
	if err != nil && !damaged(err) {
		return nil, fmt.Errorf("%s: %w", location, err)
	}
	r.blobs[location] = out
	return out, nil
}

// damaged says whether an error is a fact about an object and none of the store.
func damaged(err error) bool {
	return errors.Is(err, puffin.ErrCorrupt) || errors.Is(err, puffin.ErrUnsupported) || errors.Is(err, fs.ErrNotExist)
}

func (r *repairer) readPuffin(ctx context.Context, location string, all []*wanted, b *batch) error {
	ranges := make([]puffin.DeletionVectorRange, len(all))
	for i, w := range all {
		ranges[i] = w.at
	}
	return puffin.ReadDeletionVectorBlobs(ctx, r.table.Store.Object(location, 0), ranges, puffin.ReadOptions{}, func(i int, blob []byte, err error) error {
		w := all[i]
		got := &reading{said: w.said, note: w.note, err: err}
		switch {
		case err == nil:
			w.decode(blob, got)
		case !damaged(err):
			return fmt.Errorf("deletion vector of %s: %w", w.patient.file.Path, err)
		}
		b.add(w.patient, func(s *sources) { s.vectors[w.entry] = got })
		return nil
	})
}

// decode reads the bytes as strictly as the issues that the operator named allow.
func (w *wanted) decode(blob []byte, got *reading) {
	got.bitmap, got.err = puffin.DecodeDeletionVector(blob, w.at)
	if got.err == nil {
		return
	}
	faults := w.patient.faults[w.entry]
	salvaged := puffin.SalvageDeletionVector(blob, w.at)
	var why *puffin.CorruptionError
	switch {
	case salvaged.Proof == puffin.ProofChecksum && (faults["dv-crc-complement"] != nil || faults["dv-key-order"] != nil):
		got.note = "the bitmap itself, which decodes to its end with the number of positions that the manifest says"
	case salvaged.Proof >= puffin.ProofPartial && faults["position-out-of-range"] != nil && errors.As(got.err, &why) && why.Kind == puffin.KindPosition:
		got.note = "the bitmap without positions that no data file can have"
	default:
		got.bitmap = nil
		return
	}
	got.bitmap, got.err = salvaged.Bitmap, nil
}

// batches cuts the patients into parts whose bitmaps fit half of the memory.
func (r *repairer) batches(ctx context.Context, each func(*batch) error) error {
	const expansion = 4 // a bitmap in memory is rarely larger than this many times its blob
	var part []*patient
	room := r.options.Memory / 2
	flush := func() error {
		if len(part) == 0 {
			return nil
		}
		b := newBatch(part)
		part, room = nil, r.options.Memory/2
		for _, read := range []func(context.Context, *batch) error{r.vectors, r.deletesOf, r.ancestorsOf} {
			if err := read(ctx, b); err != nil {
				return err
			}
		}
		return each(b)
	}
	for _, p := range r.sorted() {
		need := int64(1 << 10)
		for _, d := range slices.Concat(p.vectors, r.older[p.file.Path]) {
			need += max(d.ContentBytes(), 0) * expansion
		}
		if need > room || len(part) > 0 && part[0].file.Group.Key.SpecID != p.file.Group.Key.SpecID {
			if err := flush(); err != nil {
				return err
			}
		}
		part = append(part, p)
		room -= need
	}
	return flush()
}

// worst returns the class of repair that outweighs the other.
func worst(a, b check.Repair) check.Repair {
	order := []check.Repair{"", check.Safe, check.Fix, check.Ask}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}
