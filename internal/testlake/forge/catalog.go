package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// memory is a catalog of one table. It keeps the metadata as JSON, so that every version is read as a file would be.
type memory struct {
	at    string // location of the table
	store *storage.Store

	mu       sync.Mutex
	raw      []byte
	parsed   table.Metadata // of raw, nil when nobody asked
	version  int
	onCommit func(before, after table.Metadata)
}

// Load implements catalog.Catalog.
func (m *memory) Load(_ context.Context, identifier []string) (*catalog.Table, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.load(identifier)
}

func (m *memory) load(identifier []string) (*catalog.Table, error) {
	if m.parsed == nil {
		meta, err := table.ParseMetadataBytes(m.raw)
		if err != nil {
			return nil, err
		}
		m.parsed = meta
	}
	return &catalog.Table{Catalog: "memory", Identifier: identifier, Metadata: m.parsed, MetadataLocation: m.location(), Store: m.store}, nil
}

func (m *memory) location() string {
	return fmt.Sprintf("%s/metadata/v%d.metadata.json", m.at, m.version)
}

// Commit implements catalog.Catalog: one lock is the compare-and-swap.
func (m *memory) Commit(_ context.Context, t *catalog.Table, requirements []table.Requirement, updates []table.Update) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, err := m.load(t.Identifier)
	if err != nil {
		return err
	}
	for _, r := range requirements {
		if err := r.Validate(now.Metadata); err != nil {
			return &catalog.CommitError{Outcome: catalog.ErrConflict, Table: t.Name(), Err: err}
		}
	}
	next, err := table.UpdateTableMetadata(now.Metadata, updates, m.location())
	if err != nil {
		outcome := catalog.ErrRefused
		if now.Metadata.LastSequenceNumber() != t.Metadata.LastSequenceNumber() {
			outcome = catalog.ErrConflict // the updates were made for other metadata
		}
		return &catalog.CommitError{Outcome: outcome, Table: t.Name(), Err: err}
	}
	if m.raw, err = json.Marshal(next); err != nil {
		return err
	}
	m.parsed = nil
	m.version++
	if m.onCommit != nil {
		m.onCommit(now.Metadata, next)
	}
	return nil
}

// List implements catalog.Catalog.
func (m *memory) List(context.Context, []string) ([][]string, error) {
	return nil, errors.New("a forge does not list tables")
}
