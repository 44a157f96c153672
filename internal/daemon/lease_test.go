package daemon

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func openStore(t *testing.T) *storage.Store {
	s, err := storage.Open(t.Context(), storage.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// claimant takes leases of one table with a clock of its own.
type claimant struct {
	t     *testing.T
	store *storage.Store
	root  string
	name  string
	now   time.Time
}

func newClaimants(t *testing.T, names ...string) []*claimant {
	store, root := openStore(t), t.TempDir()
	var out []*claimant
	for _, name := range names {
		out = append(out, &claimant{t, store, root, name, at(t, "2026-06-01T12:00:00Z")})
	}
	return out
}

func (c *claimant) take(ref string) (*Lease, error) {
	return Acquire(c.t.Context(), c.store, c.root, ref, LeaseOptions{Owner: c.name, TTL: 2 * time.Minute, Now: func() time.Time { return c.now }})
}

func (c *claimant) must(ref string) *Lease {
	l, err := c.take(ref)
	require.NoError(c.t, err)
	return l
}

// die ends a holder that gives nothing back.
func (l *Lease) die() {
	l.stop()
	l.done.Wait()
}

func TestALeaseHasOneHolderUntilItIsReleased(t *testing.T) {
	t.Parallel()
	c := newClaimants(t, "a", "b")
	held := c[0].must("main")
	_, err := c[1].take("main")
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, "a holds it until 2026-06-01T12:02:00Z")
	require.NoError(t, c[1].must("dev").Release(t.Context()), "another branch is another lease")
	require.NoError(t, held.Release(t.Context()))
	second := c[1].must("main")
	_, err = c[0].take("main")
	require.ErrorIs(t, err, ErrLocked)
	require.NoError(t, second.Release(t.Context()))
	last, err := second.last(t.Context())
	require.NoError(t, err)
	assert.Zero(t, last, "nothing is left behind")
}

func TestALeaseOfAHolderThatDiedIsTakenOverWhenItExpires(t *testing.T) {
	t.Parallel()
	c := newClaimants(t, "a", "b")
	c[0].must("main").die()
	c[1].now = c[1].now.Add(2*time.Minute - time.Second)
	_, err := c[1].take("main")
	require.ErrorIs(t, err, ErrLocked)
	c[1].now = c[1].now.Add(time.Second)
	require.NoError(t, c[1].must("main").Release(t.Context()))
}

func TestAHolderThatStartsAgainTakesItsOwnLeaseBack(t *testing.T) {
	t.Parallel()
	c := newClaimants(t, "a")
	c[0].must("main").die()
	require.NoError(t, c[0].must("main").Release(t.Context()))
}

func TestOfManyThatTakeOverAnExpiredLeaseOnlyOneGetsIt(t *testing.T) {
	t.Parallel()
	c := newClaimants(t, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
	c[0].must("main").die()
	var got atomic.Int32
	var wg sync.WaitGroup
	for _, one := range c[1:] {
		one.now = one.now.Add(time.Hour)
		wg.Go(func() {
			switch l, err := one.take("main"); {
			case err == nil:
				got.Add(1)
				l.die()
			default:
				assert.ErrorIs(t, err, ErrLocked)
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 1, got.Load())
}

func TestALeaseThatSaysNothingOfUseIsTakenOver(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no JSON": "}{", "nothing": "", "other JSON": "[]",
		"a clock that was wrong": `{"owner": "z", "expires": "2036-01-01T00:00:00Z"}`,
	} {
		c := newClaimants(t, "a")[0]
		require.NoError(t, c.store.WriteFile(t.Context(), c.root+"/metadata/dvcompactor/lease-main.7.json", []byte(text)), name)
		l, err := c.take("main")
		require.NoError(t, err, name)
		assert.Equal(t, 8, l.number, name)
		require.NoError(t, l.Release(t.Context()))
	}
}

func TestAClockThatIsBehindKeepsALeaseLongerAndOneThatIsAheadTakesItEarlier(t *testing.T) {
	t.Parallel()
	c := newClaimants(t, "a", "behind", "ahead")
	c[0].must("main").die()
	c[1].now = c[1].now.Add(-50 * time.Minute)
	_, err := c[1].take("main")
	require.ErrorIs(t, err, ErrLocked)
	c[2].now = c[2].now.Add(3 * time.Minute)
	require.NoError(t, c[2].must("main").Release(t.Context()), "both work then, and their commits sort it out")
}

func TestALeaseIsRenewed(t *testing.T) {
	t.Parallel()
	store, root := openStore(t), t.TempDir()
	var passed atomic.Int64
	start := at(t, "2026-06-01T12:00:00Z")
	now := func() time.Time { return start.Add(time.Duration(passed.Load())) }
	l, err := Acquire(t.Context(), store, root, "main", LeaseOptions{Owner: "a", TTL: 8 * time.Millisecond, Now: now})
	require.NoError(t, err)
	passed.Store(int64(30 * time.Minute))
	require.Eventually(t, func() bool {
		other := &Lease{store: store, dir: l.dir, owner: "b", now: now}
		return errors.Is(other.expired(t.Context(), l.number), ErrLocked)
	}, 10*time.Second, 5*time.Millisecond)
	require.NoError(t, l.Release(t.Context()))
}

func TestAStoreThatRefusesIsNoLockedTable(t *testing.T) {
	t.Parallel()
	c := newClaimants(t, "a")[0]
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Acquire(ctx, c.store, c.root, "main", LeaseOptions{Owner: "a", Now: time.Now})
	require.Error(t, err)
	assert.NotErrorIs(t, err, ErrLocked)
}
