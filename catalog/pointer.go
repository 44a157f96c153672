package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// cleanUp bounds the removal of a metadata file that nothing refers to. It is not bounded by the context of the commit.
const cleanUp = 30 * time.Second

// pointer is what a catalog says about a table: where its current metadata is.
type pointer struct {
	identifier []string
	location   string
	entry      any // what else the catalog needs to move it
}

// written is a metadata file that a commit wrote.
type written struct {
	location string
	metadata table.Metadata
}

// pointers is a catalog that keeps a pointer for each table and can move it when it is still as it was read.
type pointers interface {
	// read finds a table; the error is ErrNotFound when there is none.
	read(ctx context.Context, identifier []string) (pointer, error)
	// swing moves a pointer, unless somebody else moved it since it was read. The outcome is nil when it did.
	swing(ctx context.Context, from pointer, to written) (outcome, err error)
	// untouched classifies a failure to read.
	untouched(err error) error
}

// pointed are the tables of such a catalog. Their metadata files are read and written here.
type pointed struct {
	name     string
	store    *storage.Store
	pointers pointers
}

// Load reads the pointer and the metadata file it names.
func (c *pointed) Load(ctx context.Context, identifier []string) (*Table, error) {
	t, _, _, err := c.load(ctx, identifier)
	return t, err
}

func (c *pointed) load(ctx context.Context, identifier []string) (*Table, pointer, []byte, error) {
	at, err := c.read(ctx, identifier)
	if err != nil {
		return nil, at, nil, err
	}
	t := &Table{Catalog: c.name, Identifier: at.identifier, MetadataLocation: at.location}
	t.Store = c.store.ForTable(t.Name(), at.location)
	meta, raw, err := readMetadata(ctx, t.Store, at.location)
	if err != nil {
		return nil, at, nil, fmt.Errorf("%s: %w", t.Name(), err)
	}
	t.Metadata = meta
	return t, at, raw, nil
}

func (c *pointed) read(ctx context.Context, identifier []string) (pointer, error) {
	name := strings.Join(identifier, ".")
	if len(identifier) < 2 {
		return pointer{}, fmt.Errorf("%s: %w: a table has a namespace and a name", name, ErrNotFound)
	}
	at, err := c.pointers.read(ctx, identifier)
	if err == nil && at.location == "" {
		err = fmt.Errorf("%w: its metadata_location is empty", ErrNotFound)
	}
	if err != nil {
		return pointer{}, fmt.Errorf("%s in catalog %s: %w", name, c.name, err)
	}
	return at, nil
}

// Commit writes the new metadata file and swings the pointer to it.
func (c *pointed) Commit(ctx context.Context, t *Table, requirements []table.Requirement, updates []table.Update) error {
	location, outcome, err := c.commit(ctx, t, requirements, updates)
	if err == nil {
		return nil
	}
	if location != "" && outcome != ErrUnknown {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
		defer cancel()
		err = errors.Join(err, c.store.Remove(ctx, location))
	}
	return &CommitError{Outcome: outcome, Table: t.Name(), Err: err}
}

// commit returns, when it fails, the outcome and the metadata file that it may have written, "" for none.
func (c *pointed) commit(ctx context.Context, t *Table, requirements []table.Requirement, updates []table.Update) (location string, outcome, err error) {
	current, at, raw, err := c.load(ctx, t.Identifier)
	if err != nil {
		return "", c.untouched(err), err
	}
	if err := stillAs(t, current, requirements); err != nil {
		return "", ErrConflict, err
	}
	next, err := writeMetadata(ctx, current, raw, updates)
	if err != nil {
		return next.location, c.untouched(err), err
	}
	outcome, err = c.pointers.swing(ctx, at, next)
	return next.location, outcome, err
}

// untouched classifies a failure before the pointer is moved. A store that does not answer may do so later.
func (c *pointed) untouched(err error) error {
	var object *storage.Error
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrFormatVersion), errors.Is(err, context.Canceled):
		return ErrRefused
	case errors.As(err, &object) && storage.Transient(err):
		return ErrConflict
	case errors.As(err, &object):
		return ErrRefused
	}
	return c.pointers.untouched(err)
}

// stillAs compares the table with the one the updates were made for. Metadata that changed makes them stale even when
// every requirement holds: a commit to another branch, for instance, takes the sequence number of a new snapshot.
func stillAs(t, current *Table, requirements []table.Requirement) error {
	for _, r := range requirements {
		if err := r.Validate(current.Metadata); err != nil {
			return err
		}
	}
	if t.MetadataLocation != current.MetadataLocation {
		return fmt.Errorf("the table changed: its metadata is %s, was %s", current.MetadataLocation, t.MetadataLocation)
	}
	return nil
}

// errMoved is the reason of a lost race.
var errMoved = errors.New("another writer moved metadata_location")
