package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// puffinCheck is the check of one Puffin file. It is used by one goroutine.
type puffinCheck struct {
	*checker
	location  string
	dvs       []*snapshot.DeleteFile
	size      int64
	footer    *puffin.File // nil when it cannot be read
	footerErr error
	index     *blobIndex // of the footer
	// faulty are the deletion vectors whose range is known to be wrong, so that their bytes say nothing more.
	faulty map[*snapshot.DeleteFile]bool
}

func (p *puffinCheck) run(ctx context.Context) (err error) {
	if p.size, err = p.checker.size(ctx, p.location, p.dvs...); err != nil {
		return err
	}
	if p.size < 0 {
		for _, d := range p.dvs {
			p.missing(d)
		}
		return nil
	}
	if err := p.open(ctx); err != nil {
		return err
	}
	if p.footer != nil {
		p.entries()
	}
	for _, d := range p.dvs {
		switch {
		case p.footer != nil:
			p.bind(d)
		case p.size >= 0 && d.Unbound():
			p.lacking(d, blobUnknown)
		}
	}
	if p.options.Level < Vectors {
		return nil
	}
	return p.blobs(ctx)
}

func (p *puffinCheck) missing(d *snapshot.DeleteFile) {
	f := of("dv-missing", d)
	f.Detail = fmt.Sprintf("the Puffin file is gone, and with it %d deleted positions", d.Records)
	p.add(f)
}

// about begins a finding about the whole file.
func (p *puffinCheck) about(issue, format string, args ...any) Finding {
	return Finding{Issue: issue, Location: p.location, Detail: fmt.Sprintf(format, args...), snapshotID: p.dvs[0].SnapshotID}
}

// open reads the footer.
func (p *puffinCheck) open(ctx context.Context) error {
	object := p.table.Store.Object(p.location, p.size)
	p.footer, p.footerErr = puffin.Open(ctx, object, puffin.OpenOptions{Location: p.location, Size: p.size})
	if p.footer != nil {
		p.index = newBlobIndex(p.footer)
	}
	p.mu.Lock()
	p.report.Checked.PuffinFiles++
	if p.footer != nil {
		p.writers[p.location] = p.footer.CreatedBy()
	}
	p.mu.Unlock()
	var corrupt *puffin.CorruptionError
	switch {
	case p.footerErr == nil:
	case errors.Is(p.footerErr, fs.ErrNotExist): // removed since its size was asked for
		p.size = -1
		for _, d := range p.dvs {
			p.missing(d)
		}
	case errors.Is(p.footerErr, puffin.ErrUnsupported):
		p.add(p.about("puffin-flags", "%v", p.footerErr))
	case errors.As(p.footerErr, &corrupt):
		p.unparsed(corrupt)
	default:
		return p.footerErr
	}
	return nil
}

// unparsed reports a footer that cannot be used.
func (p *puffinCheck) unparsed(err *puffin.CorruptionError) {
	switch err.Kind {
	case puffin.KindBlobMetadata:
		p.add(p.about("puffin-blob-metadata", "%v", err))
	case puffin.KindRange:
		f := p.about("dv-range", "the footer lists blobs where there can be none: %v", err)
		f.Expected, f.Actual = err.Expected, err.Found
		p.add(f)
	default:
		if p.options.Level >= Vectors {
			return // whether the blobs are good decides what it is
		}
		for _, d := range p.dvs {
			p.bare(d, "; the deletion vector itself was not read")
		}
	}
}

// bare reports a deletion vector that has no readable footer.
func (p *puffinCheck) bare(d *snapshot.DeleteFile, more string) {
	f := of("dv-bare-blob", d)
	f.Detail = fmt.Sprintf("there is no Puffin file around the deletion vector, or its footer cannot be read: %v%s", p.footerErr, more)
	p.add(f)
}

// isBare says that the file around the blobs is not there or not readable.
func (p *puffinCheck) isBare() bool {
	var corrupt *puffin.CorruptionError
	return errors.As(p.footerErr, &corrupt) && corrupt.Kind != puffin.KindBlobMetadata && corrupt.Kind != puffin.KindRange
}

// rowPosition is the reserved field id of the row position (table spec, "Reserved Field IDs").
const rowPosition = 2147483645

// entries looks at what the footer says of each deletion vector in the file, dead ones too: some readers parse them all.
func (p *puffinCheck) entries() {
	if p.footer.FooterCompressed {
		p.add(p.about("puffin-compressed", "the footer is compressed"))
	}
	for _, b := range p.footer.Blobs {
		if !b.IsDeletionVector() {
			continue
		}
		if b.CompressionCodec != puffin.CodecNone {
			f := p.about("puffin-compressed", "a deletion vector has compression codec %q, which the format forbids", b.CompressionCodec)
			f.DataFile, f.Offset, f.Length = b.ReferencedDataFile(), &b.Offset, &b.Length
			p.add(f)
		}
		if why := oddEntry(b); why != "" {
			f := p.about("puffin-blob-metadata", "%s", why)
			f.DataFile, f.Offset, f.Length = b.ReferencedDataFile(), &b.Offset, &b.Length
			p.add(f)
		}
	}
}

// oddEntry says what is wrong with a deletion vector's entry in a footer, or nothing. Writers put the field id of the
// row position into fields, or nothing: both are fine.
func oddEntry(b puffin.BlobMetadata) string {
	switch {
	case len(b.Fields) > 0 && !slices.Equal(b.Fields, []int32{rowPosition}):
		return fmt.Sprintf("fields are %v", b.Fields)
	case b.SnapshotID != puffin.NoSnapshotID || b.SequenceNumber != puffin.NoSequenceNumber:
		return fmt.Sprintf("snapshot-id is %d and sequence-number %d, which must be -1", b.SnapshotID, b.SequenceNumber)
	case b.ReferencedDataFile() == "":
		return "the property referenced-data-file is missing"
	case b.Cardinality() < 0:
		return "the property cardinality is missing or no number"
	}
	return ""
}
