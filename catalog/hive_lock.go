//go:build !nohive

package catalog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	metastore "github.com/beltran/gohive/hive_metastore"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/google/uuid"
)

// Pauses between two questions whether a lock is granted, as Java makes them.
const (
	firstLockCheck = 50 * time.Millisecond
	lastLockCheck  = 5 * time.Second
)

// errHiveLocked: others hold the lock for longer than it is waited for, or it was lost.
var errHiveLocked = errors.New("no lock on the table")

// hiveLock is an exclusive lock of a table.
type hiveLock struct {
	session *hiveSession
	table   []string
	agent   string // tells it from all other locks
	id      int64

	lost atomic.Pointer[error] // what became of its heartbeat
	rest func()                // ends the heartbeat and waits for that
}

// lock takes the lock of a table and keeps it by heartbeats. Whatever there is of a lock that was not granted is removed.
func (c *hiveCatalog) lock(ctx context.Context, s *hiveSession, table []string) (*hiveLock, error) {
	l := &hiveLock{session: s, table: table, agent: "dvcompactor-" + uuid.NewString(), rest: func() {}}
	name, host := hiveOwner()
	reply, err := ask(ctx, s, func(ctx context.Context) (*metastore.LockResponse, error) {
		return s.client.Lock(ctx, &metastore.LockRequest{User: name, Hostname: host, AgentInfo: l.agent, Component: []*metastore.LockComponent{{
			Type: metastore.LockType_EXCLUSIVE, Level: metastore.LockLevel_TABLE, Dbname: table[0], Tablename: &table[1], OperationType: metastore.DataOperationType_UNSET,
		}}})
	})
	if err != nil {
		return nil, errors.Join(hiveLockless(err), l.forget(ctx))
	}
	l.id = reply.Lockid
	if err := l.await(ctx, reply.State, c.settings.wait); err != nil {
		return nil, errors.Join(err, l.release(ctx))
	}
	l.keep(ctx, c.session(), c.settings.beat)
	return l, nil
}

// hiveLockless explains the error of a metastore that cannot lock.
func hiveLockless(err error) error {
	var application thrift.TApplicationException
	if errors.As(err, &application) {
		return fmt.Errorf("locking the table: %w; the log of the metastore says why: its database may have no table HIVE_LOCKS, which the schematool of Hive makes", err)
	}
	return fmt.Errorf("locking the table: %w", err)
}

// await waits until the lock is granted.
func (l *hiveLock) await(ctx context.Context, state metastore.LockState, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for pause := firstLockCheck; state == metastore.LockState_WAITING; pause = min(pause*3/2, lastLockCheck) {
		left := time.Until(deadline)
		if left <= 0 {
			return fmt.Errorf("%w within %v: %s", errHiveLocked, patience, l.holders(ctx))
		}
		if err := storage.Wait(ctx, min(pause/2+rand.N(pause/2), left)); err != nil {
			return err
		}
		reply, err := ask(ctx, l.session, func(ctx context.Context) (*metastore.LockResponse, error) {
			return l.session.client.CheckLock(ctx, &metastore.CheckLockRequest{Lockid: l.id})
		})
		if err != nil {
			return fmt.Errorf("waiting for lock %d: %w", l.id, err)
		}
		state = reply.State
	}
	if state != metastore.LockState_ACQUIRED {
		return fmt.Errorf("%w: the metastore says %v", errHiveLocked, state)
	}
	return nil
}

// keep confirms the lock until rest is called.
func (l *hiveLock) keep(ctx context.Context, s *hiveSession, every time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer s.close()
		for storage.Wait(ctx, every) == nil {
			err := s.call(ctx, func(ctx context.Context) error {
				return s.client.Heartbeat(ctx, &metastore.HeartbeatRequest{Lockid: &l.id})
			})
			if err != nil && ctx.Err() == nil {
				l.lost.Store(&err)
				return
			}
		}
	}()
	l.rest = func() {
		cancel()
		<-ended
	}
}

// held returns why the lock may be held no more.
func (l *hiveLock) held() error {
	if lost := l.lost.Load(); lost != nil {
		return fmt.Errorf("%w any more: the heartbeat of lock %d failed: %w", errHiveLocked, l.id, *lost)
	}
	return nil
}

// release removes the lock, also when the context has ended. A connection that broke is made anew.
func (l *hiveLock) release(ctx context.Context) error {
	l.rest()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
	defer cancel()
	var gone *metastore.NoSuchLockException
	err := l.unlock(ctx)
	if err != nil && !hiveAnswered(err) {
		err = l.unlock(ctx)
	}
	if err == nil || errors.As(err, &gone) {
		return nil
	}
	return fmt.Errorf("lock %d on %s is left behind: %w; %s", l.id, strings.Join(l.table, "."), err, howToUnlock)
}

func (l *hiveLock) unlock(ctx context.Context) error {
	return l.session.call(ctx, func(ctx context.Context) error {
		return l.session.client.Unlock(ctx, &metastore.UnlockRequest{Lockid: l.id})
	})
}

// forget removes the lock when the reply to the request for it was lost, so that its number is not known.
func (l *hiveLock) forget(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
	defer cancel()
	locks, err := l.show(ctx)
	if err != nil {
		return nil // the metastore is not there, or has no locks: that is what the caller is told already
	}
	for _, other := range locks {
		if other.GetAgentInfo() == l.agent {
			l.id = other.Lockid
			return l.release(ctx)
		}
	}
	return nil
}

// show returns all locks on the table.
func (l *hiveLock) show(ctx context.Context) ([]*metastore.ShowLocksResponseElement, error) {
	reply, err := ask(ctx, l.session, func(ctx context.Context) (*metastore.ShowLocksResponse, error) {
		return l.session.client.ShowLocks(ctx, &metastore.ShowLocksRequest{Dbname: &l.table[0], Tablename: &l.table[1]})
	})
	if err != nil {
		return nil, err
	}
	return reply.Locks, nil
}

// howToUnlock is what an operator can do about a lock whose owner is gone.
const howToUnlock = "if its owner is gone, the metastore removes it hive.txn.timeout after its last heartbeat, unless its housekeeping is off: " +
	"SHOW LOCKS tells, and docs/catalogs.md how to remove it by hand"

// holders says who is in the way, for people.
func (l *hiveLock) holders(ctx context.Context) string {
	locks, err := l.show(ctx)
	if err != nil {
		return fmt.Sprintf("who holds it cannot be told: %v", err)
	}
	var others []string
	for _, other := range locks {
		if other.Lockid != l.id {
			others = append(others, fmt.Sprintf("lock %d (%v, %v) of %s@%s, agent %s, last heartbeat %s", other.Lockid, other.Type, other.State, other.User, other.Hostname,
				other.GetAgentInfo(), time.UnixMilli(other.Lastheartbeat).UTC().Format(time.RFC3339)))
		}
	}
	if len(others) == 0 {
		return "it was released just now"
	}
	return strings.Join(others, "; ") + " came before; " + howToUnlock
}
