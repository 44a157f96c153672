package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// States remembers records across restarts.
type States interface {
	Load(ctx context.Context, k Key) (Record, bool, error)
	Save(ctx context.Context, k Key, r Record) error
}

// ErrDamagedState: the object is there and is not what was written. Resuming the table starts a new one.
var ErrDamagedState = errors.New("damaged state")

// NewMemory returns states that end with the process.
func NewMemory() States { return &memory{records: map[Key]Record{}} }

type memory struct {
	mu      sync.Mutex
	records map[Key]Record
}

// Load implements States.
func (m *memory) Load(_ context.Context, k Key) (Record, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[k]
	return r, ok, nil
}

// Save implements States.
func (m *memory) Save(_ context.Context, k Key, r Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records[k] = r
	return nil
}

// NewObjects returns states that are objects below a location, one for each table and kind of run. They are not kept beside
// the tables, where clean-ups of orphan files would take them away.
func NewObjects(store *storage.Store, location string) States {
	return &objects{store: store, dir: strings.TrimSuffix(location, "/")}
}

type objects struct {
	store *storage.Store
	dir   string
}

// stored is the content of an object: the key, because the name is made of a hash, and the record.
type stored struct {
	Key
	Record
}

// location hashes the name: tables may have names that are too long, or mean something, for a store.
func (o *objects) location(k Key) string {
	kind := "maintenance"
	if k.Check {
		kind = "check"
	}
	sum := sha256.Sum256([]byte(k.Table))
	return fmt.Sprintf("%s/%s-%s.json", o.dir, hex.EncodeToString(sum[:12]), kind)
}

// Load implements States.
func (o *objects) Load(ctx context.Context, k Key) (Record, bool, error) {
	data, err := o.store.ReadFile(ctx, o.location(k))
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, false, nil
	}
	if err != nil {
		return Record{}, false, err
	}
	var s stored
	if err := json.Unmarshal(data, &s); err != nil {
		return Record{}, false, fmt.Errorf("%w: %s is no record of a table: %w", ErrDamagedState, o.location(k), err)
	}
	if s.Key != k {
		return Record{}, false, fmt.Errorf("%w: %s is the record of %s", ErrDamagedState, o.location(k), s.Table)
	}
	return s.Record, true, nil
}

// Save implements States.
func (o *objects) Save(ctx context.Context, k Key, r Record) error {
	data, err := json.MarshalIndent(stored{k, r}, "", " ")
	if err != nil {
		return err
	}
	return o.store.WriteFile(ctx, o.location(k), data)
}
