package check

import (
	"fmt"
	"path"
	"strings"

	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// bind compares the entry of a deletion vector with the footer.
func (p *puffinCheck) bind(d *snapshot.DeleteFile) {
	if d.Unbound() {
		p.candidates(d)
		return
	}
	at, own := p.index.at(d), p.index.own[d.Referenced]
	if own == at {
		own = nil
	}
	switch {
	case at == nil || !at.IsDeletionVector():
		p.misplaced(d, at, own)
	case at.ReferencedDataFile() == "" || at.ReferencedDataFile() == d.Referenced:
		p.counted(d, at)
	default:
		p.otherName(d, at, own)
	}
}

// blobIndex finds the blobs of a footer: a Puffin file may have tens of thousands.
type blobIndex struct {
	byRange map[[2]int64]*puffin.BlobMetadata
	own     map[string]*puffin.BlobMetadata // deletion vectors by data file, the last of several
}

func newBlobIndex(f *puffin.File) *blobIndex {
	x := &blobIndex{byRange: make(map[[2]int64]*puffin.BlobMetadata, len(f.Blobs)), own: make(map[string]*puffin.BlobMetadata, len(f.Blobs))}
	for i := range f.Blobs {
		b := &f.Blobs[i]
		x.byRange[[2]int64{b.Offset, b.Length}] = b
		if b.IsDeletionVector() {
			x.own[b.ReferencedDataFile()] = b
		}
	}
	return x
}

// at returns the blob at the range of an entry, nil when the footer has none there.
func (x *blobIndex) at(d *snapshot.DeleteFile) *puffin.BlobMetadata {
	return x.byRange[[2]int64{d.Offset, d.Length}]
}

// misplaced reports a range at which the footer has no deletion vector.
func (p *puffinCheck) misplaced(d *snapshot.DeleteFile, at, own *puffin.BlobMetadata) {
	p.faulty[d] = true
	f := of("dv-range", d)
	f.Actual = fmt.Sprintf("%d+%d", d.Offset, d.Length)
	switch {
	case own != nil:
		f.Expected = fmt.Sprintf("%d+%d", own.Offset, own.Length)
		f.Detail = fmt.Sprintf("the footer has the deletion vector of this data file at %s, the manifest at %s", f.Expected, f.Actual)
	case at != nil:
		f.Detail = fmt.Sprintf("the blob there is of type %s", at.Type)
	default:
		f.Detail = "the footer has no blob there, and none of this data file"
		f.Repair = Ask
	}
	p.add(f)
}

// counted compares the cardinality of the footer with the entry, when nobody will look at the bitmap.
func (p *puffinCheck) counted(d *snapshot.DeleteFile, at *puffin.BlobMetadata) {
	if p.options.Level >= Vectors && p.options.Subset.Has(d.Referenced) {
		return
	}
	if n := at.Cardinality(); n >= 0 && n != d.Records {
		f := of("dv-cardinality", d)
		f.Expected, f.Actual = fmt.Sprint(n), fmt.Sprint(d.Records)
		f.Detail = fmt.Sprintf("record_count is %d, the footer says %d; the bitmap was not read", d.Records, n)
		p.add(f)
	}
}

// otherName reports a range that is, by the footer, the deletion vector of another path: of another data file, or of
// this one under another name.
func (p *puffinCheck) otherName(d *snapshot.DeleteFile, at, own *puffin.BlobMetadata) {
	name := at.ReferencedDataFile()
	misbound := func(repair Repair, why string) {
		p.mu.Lock()
		p.misbound[d] = true
		p.mu.Unlock()
		f := of("dv-misbound", d)
		f.Repair, f.Expected, f.Actual = repair, d.Referenced, name
		f.Detail = "by the footer the bytes are the deletion vector of " + name + why
		p.add(f)
	}
	if own != nil {
		misbound(Fix, fmt.Sprintf("; that of this data file is at %d+%d", own.Offset, own.Length))
		return
	}
	p.whenKnown(later{paths: []string{name}, then: func(twins map[string]snapshot.Twin) {
		twin, known := twins[name]
		switch {
		case known && twin.Exact:
			misbound(Ask, ", which is live; the footer has none of this data file")
		case known && twin.Path == d.Referenced || sameFile(name, d.Referenced):
			f := of("dv-reference-stale", d)
			f.Expected, f.Actual = d.Referenced, name
			f.Detail = "the footer names " + name + ", which is not live and has the same file name"
			p.add(f)
		default:
			misbound(Ask, ", which is not live; the footer has none of this data file")
		}
	}, unless: func() { misbound(Ask, "; which of the two is live is not known") }})
}

// sameFile says whether two paths end in the same file name.
func sameFile(a, b string) bool {
	name := path.Base(a)
	return name == path.Base(b) && name != "." && !strings.HasSuffix(a, "/")
}

// candidates looks for the blob that an entry may mean which does not say all of it.
func (p *puffinCheck) candidates(d *snapshot.DeleteFile) {
	var fit []puffin.BlobMetadata
	var paths []string
	for _, b := range p.footer.Blobs {
		if b.IsDeletionVector() && mayMean(d, b) && !p.taken()[b.ReferencedDataFile()] {
			fit = append(fit, b)
			paths = append(paths, b.ReferencedDataFile())
		}
	}
	p.whenKnown(later{paths: paths, then: func(twins map[string]snapshot.Twin) {
		var live []puffin.BlobMetadata
		for _, b := range fit {
			if twins[b.ReferencedDataFile()].Exact {
				live = append(live, b)
			}
		}
		p.lacking(d, func(f *Finding) { choose(f, live) })
	}, unless: func() { p.lacking(d, blobUnknown) }})
}

// blobUnknown completes a finding about an entry whose blob nobody can find.
func blobUnknown(f *Finding) { f.Repair = Ask }

// mayMean says whether a blob contradicts nothing that an entry says.
func mayMean(d *snapshot.DeleteFile, b puffin.BlobMetadata) bool {
	return b.Cardinality() == d.Records && (d.Referenced == "" || d.Referenced == b.ReferencedDataFile()) &&
		(d.Offset < 0 || d.Offset == b.Offset) && (d.Length < 0 || d.Length == b.Length)
}

// choose completes a finding with the blobs that the entry may mean.
func choose(f *Finding, live []puffin.BlobMetadata) {
	switch len(live) {
	case 0:
		f.Repair = Ask
		f.Detail += "; no blob in the footer has its number of positions and a live data file without a deletion vector"
	case 1:
		f.DataFile = live[0].ReferencedDataFile()
		f.Expected = fmt.Sprintf("%d+%d", live[0].Offset, live[0].Length)
		f.Detail += fmt.Sprintf("; the only blob that fits is at %s", f.Expected)
	default:
		f.Repair = Ask
		f.Detail += fmt.Sprintf("; %d blobs in the footer fit", len(live))
	}
}
