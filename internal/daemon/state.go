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
	// Load returns what is remembered, with what is ordered.
	Load(ctx context.Context, k Key) (Record, bool, error)
	// Save remembers a record, but for what is ordered. One that only says when a table was first seen takes no other's place.
	Save(ctx context.Context, k Key, r Record) error
	// Order pauses a key for a reason until it is ordered with none. It stands whatever daemons save at the same time.
	Order(ctx context.Context, k Key, reason string) error
}

// ErrDamagedState: the object is there and is not what was written. Resuming the table starts a new one.
var ErrDamagedState = errors.New("damaged state")

// NewMemory returns states that end with the process.
func NewMemory() States { return &memory{records: map[Key]Record{}, orders: map[Key]string{}} }

type memory struct {
	mu      sync.Mutex
	records map[Key]Record
	orders  map[Key]string
}

// Load implements States.
func (m *memory) Load(_ context.Context, k Key) (Record, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[k]
	r.Ordered = m.orders[k]
	return r, ok || r.Ordered != "", nil
}

// Save implements States.
func (m *memory) Save(_ context.Context, k Key, r Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.records[k]; known && r.first {
		return nil
	}
	r.first = false // it is about how to save it
	m.records[k] = r
	return nil
}

// Order implements States.
func (m *memory) Order(_ context.Context, k Key, reason string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.orders[k] = reason
	return nil
}

// NewObjects returns states that are objects below a location, one for each table and kind of run, and one more for each order.
// They are not kept beside the tables, where clean-ups of orphan files would take them away.
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

// order is the content of an object that pauses a key.
type order struct {
	Key
	Reason string `json:"reason"`
}

// location hashes the name: tables may have names that are too long, or mean something, for a store.
func (o *objects) location(k Key) string { return o.name(k) + ".json" }

func (o *objects) orderLocation(k Key) string { return o.name(k) + "-pause.json" }

func (o *objects) name(k Key) string {
	kind := "maintenance"
	if k.Check {
		kind = "check"
	}
	sum := sha256.Sum256([]byte(k.Table))
	return fmt.Sprintf("%s/%s-%s", o.dir, hex.EncodeToString(sum[:12]), kind)
}

// Load implements States.
func (o *objects) Load(ctx context.Context, k Key) (Record, bool, error) {
	var s stored
	var ordered order
	known, err := o.read(ctx, k, o.location(k), &s, &s.Key)
	paused, errOrder := o.read(ctx, k, o.orderLocation(k), &ordered, &ordered.Key)
	if err = errors.Join(err, errOrder); err != nil {
		return Record{}, false, err
	}
	s.Ordered = ordered.Reason
	return s.Record, known || paused, nil
}

// read reads an object about a key, whose own key it has to say, and whether there is one.
func (o *objects) read(ctx context.Context, k Key, location string, into any, says *Key) (bool, error) {
	data, err := o.store.ReadFile(ctx, location)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return false, fmt.Errorf("%w: %s is not what is remembered of a table: %w", ErrDamagedState, location, err)
	}
	if *says != k {
		return false, fmt.Errorf("%w: %s is about %s", ErrDamagedState, location, says.Table)
	}
	return true, nil
}

// Save implements States.
func (o *objects) Save(ctx context.Context, k Key, r Record) error {
	if !r.first {
		return o.write(ctx, o.store.WriteFile, o.location(k), stored{k, r})
	}
	if err := o.write(ctx, o.store.WriteFileIfAbsent, o.location(k), stored{k, r}); !errors.Is(err, storage.ErrExists) {
		return err
	}
	return nil
}

// Order implements States.
func (o *objects) Order(ctx context.Context, k Key, reason string) error {
	if reason == "" {
		return o.store.Remove(ctx, o.orderLocation(k))
	}
	return o.write(ctx, o.store.WriteFile, o.orderLocation(k), order{k, reason})
}

func (o *objects) write(ctx context.Context, how func(context.Context, string, []byte) error, location string, what any) error {
	data, err := json.MarshalIndent(what, "", " ")
	if err != nil {
		return err
	}
	return how(ctx, location, data)
}
