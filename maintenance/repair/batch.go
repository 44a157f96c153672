package repair

import (
	"sync"

	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// batch is a part of the patients whose deletes fit into memory together.
type batch struct {
	patients []*patient
	byPath   map[string]*patient

	mu      sync.Mutex
	sources map[*patient]*sources
	damaged map[*snapshot.DeleteFile]error // position delete files that cannot be read
}

// sources are what was read about the deletes of one patient.
type sources struct {
	vectors  map[*snapshot.DeleteFile]*reading
	deletes  *puffin.Bitmap // of position delete files that apply; nil for none
	meant    *puffin.Bitmap // of those that are replaced, and that readers apply
	hidden   *puffin.Bitmap // of those that are replaced, and that some reader does not apply
	older    *puffin.Bitmap // of ancestors
	seq      int64          // largest data sequence number of what applies
	meantSeq int64
}

func newBatch(patients []*patient) *batch {
	b := &batch{patients: patients, byPath: map[string]*patient{}, sources: map[*patient]*sources{}, damaged: map[*snapshot.DeleteFile]error{}}
	for _, p := range patients {
		b.byPath[p.file.Path] = p
		b.sources[p] = &sources{vectors: map[*snapshot.DeleteFile]*reading{}}
	}
	return b
}

// add changes the sources of a patient, if it is in the batch.
func (b *batch) add(p *patient, change func(*sources)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.sources[p]; s != nil {
		change(s)
	}
}

func (b *batch) unreadable(d *snapshot.DeleteFile, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.damaged[d] = err
}
