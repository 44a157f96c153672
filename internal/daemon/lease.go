package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// ErrLocked: another daemon is at work on the table.
var ErrLocked = errors.New("locked by another daemon")

// Lease keeps two daemons from doing the same work. It is an object beside the table's metadata that says who holds it and
// until when; whoever takes over an expired one writes the next number, which only one can. Nothing depends on it but effort:
// when clocks differ or a holder is stopped for a while two may work at once, and their commits sort it out.
type Lease struct {
	store *storage.Store
	dir   string // with the name's beginning
	owner string
	ttl   time.Duration
	now   func() time.Time

	number int
	stop   context.CancelFunc
	done   sync.WaitGroup
}

// leaseText is what the object says.
type leaseText struct {
	Owner   string    `json:"owner"`
	Expires time.Time `json:"expires"`
}

// leaseTTL is for how long a holder that says nothing keeps a lease.
const leaseTTL = 2 * time.Minute

// LeaseOptions of leases.
type LeaseOptions struct {
	Owner string
	TTL   time.Duration // after which a holder that says nothing has lost it; default 2 minutes
	Now   func() time.Time
}

// Acquire takes the lease of something at a table, and keeps it until [Lease.Release]. The error is ErrLocked when somebody
// else holds it.
func Acquire(ctx context.Context, store *storage.Store, root, name string, o LeaseOptions) (*Lease, error) {
	if o.TTL <= 0 {
		o.TTL = leaseTTL
	}
	l := &Lease{store: store, dir: fmt.Sprintf("%s/metadata/dvcompactor/lease-%s.", root, name), owner: o.Owner, ttl: o.TTL, now: o.Now}
	held, err := l.last(ctx)
	if err != nil {
		return nil, err
	}
	if held > 0 {
		if err := l.expired(ctx, held); err != nil {
			return nil, err
		}
	}
	l.number = held + 1
	if err := store.WriteFileIfAbsent(ctx, l.location(l.number), l.text()); err != nil {
		if errors.Is(err, storage.ErrExists) {
			err = fmt.Errorf("%w: it was a moment earlier", ErrLocked)
		}
		return nil, err
	}
	if held > 0 {
		_ = store.Remove(ctx, l.location(held)) // the higher number counts, whether it is gone or not
	}
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	l.done.Go(func() { l.renew(renewing) })
	return l, nil
}

func (l *Lease) location(number int) string { return l.dir + strconv.Itoa(number) + ".json" }

// last returns the highest number there is, 0 for none.
func (l *Lease) last(ctx context.Context) (int, error) {
	last := 0
	for o, err := range l.store.List(ctx, l.dir) {
		if err != nil {
			return 0, err
		}
		if n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(o.Location, l.dir), ".json")); err == nil {
			last = max(last, n)
		}
	}
	return last, nil
}

// farAhead is how far in the future a lease may end to be believed: it is renewed for minutes.
const farAhead = time.Hour

// expired returns nil when a lease may be taken over. One that cannot be read is as good as expired.
func (l *Lease) expired(ctx context.Context, number int) error {
	data, err := l.store.ReadFile(ctx, l.location(number))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // released meanwhile
	}
	if err != nil {
		return err
	}
	var held leaseText
	if json.Unmarshal(data, &held) != nil || held.Owner == l.owner || !l.now().Before(held.Expires) {
		return nil
	}
	if held.Expires.After(l.now().Add(farAhead)) {
		return nil // of a clock that is wrong: it would keep everybody away for long
	}
	return fmt.Errorf("%w: %s holds it until %s", ErrLocked, held.Owner, held.Expires.UTC().Format(time.RFC3339))
}

func (l *Lease) text() []byte {
	data, err := json.Marshal(leaseText{Owner: l.owner, Expires: l.now().Add(l.ttl).UTC()})
	if err != nil {
		return nil // two strings
	}
	return data
}

// renew says again and again that the holder is there.
func (l *Lease) renew(ctx context.Context) {
	ticker := time.NewTicker(l.ttl / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_ = l.store.WriteFile(ctx, l.location(l.number), l.text()) // the next one may work
		}
	}
}

// Release gives the lease back.
func (l *Lease) Release(ctx context.Context) error {
	l.stop()
	l.done.Wait()
	return l.store.Remove(context.WithoutCancel(ctx), l.location(l.number))
}
