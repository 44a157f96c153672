package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// blobs reads the deletion vectors of the file, adjacent ones with one request.
func (p *puffinCheck) blobs(ctx context.Context) error {
	var dvs []*snapshot.DeleteFile
	var ranges []puffin.DeletionVectorRange
	for _, d := range p.dvs {
		if p.size >= 0 && !d.Unbound() && p.options.Subset.Has(d.Referenced) {
			dvs, ranges = append(dvs, d), append(ranges, maintenance.RangeOf(d))
		}
	}
	object := p.table.Store.Object(p.location, p.size)
	return puffin.ReadDeletionVectorBlobs(ctx, object, ranges, puffin.ReadOptions{}, func(i int, blob []byte, err error) error {
		p.mu.Lock()
		p.report.Checked.DeletionVectors++
		p.mu.Unlock()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			p.missing(dvs[i])
		case errors.Is(err, puffin.ErrCorrupt): // the range is not in the object
			p.corrupt(dvs[i], err)
		case err != nil:
			return err
		default:
			p.blob(dvs[i], blob)
		}
		return nil
	})
}

// blob judges the bytes of a deletion vector.
func (p *puffinCheck) blob(d *snapshot.DeleteFile, blob []byte) {
	bitmap, is, err := puffin.DecodeAndDescribe(blob, maintenance.RangeOf(d))
	if err != nil {
		p.undecodable(d, blob, is, err)
		return
	}
	if p.isBare() {
		p.bare(d, "")
	}
	if is.TrailingBytes > 0 {
		f := of("dv-trailing-bytes", d)
		f.Detail = fmt.Sprintf("%d bytes follow the last bitmap; the number of positions shows that they mean nothing", is.TrailingBytes)
		p.add(f)
	}
	p.footerCount(d, bitmap.Cardinality())
	p.reach(d, bitmap)
}

// footerCount compares the cardinality of the footer with the bitmap, which agrees with the manifest.
func (p *puffinCheck) footerCount(d *snapshot.DeleteFile, n int64) {
	if said := p.said(d); said >= 0 && said != n {
		f := of("dv-cardinality", d)
		f.Expected, f.Actual = fmt.Sprint(n), fmt.Sprint(said)
		f.Detail = fmt.Sprintf("the footer says %d positions, bitmap and record_count %d", said, n)
		f.Engines = engines([]string{golang}, nil, []string{java, pyiceberg, duckdb, rust})
		p.add(f)
	}
}

// said is the cardinality that the footer says, -1 when it says none.
func (p *puffinCheck) said(d *snapshot.DeleteFile) int64 {
	if p.footer == nil {
		return -1
	}
	if b := p.index.at(d); b != nil && b.IsDeletionVector() {
		return b.Cardinality()
	}
	return -1
}

// undecodable finds the name of what is wrong with a blob.
func (p *puffinCheck) undecodable(d *snapshot.DeleteFile, blob []byte, is puffin.Description, err error) {
	var why *puffin.CorruptionError
	if !errors.As(err, &why) || p.faulty[d] {
		return
	}
	issue := "dv-corrupt"
	proof := func() puffin.Proof { return puffin.SalvageDeletionVector(blob, maintenance.RangeOf(d)).Proof }
	switch why.Kind {
	case puffin.KindCRCComplement:
		if proof() == puffin.ProofChecksum {
			issue = "dv-crc-complement"
		}
	case puffin.KindKeyOrder, puffin.KindKeyCount:
		if proof() == puffin.ProofChecksum {
			issue = "dv-key-order"
		}
	case puffin.KindPosition:
		issue = "position-out-of-range"
	case puffin.KindCardinality:
		p.miscounted(d, is.Cardinality)
		return
	}
	p.named(issue, d, why)
}

// named reports a blob under the name that was found.
func (p *puffinCheck) named(issue string, d *snapshot.DeleteFile, why *puffin.CorruptionError) {
	f := of(issue, d)
	f.Expected, f.Actual, f.Detail = why.Expected, why.Found, why.Error()
	p.add(f)
}

// corrupt reports a deletion vector whose bytes are not there.
func (p *puffinCheck) corrupt(d *snapshot.DeleteFile, err error) {
	var why *puffin.CorruptionError
	if errors.As(err, &why) && !p.faulty[d] {
		p.named("dv-corrupt", d, why)
	}
}

// miscounted reports a sound bitmap with another number of positions than the entry says. When it has the fewest of all,
// positions may have been lost before the checksum was made.
func (p *puffinCheck) miscounted(d *snapshot.DeleteFile, n int64) {
	f := of("dv-cardinality", d)
	f.Expected, f.Actual = fmt.Sprint(d.Records), fmt.Sprint(n)
	f.Detail = fmt.Sprintf("the bitmap has %d positions, record_count is %d", n, d.Records)
	said := p.said(d)
	if said >= 0 {
		f.Detail += fmt.Sprintf(", the footer says %d", said)
	}
	if n < d.Records && (said < 0 || n < said) {
		f.Repair = Ask
		f.Detail += ": positions may have been lost"
	}
	p.add(f)
}

// reach finds positions beyond the rows that the manifest gives the data file.
func (p *puffinCheck) reach(d *snapshot.DeleteFile, bitmap *puffin.Bitmap) {
	data := p.survey.State.DataFiles[d.Referenced]
	last, any := bitmap.Max()
	if data == nil || data.Twice || !any || last < data.Records {
		return
	}
	var beyond int64
	for first, last := range bitmap.Ranges() {
		if last >= data.Records {
			beyond += last - max(first, data.Records) + 1
		}
	}
	f := of("position-out-of-range", d)
	f.Rows = &beyond
	f.Expected, f.Actual = fmt.Sprintf("below %d", data.Records), fmt.Sprint(last)
	f.Detail = fmt.Sprintf("%d positions are beyond the %d rows that the manifest counts, up to %d", beyond, data.Records, last)
	p.add(f)
}
